//! What a store needs from its owner, and what it tells of itself.

use async_trait::async_trait;
use petstore_domain::Timestamp;

use crate::StoreError;

/// Work that a store wants done from time to time.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Housekeeping: Send + Sync {
    /// Drops the records of answered requests that have expired at this time, a bounded piece of them at a call, and nothing
    /// else that readers or quotas show. Returns how many went. One that has not expired stays, whatever becomes of what it
    /// is about. A store that outlives its process also notes then what was used.
    ///
    /// Asked every second or so, it is also how a store notices that its disk hangs: what was asked long ago and is not
    /// done makes [`StoreHealth::check`] fail.
    async fn prune(&self, now: Timestamp) -> Result<usize, StoreError>;
}

/// Whether a store can do its work.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait StoreHealth: Send + Sync {
    /// Ok if a write made at this time is expected to succeed. Must not wait for one.
    async fn check(&self, now: Timestamp) -> Result<(), StoreError>;
}
