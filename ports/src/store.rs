//! Periodic work of a store, and its health.

use async_trait::async_trait;
use petstore_domain::Timestamp;

use crate::StoreError;

/// Periodic work of a store. It has three parts, because they differ in who runs them when several nodes share one storage:
///
/// | Part | Runs on | When several nodes run it |
/// |---|---|---|
/// | [`drop_expired`](Self::drop_expired) | any node, and one is enough | each record is dropped and counted by one of them |
/// | [`note_usage`](Self::note_usage) | every node, for the usage that it counted itself | they do not affect each other |
/// | [`watch`](Self::watch) | every node, for its own connection to the storage | they do not affect each other |
///
/// Each part is called about once a second, and `watch` beside the others: a call of theirs that hangs must not delay it.
/// Readers and quotas see no change by any of them.
///
/// A store without expired records and without storage:
///
/// ```
/// use async_trait::async_trait;
/// use petstore_domain::Timestamp;
/// use petstore_ports::{Housekeeping, StoreError, StoreHealth};
///
/// struct Transient;
///
/// #[async_trait]
/// impl Housekeeping for Transient {
///     async fn drop_expired(&self, _now: Timestamp) -> Result<usize, StoreError> {
///         Ok(0)
///     }
///
///     async fn note_usage(&self) -> Result<(), StoreError> {
///         Ok(())
///     }
///
///     async fn watch(&self, _now: Timestamp) -> Result<(), StoreError> {
///         Ok(())
///     }
/// }
///
/// #[async_trait]
/// impl StoreHealth for Transient {
///     async fn check(&self, _now: Timestamp) -> Result<(), StoreError> {
///         Ok(())
///     }
/// }
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Housekeeping: Send + Sync {
    /// Drops idempotency records that have expired at this time, and events that are no longer kept; a bounded number of
    /// both. Returns the number of records that it dropped. A record that has not expired stays, even if its subject is
    /// deleted. Several nodes may call this at once.
    async fn drop_expired(&self, now: Timestamp) -> Result<usize, StoreError>;

    /// Writes the usage behind that this handle counted and that its storage does not have yet, of a bounded number of
    /// accounts. Drops nothing.
    async fn note_usage(&self) -> Result<(), StoreError>;

    /// Asks the storage of this handle for an answer. While a call has not completed for some time,
    /// [`StoreHealth::check`] fails on this handle. Drops and writes nothing.
    async fn watch(&self, now: Timestamp) -> Result<(), StoreError>;
}

/// Reports whether a store can do its work.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait StoreHealth: Send + Sync {
    /// Returns Ok if a write at this time is expected to succeed. Must not wait for a write.
    async fn check(&self, now: Timestamp) -> Result<(), StoreError>;
}
