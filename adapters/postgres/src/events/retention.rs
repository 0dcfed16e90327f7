//! The retention of events.

use std::time::Duration;

use petstore_domain::Timestamp;

/// The limits of the events that a store keeps. The bound that is reached first applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRetention {
    /// The maximum age of an event, by the clock that housekeeping is called with.
    pub age: Duration,
    /// The maximum number of bytes of the events in their compact form.
    pub bytes: u64,
}

impl EventRetention {
    /// The default: as for a data file.
    pub const DEFAULT: Self = Self { age: Duration::from_hours(30 * 24), bytes: 256 * 1024 * 1024 };

    /// The limits at this time.
    pub(super) fn limits(self, now: Timestamp) -> Limits {
        Limits { not_before: now.minus(self.age), bytes: i64::try_from(self.bytes).unwrap_or(i64::MAX) }
    }
}

/// The limits at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Batches whose latest event is older than this are dropped.
    pub(super) not_before: Timestamp,
    /// The maximum number of bytes of all bodies.
    pub(super) bytes: i64,
}

/// The result of one step of dropping old batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pruned {
    /// The number of dropped events.
    pub(super) events: u64,
    /// Further batches are to be dropped.
    pub(super) has_more: bool,
}
