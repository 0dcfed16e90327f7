//! The link to Redis: sends commands, and corrects times by Redis's clock.

use std::pin::Pin;
use std::sync::Arc;

use petstore_domain::Timestamp;
use petstore_ports::StoreError;
use redis::{Cmd, Value};

/// The reply to a command.
pub type LinkReply<'a> = Pin<Box<dyn Future<Output = Result<Value, LinkError>> + Send + 'a>>;

/// The reason why a command has no reply.
#[derive(Debug, Clone)]
pub enum LinkError {
    /// Redis does not have the script (`NOSCRIPT`), and has done nothing.
    NoScript,
    /// Any other failure: [`Unavailable`](petstore_ports::StoreErrorKind::Unavailable) if Redis has done nothing, and
    /// [`Indeterminate`](petstore_ports::StoreErrorKind::Indeterminate) if it may have executed the command.
    Failed(StoreError),
}

/// A connection to Redis that is replaced after a failure.
pub trait RedisLink: Send + Sync + 'static {
    /// Sends a command and returns its reply. The reply or a failure comes within the deadline of the link. If the
    /// future is dropped, Redis may have executed the command or not.
    fn send(&self, command: Cmd) -> LinkReply<'_>;
}

/// Opens links, and measures the difference between Redis's clock and the node's clock.
pub trait RedisLinks: Send + Sync + 'static {
    /// Returns a new link. The link connects at its first use, and the runtime of this first use drives it. Each thread
    /// of the server has a separate runtime, so the quotas open one link for each runtime.
    fn open(&self) -> Arc<dyn RedisLink>;

    /// The time of a request by Redis's clock, for a request at `now` by the node's clock. It is `now` while the
    /// difference is not known.
    fn corrected(&self, now: Timestamp) -> Timestamp;

    /// Returns whether the node's clock, which shows `now`, agrees with Redis's. False while the difference is not known.
    /// Only then a window of an account that is too far ahead is replaced by an earlier one.
    fn agrees(&self, _now: Timestamp) -> bool {
        false
    }
}
