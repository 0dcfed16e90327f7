//! Counts of a store, for monitoring.

/// The records in a store, and what has happened to it since it was opened.
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
    /// Keys, expired and revoked ones among them.
    pub keys: u64,
    /// Writes that wait for their turn in this process.
    pub waiting: usize,
    /// Bans that this process has begun since it opened the store.
    pub bans: u64,
}

/// Tells how much a store holds and does.
pub trait StoreStats: Send + Sync {
    /// The counts. Waits for nothing but short locks: a store behind a network tells what it counted last.
    fn counts(&self) -> StoreCounts;
}
