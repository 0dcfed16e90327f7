//! A simulated disk in memory with a journal. A power cut loses unsynced data, and planned calls fail.
//!
//! The journal is an example for authors of journals. It also asserts that the store calls the journal as the contract
//! requires: batch numbers rise by one, and after an error [`Journal::recover`] is the next call. If a [`DiskBug`] is
//! planted in the journal, the suite must fail.

mod contents;
mod events;
mod fault;
mod journal;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use petstore_domain::{Change, Timestamp};
use petstore_ports::{BatchNumber, DeliveryNote, EventLimits, Journal, LastIds, Row, UsageCount};

use contents::Contents;
use events::StoredEvents;
use fault::Faults;
pub use fault::{DiskBug, Fault};
use journal::DiskJournal;

/// The epoch of the journal. It is a constant, so that the epoch is the same each time the journal is opened.
const EPOCH: u64 = 7;

/// A disk with one journal on it. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct Disk(Arc<Mutex<DiskState>>);

#[derive(Debug, Default)]
struct DiskState {
    /// The data that survives a power cut.
    synced: Contents,
    /// Entries that were written since the last sync, in their order.
    unsynced: Vec<Entry>,
    faults: Faults,
    bug: Option<DiskBug>,
}

/// One written entry.
#[derive(Debug, Clone)]
enum Entry {
    Batch {
        number: BatchNumber,
        changes: Vec<Change>,
        last_ids: LastIds,
        events: Option<StoredEvents>,
    },
    Usage(Vec<UsageCount>),
    Deliveries(Vec<DeliveryNote>),
    Pruned(Timestamp),
    EventsPruned(EventLimits),
    /// If `new_epoch` is set, everything except accounts and keys is cleared first, and the journal gets this epoch.
    Bulk {
        number: BatchNumber,
        new_epoch: Option<u64>,
        event_epoch: u64,
        rows: Vec<Row>,
        last_ids: LastIds,
    },
}

impl Disk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty disk with one planted bug in its journal.
    pub fn with_bug(bug: DiskBug) -> Self {
        Self(Arc::new(Mutex::new(DiskState { bug: Some(bug), ..DiskState::default() })))
    }

    /// Opens the journal.
    pub fn journal(&self) -> Box<dyn Journal> {
        Box::new(DiskJournal::on(self.clone()))
    }

    /// Returns the disk that a power cut at this moment would leave. Users of this disk are not affected.
    #[must_use]
    pub fn after_power_cut(&self) -> Self {
        let state = self.lock();
        let left = DiskState { synced: state.synced.clone(), bug: state.bug, ..DiskState::default() };
        Self(Arc::new(Mutex::new(left)))
    }

    /// Makes a call fail. Calls are counted from 1 since the disk was made.
    pub fn fail_call(&self, number: u64, fault: Fault) {
        self.lock().faults.plan(number, fault);
    }

    /// The number of calls so far. Loading does not count.
    pub fn calls(&self) -> u64 {
        self.lock().faults.calls()
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.lock().faults.heal();
    }

    /// The number of batches on disk.
    pub fn batches(&self) -> usize {
        self.lock().synced.batches
    }

    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
