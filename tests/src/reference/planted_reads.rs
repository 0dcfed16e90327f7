//! Planted bugs of reading.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use petstore_domain::{KeyId, OrderId, OrderRecord, PetId, PetRecord, PetStatus};
use petstore_ports::{Credential, OrderFilter, PetFilter};

use super::ReferenceStore;

/// Pauses, so that other threads run between two steps of a bug. The thread sleeps for the shortest time that there is: a
/// scheduler may return from a yield at once, and on a busy machine it then hardly ever lets another thread run in between.
pub(super) fn pause_blocking() {
    sleep(Duration::from_nanos(1));
}

/// Each pet as it was created.
pub(super) type StaleIndex = BTreeMap<PetId, PetRecord>;

impl ReferenceStore {
    /// The pets that the filter admitted when they were created.
    pub(super) fn found_by_the_stale_index(&self, filter: &PetFilter) -> BTreeMap<PetId, PetRecord> {
        let state = self.lock();
        let mut pets = state.tables.pets.clone();
        pets.retain(|id, _| state.stale.get(id).is_some_and(|created| filter.admits(created)));
        pets
    }

    /// The pets with these statuses, found by a separate scan for each status.
    pub(super) fn union_of_scans(&self, filter: &PetFilter) -> BTreeMap<PetId, PetRecord> {
        let mut found = BTreeMap::new();
        for status in PetStatus::ALL.into_iter().filter(|status| filter.statuses.admits(*status)) {
            let pets = self.lock().tables.pets.clone();
            found.extend(pets.into_iter().filter(|(_, record)| record.pet.status == status));
            pause_blocking();
        }
        found
    }

    /// All orders. If the filter names a pet, only the orders whose pet exists.
    pub(super) fn joined_with_their_pets(&self, filter: &OrderFilter) -> BTreeMap<OrderId, OrderRecord> {
        let state = self.lock();
        let mut orders = state.tables.orders.clone();
        orders.retain(|_, record| {
            filter.pet_id.is_none() || state.tables.pets.contains_key(&record.order.pet_id)
        });
        orders
    }

    /// A pet whose name was read before its category and its stock.
    pub(super) fn torn_pet(&self, id: PetId) -> Option<PetRecord> {
        let mut first = self.lock().tables.pets.get(&id).cloned()?;
        pause_blocking();
        let second = self.lock().tables.pets.get(&id).cloned()?;
        first.pet.category_id = second.pet.category_id;
        first.stock = second.stock;
        Some(first)
    }

    /// The credential that the first look-up of this key found, even if the key has changed since then.
    pub(super) fn kept(&self, credential: Option<Credential>) -> Option<Credential> {
        static KEPT: Mutex<BTreeMap<(usize, KeyId), Credential>> = Mutex::new(BTreeMap::new());
        let store = Arc::as_ptr(&self.state).addr();
        let credential = credential?;
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        Some(*kept.entry((store, credential.key)).or_insert(credential))
    }
}
