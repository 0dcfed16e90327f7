//! Counts of a store, for monitoring.

use petstore_domain::Timestamp;

/// The number of records in a store, and of events since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreCounts {
    /// Pets.
    pub pets: u64,
    /// Categories.
    pub categories: u64,
    /// Orders.
    pub orders: u64,
    /// Accounts.
    pub accounts: u64,
    /// Keys, including expired and revoked ones.
    pub keys: u64,
    /// Writes that wait in the queue of this process.
    pub waiting: usize,
    /// Bans that this process has begun since it opened the store.
    pub bans: u64,
    /// Calls that have met damaged data since this process opened the store.
    pub damage: u64,
    /// The position of the last event in the log; 0 before the first.
    pub last_event: u64,
    /// The time of the oldest event in the log, if there is one.
    pub oldest_event_at: Option<Timestamp>,
}

/// Reports how much a store holds and does.
///
/// ```
/// use petstore_ports::{StoreCounts, StoreStats};
///
/// struct EmptyStore;
///
/// impl StoreStats for EmptyStore {
///     fn counts(&self) -> StoreCounts {
///         StoreCounts::default()
///     }
/// }
/// ```
pub trait StoreStats: Send + Sync {
    /// The counts. The call may wait for short locks only, so a store behind a network returns the counts that it last
    /// fetched.
    fn counts(&self) -> StoreCounts;
}
