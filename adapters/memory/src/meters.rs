//! A store that only counts: its quotas are used beside a store that has the accounts and keys.

use petstore_domain::{KeyId, Timestamp, Windows};

use crate::store::MemoryStore;

impl MemoryStore {
    /// The bans that this store has begun, each by its key and its start, recorded or not. For a reset of the store that has the
    /// keys: it voids these bans.
    pub fn begun_bans(&self) -> Vec<(KeyId, Timestamp)> {
        let meters = self.tables.keys.meters.all();
        let begun =
            meters.filter_map(|(slot, meter)| Some((KeyId::new(slot.into()).ok()?, meter.ban_since()?)));
        begun.collect()
    }

    /// Forgets the usage, strikes and bans of all accounts, keys and addresses. For a store without accounts and keys; one that
    /// has them is [reset](petstore_ports::Resettable).
    pub fn forget_meters(&self) {
        for (_, meter) in self.tables.accounts.meters.all() {
            meter.restore(Windows::default());
        }
        for (_, meter) in self.tables.keys.meters.all() {
            meter.forget_conduct();
        }
        self.addresses.clear();
    }
}
