//! The table of orders and its indexes.

use parking_lot::RwLock;
use petstore_domain::{OrderId, OrderRecord};
use petstore_ports::{OrderFilter, OrderSink, PageEnd, PageRequest};

use crate::ids::IdCounter;
use crate::index_search::{Found, SlotCursor, Union, scan, search};
use crate::owner_index::OwnerIndex;
use crate::page;
use crate::slab::{Slab, slot};
use crate::state_index::StateIndex;

/// Orders; found by id, by pet, and by whether they are complete.
pub(crate) struct Orders {
    pub(crate) ids: IdCounter,
    records: Slab<OrderRecord>,
    /// Open ones and complete ones.
    state_index: RwLock<StateIndex<2>>,
    by_pet: OwnerIndex,
}

/// Where the indexes have an order.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    pet: u32,
    complete: bool,
}

impl Orders {
    pub(crate) fn new() -> Self {
        Self {
            ids: IdCounter::default(),
            records: Slab::new(),
            state_index: RwLock::default(),
            by_pet: OwnerIndex::new(),
        }
    }

    pub(crate) fn get(&self, id: OrderId) -> Option<OrderRecord> {
        self.records.get(slot(id.get())?)
    }

    pub(crate) fn holds(&self, id: OrderId) -> bool {
        slot(id.get()).is_some_and(|slot| self.records.read(slot, |_| ()).is_some())
    }

    /// Writes an order; `pet` is the slot of its pet.
    pub(crate) fn put(&self, slot: u32, pet: u32, record: OrderRecord) {
        self.ids.skip_to(record.order.id.get());
        let (before, after) = (self.entry_of(slot), Entry { pet, complete: record.order.complete });
        self.widen(slot, after, before);
        self.records.write(slot, Some(record));
        if let Some(before) = before {
            self.narrow(slot, before, Some(after));
        }
    }

    pub(crate) fn remove(&self, slot: u32) {
        let Some(before) = self.entry_of(slot) else {
            return;
        };
        self.records.write(slot, None);
        self.narrow(slot, before, None);
    }

    /// A page of them, as long as they are shown.
    pub(crate) fn page(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        is_shown: &dyn Fn() -> bool,
        sink: OrderSink<'_>,
    ) -> PageEnd {
        let candidates = |walk, max| self.candidates(filter, walk, max);
        page::fill(page, &self.records, candidates, |record| filter.admits(record), is_shown, sink)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.state_index.read().all().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes every one.
    pub(crate) fn clear(&self) {
        let all: Vec<u32> = self.state_index.read().all().iter().collect();
        for slot in all {
            self.remove(slot);
        }
    }

    /// Every order, by id.
    pub(crate) fn all(&self) -> impl Iterator<Item = OrderRecord> {
        page::all(&self.records, |walk, max| scan(self.state_index.read().all(), walk, max))
    }

    fn candidates(&self, filter: &OrderFilter, walk: SlotCursor, max: usize) -> Found {
        // Two locks at once, both to read, each of them a leaf to every writer: nobody waits in a circle.
        let state_index = self.state_index.read();
        let states: Vec<Union<'_>> = filter
            .complete
            .map(|complete| Union(vec![state_index.in_state(state(complete))]))
            .into_iter()
            .collect();
        match filter.pet_id.map(|id| slot(id.get())) {
            Some(pet) => {
                let of_pet = |pet| self.by_pet.search(pet, |orders| search(&states, Some(orders), walk, max));
                pet.and_then(of_pet).unwrap_or_else(|| Found::nothing(walk))
            }
            None if states.is_empty() => scan(state_index.all(), walk, max),
            None => search(&states, None, walk, max),
        }
    }

    /// Adds an order to the indexes in which it is not already.
    fn widen(&self, slot: u32, entry: Entry, already: Option<Entry>) {
        if already.is_none_or(|already| already.pet != entry.pet) {
            self.by_pet.add(entry.pet, slot);
        }
        if already.is_none_or(|already| already.complete != entry.complete) {
            let mut state_index = self.state_index.write();
            state_index.add(slot);
            state_index.add_to_state(state(entry.complete), slot);
        }
    }

    /// Removes an order from the indexes in which it does not remain.
    fn narrow(&self, slot: u32, entry: Entry, remains: Option<Entry>) {
        if remains.is_none_or(|remains| remains.complete != entry.complete) {
            let mut state_index = self.state_index.write();
            state_index.remove_from_state(state(entry.complete), slot);
            if remains.is_none() {
                state_index.remove(slot);
            }
        }
        if remains.is_none_or(|remains| remains.pet != entry.pet) {
            self.by_pet.remove(entry.pet, slot);
        }
    }

    fn entry_of(&self, slot_of_order: u32) -> Option<Entry> {
        self.records
            .read(slot_of_order, |OrderRecord { order, .. }| {
                slot(order.pet_id.get()).map(|pet| Entry { pet, complete: order.complete })
            })
            .flatten()
    }
}

/// The place of open and of complete orders among the state_index's states.
const fn state(complete: bool) -> usize {
    if complete { 1 } else { 0 }
}
