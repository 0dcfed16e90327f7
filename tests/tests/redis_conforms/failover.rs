//! The same cases on a primary that fails in the middle of each case, after its replica has received all writes. The replica
//! is promoted and has the counts, the strikes and the bans; it does not have the script.

use std::sync::Arc;

use petstore_domain::Timestamp;
use petstore_memory::MemoryStore;
use petstore_redis::{LinkError, LinkReply, RedisLink, RedisLinks, RedisQuotas};
use petstore_test_servers::Redis;
use petstore_tests::{Subject, quota_conformance};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, ServerErrorKind, Value};
use tokio::sync::RwLock;

/// The number of commands before the primary fails. The first ones call the script, load it, and call it again.
const BEFORE: u32 = 4;

quota_conformance!(subject());

#[track_caller]
fn subject() -> Option<Subject> {
    let (primary, replica) = (Redis::start()?, Redis::start()?);
    replica.follow(&primary);
    let pair = Pair { primary, replica, commands: 0, connection: None };
    let links = Arc::new(FailoverLinks(Arc::new(RwLock::new(pair))));
    let quotas = RedisQuotas::new(links, "failover:", tokio::runtime::Handle::current());
    Some(Subject { quotas: Arc::new(quotas), ..Subject::of(&Arc::new(MemoryStore::new())) })
}

/// Two servers, of which the second one takes over.
struct Pair {
    primary: Redis,
    replica: Redis,
    /// Commands that were sent before the failover; [`BEFORE`] after it.
    commands: u32,
    /// The connection to the server that is the primary now.
    connection: Option<MultiplexedConnection>,
}

impl Pair {
    /// Counts a command, and returns the connection for it.
    async fn next_connection(&mut self) -> MultiplexedConnection {
        self.commands = (self.commands + 1).min(BEFORE + 1);
        if self.commands == BEFORE {
            self.primary.wait_for_replicas(1);
            self.primary.kill();
            self.replica.promote();
            self.connection = None;
        }
        if let Some(connection) = &self.connection {
            return connection.clone();
        }
        let server = if self.commands < BEFORE { &self.primary } else { &self.replica };
        let client = redis::Client::open(server.url()).expect("the URL of the server");
        let opened =
            client.get_multiplexed_async_connection().await.expect("the server accepts a connection");
        self.connection.insert(opened).clone()
    }
}

#[derive(Clone)]
struct FailoverLinks(Arc<RwLock<Pair>>);

impl RedisLinks for FailoverLinks {
    fn open(&self) -> Arc<dyn RedisLink> {
        Arc::new(self.clone())
    }

    fn corrected(&self, now: Timestamp) -> Timestamp {
        now
    }
}

impl RedisLink for FailoverLinks {
    fn send(&self, command: Cmd) -> LinkReply<'_> {
        Box::pin(async move {
            // The failover waits for the commands in flight, so that it loses none of them.
            let mut pair = Arc::clone(&self.0).write_owned().await;
            let mut connection = pair.next_connection().await;
            let _in_flight = pair.downgrade();
            let reply = connection.send_packed_command(&command).await;
            reply.and_then(Value::extract_error).map_err(|error| match error.kind() {
                ErrorKind::Server(ServerErrorKind::NoScript) => LinkError::NoScript,
                _ => panic!("no command fails: {error}"),
            })
        })
    }
}
