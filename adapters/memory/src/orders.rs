//! The table of orders and its indexes.

use parking_lot::RwLock;
use petstore_domain::{OrderId, OrderRecord};
use petstore_ports::{OrderFilter, OrderSink, PageEnd, PageRequest};

use crate::ids::IdCounter;
use crate::index_search::{FoundSlots, SlotCursor, scan, search};
use crate::owner_index::OwnerIndex;
use crate::page;
use crate::slab::{Slab, slot};
use crate::slot_set::Union;
use crate::state_index::StateIndex;

/// Orders, found by id, by pet, and by completion.
pub(crate) struct Orders {
    pub(crate) ids: IdCounter,
    records: Slab<OrderRecord>,
    /// The states are open and complete.
    state_index: RwLock<StateIndex<2>>,
    by_pet: OwnerIndex,
}

/// The index entries of an order.
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
        self.ids.advance_to(record.order.id.get());
        let (before, after) = (self.entry_of(slot), Entry { pet, complete: record.order.complete });
        self.add_entries(slot, after, before);
        self.records.write(slot, Some(record));
        if let Some(before) = before {
            self.remove_entries(slot, before, Some(after));
        }
    }

    pub(crate) fn remove(&self, slot: u32) {
        let Some(before) = self.entry_of(slot) else {
            return;
        };
        self.records.write(slot, None);
        self.remove_entries(slot, before, None);
    }

    /// A page of orders. It ends once `is_visible` returns false.
    pub(crate) fn page(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        is_visible: &dyn Fn() -> bool,
        sink: OrderSink<'_>,
    ) -> PageEnd {
        let candidates = |cursor, max| self.candidates(filter, cursor, max);
        page::fill(page, &self.records, candidates, |record| filter.admits(record), is_visible, sink)
    }

    /// The number of orders.
    pub(crate) fn len(&self) -> u64 {
        self.state_index.read().all().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn clear(&self) {
        let all: Vec<u32> = self.state_index.read().all().iter().collect();
        for slot in all {
            self.remove(slot);
        }
    }

    /// All orders, by id.
    pub(crate) fn all(&self) -> impl Iterator<Item = OrderRecord> {
        page::all(&self.records, |cursor, max| scan(self.state_index.read().all(), cursor, max))
    }

    fn candidates(&self, filter: &OrderFilter, cursor: SlotCursor, max: usize) -> FoundSlots {
        // This holds two read locks at once. No writer takes another lock while it holds one of them, so no deadlock
        // can occur.
        let state_index = self.state_index.read();
        let states: Vec<Union<'_>> = filter
            .complete
            .map(|complete| Union(vec![state_index.in_state(state(complete))]))
            .into_iter()
            .collect();
        match filter.pet_id.map(|id| slot(id.get())) {
            Some(pet) => {
                let of_pet =
                    |pet| self.by_pet.search(pet, |orders| search(&states, Some(orders), cursor, max));
                pet.and_then(of_pet).unwrap_or_else(|| FoundSlots::nothing(cursor))
            }
            None if states.is_empty() => scan(state_index.all(), cursor, max),
            None => search(&states, None, cursor, max),
        }
    }

    /// Adds an order to the indexes, except for the entries that it has already.
    fn add_entries(&self, slot: u32, entry: Entry, already: Option<Entry>) {
        if already.is_none_or(|already| already.pet != entry.pet) {
            self.by_pet.add(entry.pet, slot);
        }
        if already.is_none_or(|already| already.complete != entry.complete) {
            let mut state_index = self.state_index.write();
            state_index.add(slot);
            state_index.add_to_state(state(entry.complete), slot);
        }
    }

    /// Removes an order from the indexes, except for the entries that remain.
    fn remove_entries(&self, slot: u32, entry: Entry, remaining: Option<Entry>) {
        if remaining.is_none_or(|remaining| remaining.complete != entry.complete) {
            let mut state_index = self.state_index.write();
            state_index.remove_from_state(state(entry.complete), slot);
            if remaining.is_none() {
                state_index.remove(slot);
            }
        }
        if remaining.is_none_or(|remaining| remaining.pet != entry.pet) {
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

/// The state of open and of complete orders in the state index.
const fn state(complete: bool) -> usize {
    if complete { 1 } else { 0 }
}
