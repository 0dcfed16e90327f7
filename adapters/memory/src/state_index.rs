//! The slots of all records of a table, and the slots of the records in each state.

use roaring::RoaringBitmap;

/// A bitmap of all slots, and one for each state. The owner keeps it under one lock, so a search sees all states at the
/// same moment.
pub(crate) struct StateIndex<const STATES: usize> {
    all: RoaringBitmap,
    by_state: [RoaringBitmap; STATES],
}

impl<const STATES: usize> Default for StateIndex<STATES> {
    fn default() -> Self {
        Self { all: RoaringBitmap::new(), by_state: std::array::from_fn(|_| RoaringBitmap::new()) }
    }
}

impl<const STATES: usize> StateIndex<STATES> {
    pub(crate) const fn all(&self) -> &RoaringBitmap {
        &self.all
    }

    /// The slots in a state. While the state of a record changes, its slot is in both states.
    pub(crate) const fn in_state(&self, state: usize) -> &RoaringBitmap {
        &self.by_state[state]
    }

    pub(crate) fn add(&mut self, slot: u32) {
        self.all.insert(slot);
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        self.all.remove(slot);
    }

    /// Adds a slot to a state.
    pub(crate) fn add_to_state(&mut self, state: usize, slot: u32) {
        self.by_state[state].insert(slot);
    }

    /// Removes a slot from a state.
    pub(crate) fn remove_from_state(&mut self, state: usize, slot: u32) {
        self.by_state[state].remove(slot);
    }
}
