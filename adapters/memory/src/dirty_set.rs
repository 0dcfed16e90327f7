//! The ids of records whose usage has changed since it was last written to the journal.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Ids in the order in which they became dirty. The caller adds an id only if it is not in the set. So the set is never
/// larger than the table, even in a store without a journal, where no id is ever taken from the set.
pub(crate) struct DirtySet<Id>(Mutex<VecDeque<Id>>);

impl<Id> DirtySet<Id> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    pub(crate) fn add(&self, id: Id) {
        self.0.lock().push_back(id);
    }

    /// Takes the oldest ids, at most `max` of them.
    pub(crate) fn take(&self, max: usize) -> Vec<Id> {
        let mut ids = self.0.lock();
        let count = max.min(ids.len());
        ids.drain(..count).collect()
    }
}
