//! The health of a store: its faults, its damage, and what an operator should know about it.

use petstore_domain::Timestamp;
use petstore_ports::StoreError;

use super::{Backend, CheckpointHealth, ClockFault, ClockFaultKind, Kind, Notice};

/// The advice for damaged data in a file.
const IF_FILE_DAMAGED: &str = "the start checks every row, so this was damaged later: `petstore export` and `petstore backup` \
    copy the records, which are sound in memory, without the events; restore the copy, and check the disk";

/// The advice for damaged data in a database.
const IF_DATABASE_DAMAGED: &str = "restore the row from a backup of the database, and find out which program or disk has \
    changed it";

impl Backend {
    /// Returns whether a write is expected to succeed at this time.
    pub(crate) fn is_ready(&self, now: Timestamp) -> bool {
        match &self.kind {
            Kind::Local(store) => store.check_at(now).is_ok(),
            Kind::Shared { store, .. } => {
                let is_wrong = |fault: ClockFault| fault.kind == ClockFaultKind::Wrong;
                store.fault().is_none()
                    && store.unfit().is_none()
                    && !store.clock_fault().is_some_and(is_wrong)
            }
        }
    }

    /// The reason why a server with this store is not ready, although changes are accepted.
    pub(crate) fn unfit(&self) -> Option<&'static str> {
        match &self.kind {
            Kind::Local(_) => None,
            Kind::Shared { store, .. } => store.unfit(),
        }
    }

    /// The error of the disk or of the database; none while it works.
    pub(crate) fn fault(&self) -> Option<StoreError> {
        match &self.kind {
            Kind::Local(store) => store.journal_fault(),
            Kind::Shared { store, .. } => store.fault(),
        }
    }

    /// Returns whether no change is written while there is a fault.
    pub(crate) fn refuses_changes(&self) -> bool {
        match &self.kind {
            Kind::Local(_) => true,
            Kind::Shared { store, .. } => store.refuses_changes(),
        }
    }

    /// The difference between the clocks of this machine and of the database; none if it is small, or without a database.
    pub(crate) fn clock_fault(&self) -> Option<ClockFault> {
        match &self.kind {
            Kind::Local(_) => None,
            Kind::Shared { store, .. } => store.clock_fault(),
        }
    }

    /// Removes and returns the messages for an operator about the database: lost changes, and new epochs.
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        match &self.kind {
            Kind::Local(_) => Vec::new(),
            Kind::Shared { store, .. } => store.take_notices(),
        }
    }

    /// The number of pages in the log of the data file; none without a file.
    pub(crate) fn log_pages(&self) -> Option<u32> {
        self.checkpoints.as_ref().map(CheckpointHealth::log_pages)
    }

    /// The reason why the log of the data file cannot be checkpointed; none if there is no fault.
    pub(crate) fn log_fault(&self) -> Option<String> {
        self.checkpoints.as_ref().and_then(CheckpointHealth::fault)
    }

    /// Removes and returns the damage that calls have met at places that were not met before.
    pub(crate) fn take_damage(&self) -> Vec<StoreError> {
        match &self.kind {
            Kind::Local(store) => store.damage().take_new(),
            Kind::Shared { store, .. } => store.damage().take_new(),
        }
    }

    /// The advice for an operator whose data is damaged while the rest is served.
    pub(crate) fn damage_advice(&self) -> &'static str {
        match &self.kind {
            Kind::Local(_) => IF_FILE_DAMAGED,
            Kind::Shared { .. } => IF_DATABASE_DAMAGED,
        }
    }
}
