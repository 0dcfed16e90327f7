//! What a store holds, and what has become of it since it was opened.

use crate::store::MemoryStore;

/// What a store can tell of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Pets that there are.
    pub pets: u64,
    /// Categories that there are.
    pub categories: u64,
    /// Orders that there are.
    pub orders: u64,
    /// Accounts that there are.
    pub accounts: u64,
    /// Keys that there are, those that open nothing any more among them.
    pub keys: u64,
    /// Requests that wait for the journal.
    pub waiting: usize,
    /// Bans that have begun since the store was opened.
    pub bans: u64,
}

impl MemoryStore {
    /// What the store holds and has counted. Waits for nothing but short locks.
    pub fn figures(&self) -> Figures {
        let tables = &self.tables;
        // What an import has brought so far is shown to nobody.
        let shown = self.shown(|shop| Some([shop.pets.len(), shop.categories.len(), shop.orders.len()]));
        let [pets, categories, orders] = shown.unwrap_or_default();
        Figures {
            pets,
            categories,
            orders,
            accounts: tables.accounts.len(),
            keys: tables.keys.len(),
            waiting: self.durable.as_ref().map_or(0, |durable| durable.queue.len()),
            bans: tables.keys.bans(),
        }
    }
}
