//! The ports of a store together, its periodic work, and its health.

use async_trait::async_trait;
use petstore_domain::Timestamp;

use crate::{
    AccountDirectory, AddressLimits, CategoryReader, EventFeed, EventReader, IdempotencyRecords, KeyReader,
    OrderReader, PetReader, Quotas, StoreError, Transactor,
};

/// The ports that operations of clients need, in one trait. Each type that implements them all implements this trait.
pub trait StorePorts:
    Transactor
    + PetReader
    + CategoryReader
    + OrderReader
    + EventReader
    + EventFeed
    + KeyReader
    + AccountDirectory
    + IdempotencyRecords
    + Quotas
    + AddressLimits
{
}

impl<S> StorePorts for S where
    S: Transactor
        + PetReader
        + CategoryReader
        + OrderReader
        + EventReader
        + EventFeed
        + KeyReader
        + AccountDirectory
        + IdempotencyRecords
        + Quotas
        + AddressLimits
{
}

/// Periodic work of a store. It has three parts, which run on different nodes if several nodes share one storage:
///
/// | Part | Runs on | When several nodes run it |
/// |---|---|---|
/// | [`drop_expired`](Self::drop_expired) | any node, and one is enough | each record is dropped and counted by one of them |
/// | [`note_usage`](Self::note_usage) | every node, for the usage that it counted itself | they do not affect each other |
/// | [`watch`](Self::watch) | every node, for its own connection to the storage | they do not affect each other |
///
/// Each part is called about once a second. `watch` is called concurrently with the other parts, so that a call of theirs
/// that hangs does not delay it. Readers and quotas see no change by any part.
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
    /// Drops a bounded number of idempotency records that have expired at this time, and of events that are no longer
    /// kept. Returns the number of records that it dropped. A record that has not expired stays, even if its subject
    /// is deleted. Several nodes may call this at once.
    async fn drop_expired(&self, now: Timestamp) -> Result<usize, StoreError>;

    /// Writes usage to the storage, for a bounded number of accounts: the usage that this handle has counted and that
    /// the storage does not have yet. Drops nothing.
    async fn note_usage(&self) -> Result<(), StoreError>;

    /// Sends a request to the storage and waits for its answer. If a call does not complete for some time,
    /// [`StoreHealth::check`] fails on this handle. The call drops and writes nothing.
    async fn watch(&self, now: Timestamp) -> Result<(), StoreError>;
}

/// Reports whether a store can do its work.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait StoreHealth: Send + Sync {
    /// Returns Ok if a write at this time is expected to succeed. Must not wait for a write.
    async fn check(&self, now: Timestamp) -> Result<(), StoreError>;

    /// Returns whether a call has met damaged data since the store was opened, while the rest of the store is served.
    fn has_met_damage(&self) -> bool {
        false
    }
}
