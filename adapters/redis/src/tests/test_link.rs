//! Links of the driver alone, without deadlines and repeated attempts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use petstore_domain::Timestamp;
use petstore_ports::StoreError;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, ServerErrorKind};
use tokio::sync::OnceCell;

use crate::link::{LinkError, LinkReply, RedisLink, RedisLinks};

/// Links to one server, which count what they send.
pub(super) struct TestLinks {
    url: String,
    pub(super) counts: Arc<Counts>,
}

/// The counts of all links.
#[derive(Default)]
pub(super) struct Counts {
    /// Calls of the script.
    pub(super) calls: AtomicU32,
    /// Commands that loaded the script.
    pub(super) loads: AtomicU32,
    /// If set, commands are not sent and fail.
    pub(super) is_down: AtomicBool,
}

impl TestLinks {
    /// Links to the server at a URL.
    pub(super) fn to(url: &str) -> Arc<Self> {
        Arc::new(Self { url: url.to_owned(), counts: Arc::default() })
    }

    /// The number of calls of the script.
    pub(super) fn calls(&self) -> u32 {
        self.counts.calls.load(Ordering::Relaxed)
    }
}

impl RedisLinks for TestLinks {
    fn open(&self) -> Arc<dyn RedisLink> {
        let (url, counts) = (self.url.clone(), Arc::clone(&self.counts));
        Arc::new(TestLink { url, counts, connection: OnceCell::new() })
    }

    fn corrected(&self, now: Timestamp) -> Timestamp {
        now
    }
}

struct TestLink {
    url: String,
    counts: Arc<Counts>,
    connection: OnceCell<MultiplexedConnection>,
}

impl TestLink {
    async fn connect(&self) -> MultiplexedConnection {
        let client = redis::Client::open(&*self.url).expect("the URL of the server");
        client.get_multiplexed_async_connection().await.expect("the server accepts a connection")
    }
}

impl RedisLink for TestLink {
    fn send(&self, command: Cmd) -> LinkReply<'_> {
        Box::pin(async move {
            if self.counts.is_down.load(Ordering::Relaxed) {
                return Err(LinkError::Failed(StoreError::unavailable("the server is down")));
            }
            let is_call = command.args_iter().next() == Some(redis::Arg::Simple(b"EVALSHA"));
            let counter = if is_call { &self.counts.calls } else { &self.counts.loads };
            counter.fetch_add(1, Ordering::Relaxed);
            let mut connection = self.connection.get_or_init(|| self.connect()).await.clone();
            let reply = connection.send_packed_command(&command).await;
            reply.and_then(redis::Value::extract_error).map_err(|error| match error.kind() {
                ErrorKind::Server(ServerErrorKind::NoScript) => LinkError::NoScript,
                _ => LinkError::Failed(StoreError::unavailable("the command failed").with_source(error)),
            })
        })
    }
}
