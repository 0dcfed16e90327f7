//! Faults of a disk, and bugs of its journal.

use petstore_ports::StoreError;

/// The way in which a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// This call fails without an effect.
    Before,
    /// This call fails, but has its effect: the data is on disk.
    After,
    /// This call and all later ones fail without an effect, until the disk is healed.
    Lasting,
    /// This call panics without an effect.
    Panic,
}

/// A bug of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskBug {
    /// Acknowledges a batch before it is written. The next call writes it.
    RepliesBeforeCommit,
    /// Writes a batch without syncing it.
    CommitsWithoutSync,
    /// Commits each change of a batch separately.
    TearsBatches,
    /// Stores numbers in 16 bits and times in whole seconds.
    NarrowColumns,
    /// Stores keys without the time at which an operator last lifted their bans.
    ForgetsLifts,
    /// Loads the highest existing id of each kind as the last assigned one, so that ids of deleted records are assigned
    /// again.
    ReusesIds,
    /// Commits an idempotency record after the changes of its request, in a separate step.
    SplitsAnswers,
    /// Stores the usage of the minute as the usage of the day.
    MinuteNotedAsDay,
    /// Stores the usage of an account once, and ignores all later usage.
    NotesUsageOnce,
    /// Adds new usage to the stored usage instead of replacing it.
    AddsUsage,
    /// Stores batches without their events.
    ForgetsEvents,
    /// Commits the events of a batch after its changes, in a separate step.
    SplitsEvents,
}

/// The planned faults by call.
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

    /// Counts a call. Returns its fault, if one is planned.
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
