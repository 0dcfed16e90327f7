//! Counts of the store's records, and of events since it was opened.

use petstore_ports::{StoreCounts, StoreStats};

use crate::store::MemoryStore;

impl StoreStats for MemoryStore {
    fn counts(&self) -> StoreCounts {
        let tables = &self.tables;
        let (events, events_damage) = (tables.events.bounds(), tables.events.damage().contacts());
        // The records of an unfinished import are not counted.
        let visible =
            self.read_shop(|shop| Some([shop.pets.len(), shop.categories.len(), shop.orders.len()]));
        let [pets, categories, orders] = visible.unwrap_or_default();
        StoreCounts {
            pets,
            categories,
            orders,
            accounts: tables.accounts.len(),
            keys: tables.keys.len(),
            waiting: self.durable.as_ref().map_or(0, |durable| durable.queue.len()),
            bans: tables.keys.bans(),
            damage: events_damage,
            last_event: events.last.get(),
            oldest_event_at: events.oldest_at,
        }
    }
}
