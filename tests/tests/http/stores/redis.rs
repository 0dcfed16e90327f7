//! Quotas in Redis, with the connections of a node.

use std::sync::{Arc, LazyLock, mpsc};
use std::thread;

use petstore_domain::Timestamp;
use petstore_ports::{Clock, Quotas};
use petstore_redis::{PrefixOwner, RedisConnections, RedisOptions, RedisQuotas, RedisTarget};
use petstore_test_servers::Redis;
use tokio::runtime::Handle;

/// The runtime of the tasks that examine the server, on a separate thread.
static BACKGROUND: LazyLock<Handle> = LazyLock::new(|| {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        sender.send(runtime.handle().clone()).expect("the other thread waits");
        runtime.block_on(std::future::pending::<()>());
    });
    receiver.recv().expect("the thread of the runtime has started")
});

/// The clock of a node, which is only compared with that of Redis.
struct NodeClock;

impl Clock for NodeClock {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH
    }
}

fn server() -> &'static Redis {
    Redis::shared().expect("the chosen store needs Redis")
}

/// A prefix for the nodes of one test.
pub(super) fn new_prefix() -> String {
    server().new_prefix()
}

/// The quotas of a node. The tests set the clock, as in a sandbox.
pub(super) fn quotas(prefix: &str) -> Arc<dyn Quotas> {
    let target = RedisTarget::parse(&server().url()).expect("the URL of the server");
    let options = RedisOptions {
        prefix: prefix.to_owned(),
        owner: PrefixOwner::Sandbox,
        allows_eviction: false,
        seed: 1,
    };
    let connections = RedisConnections::new(target, options, Arc::new(NodeClock));
    let first = Arc::clone(&connections);
    // The test may run on a thread of a runtime, which must not be blocked.
    let started = thread::spawn(move || BACKGROUND.block_on(first.start())).join();
    let server = started.expect("the start does not panic").expect("the server is fit");
    assert!(server.is_some(), "the server is reached");
    BACKGROUND.spawn(Arc::clone(&connections).run());
    Arc::new(RedisQuotas::new(Arc::new(connections), &format!("{prefix}:"), BACKGROUND.clone()))
}
