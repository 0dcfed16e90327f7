//! Periodic work of a store, and its health.

use async_trait::async_trait;
use petstore_domain::Timestamp;

use crate::StoreError;

/// Periodic work of a store. One call has three parts:
/// - It **drops** idempotency records that have expired, a bounded number of them. Several nodes may do so at once: each record
///   is dropped and counted by one of them, and a record that has not expired stays, whatever happens to its subject.
/// - It **writes behind** the usage that this handle counted and that its storage does not have yet. Each node does so for
///   itself, at the same time as others.
/// - It **watches** the storage: a call that has not completed for some time makes [`StoreHealth::check`] fail on this handle.
///   So each node calls it, about once a second, even if another node drops the records.
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
///     async fn prune(&self, _now: Timestamp) -> Result<usize, StoreError> {
///         Ok(0)
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
    /// Does a bounded part of the work that is due at this time. Returns the number of records that it dropped. Readers and
    /// quotas see no other change.
    async fn prune(&self, now: Timestamp) -> Result<usize, StoreError>;
}

/// Reports whether a store can do its work.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait StoreHealth: Send + Sync {
    /// Returns Ok if a write at this time is expected to succeed. Must not wait for a write.
    async fn check(&self, now: Timestamp) -> Result<(), StoreError>;
}
