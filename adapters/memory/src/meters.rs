//! A store in memory that is used only for its quotas, beside another store that has the accounts and keys.

use petstore_domain::{KeyId, Timestamp, Windows};

use crate::store::MemoryStore;

impl MemoryStore {
    /// The bans that this store has begun, recorded or not, each with its key and its start. A reset of the store that
    /// has the keys uses this list to void these bans.
    pub fn begun_bans(&self) -> Vec<(KeyId, Timestamp)> {
        let meters = self.tables.keys.meters.all();
        let begun =
            meters.filter_map(|(slot, meter)| Some((KeyId::new(slot.into()).ok()?, meter.ban_since()?)));
        begun.collect()
    }

    /// Forgets the usage, strikes and bans of all accounts, keys and addresses. Call it only for a store without
    /// accounts and keys. A store with accounts and keys is [reset](petstore_ports::Resettable) instead.
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
