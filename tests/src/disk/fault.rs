//! How a disk fails, and how its journal can be wrong.

use petstore_ports::StoreError;

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// This call fails, and has done nothing.
    Before,
    /// This call fails, and has done all the same what was asked: it is on disk.
    After,
    /// This call and every one after it fails, and nothing is done, until the disk is healed.
    Lasting,
    /// This call panics, and has done nothing.
    Panic,
}

/// A way in which a journal can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskBug {
    /// Answers, and writes the batch when it is called the next time.
    RepliesBeforeCommit,
    /// Writes a batch without syncing it.
    CommitsWithoutSync,
    /// Commits each change of a batch by itself.
    TearsBatches,
    /// Keeps numbers in 16 bits and times in seconds.
    NarrowColumns,
    /// Counts ids from the highest that is there.
    ReusesIds,
    /// Commits the records of answers after the effects.
    SplitsAnswers,
    /// Notes what the minute has used as what the day has used.
    MinuteNotedAsDay,
    /// Notes what an account has used once, and never again.
    NotesUsageOnce,
    /// Adds what is noted to what was noted before.
    AddsUsage,
}

/// What is to become of which call.
#[derive(Debug, Default)]
pub(super) struct Faults {
    calls: u64,
    planned: Option<(u64, Fault)>,
}

impl Faults {
    pub(super) fn plan(&mut self, number: u64, fault: Fault) {
        self.planned = Some((number, fault));
    }

    pub(super) const fn calls(&self) -> u64 {
        self.calls
    }

    pub(super) fn heal(&mut self) {
        self.planned = None;
    }

    /// Counts a call. How it fails, if it does.
    pub(super) fn call(&mut self) -> Option<Fault> {
        self.calls += 1;
        let (number, fault) = self.planned?;
        let fails = self.calls == number || (fault == Fault::Lasting && self.calls > number);
        fails.then_some(fault)
    }
}

pub(super) fn planned_error() -> StoreError {
    StoreError::unavailable("planned: the disk fails")
}
