//! A disk in memory, and the journal on it: what was not synced is lost with the power, and any call fails that is told
//! to.
//!
//! The journal is the example of how to write one, and it holds the store to its side of the contract: numbers that rise
//! by one, and [`Journal::recover`] before anything else after an error. With a [`DiskBug`] planted in it the suite must
//! fail.

mod contents;
mod fault;
mod journal;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use petstore_domain::{Change, KeyRecord, Timestamp};
use petstore_ports::{BatchNumber, Journal, LastIds, Row, UsageCount};

use contents::Contents;
use fault::Faults;
pub use fault::{DiskBug, Fault};
use journal::DiskJournal;

/// A disk with one journal on it. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// What survives a power cut.
    synced: Contents,
    /// What was written after that, in that order.
    unsynced: Vec<Entry>,
    faults: Faults,
    bug: Option<DiskBug>,
}

/// One thing that was written.
#[derive(Debug, Clone)]
enum Entry {
    Batch {
        number: BatchNumber,
        changes: Vec<Change>,
        last_ids: LastIds,
    },
    Usage(Vec<UsageCount>),
    Bans(Vec<KeyRecord>),
    Pruned(Timestamp),
    /// With an epoch: all but accounts and keys goes first, and the journal has that epoch.
    Bulk {
        number: BatchNumber,
        anew: Option<u64>,
        rows: Vec<Row>,
        last_ids: LastIds,
    },
}

impl Disk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty disk whose journal is wrong in one way.
    pub fn with_bug(bug: DiskBug) -> Self {
        Self(Arc::new(Mutex::new(State { bug: Some(bug), ..State::default() })))
    }

    /// Opens the journal.
    pub fn journal(&self) -> Box<dyn Journal> {
        Box::new(DiskJournal::on(self.clone()))
    }

    /// The disk that a power cut at this moment would leave. Whoever uses this one goes on, without knowing.
    #[must_use]
    pub fn after_power_cut(&self) -> Self {
        let state = self.lock();
        let left = State { synced: state.synced.clone(), bug: state.bug, ..State::default() };
        Self(Arc::new(Mutex::new(left)))
    }

    /// Lets a call fail, counted from the first one that there ever was: from 1.
    pub fn fail_call(&self, number: u64, fault: Fault) {
        self.lock().faults.plan(number, fault);
    }

    /// How many calls there have been. Loading is none.
    pub fn calls(&self) -> u64 {
        self.lock().faults.calls()
    }

    /// Lets no call fail any more.
    pub fn heal(&self) {
        self.lock().faults.heal();
    }

    /// How many batches are on disk.
    pub fn batches(&self) -> usize {
        self.lock().synced.batches
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
