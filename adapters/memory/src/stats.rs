//! Counts of the store, and of what has become of it since it was opened.

use petstore_ports::{StoreCounts, StoreStats};

use crate::store::MemoryStore;

impl StoreStats for MemoryStore {
    fn counts(&self) -> StoreCounts {
        let tables = &self.tables;
        // What an import has brought so far is shown to nobody.
        let shown = self.shown(|shop| Some([shop.pets.len(), shop.categories.len(), shop.orders.len()]));
        let [pets, categories, orders] = shown.unwrap_or_default();
        StoreCounts {
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
