//! What has changed in memory and is to be noted in the journal, some time later.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Accounts or keys that are to be noted, those that changed first in front. Each is in it once, which its meter sees to:
/// so it is no longer than their table, even in a store without a journal, where nobody asks for it.
pub(crate) struct Unnoted<Id>(Mutex<VecDeque<Id>>);

impl<Id> Unnoted<Id> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    pub(crate) fn add(&self, id: Id) {
        self.0.lock().push_back(id);
    }

    /// Takes up to so many.
    pub(crate) fn take(&self, max: usize) -> Vec<Id> {
        let mut ids = self.0.lock();
        let count = max.min(ids.len());
        ids.drain(..count).collect()
    }
}
