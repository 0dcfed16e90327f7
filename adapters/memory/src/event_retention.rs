//! The retention of events.

use std::time::Duration;

/// The limits of the events that a store keeps. The bound that is reached first applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRetention {
    /// The maximum age of an event, relative to the time with which housekeeping is called.
    pub age: Duration,
    /// The maximum number of bytes of the events in their compact form.
    pub bytes: u64,
}

impl EventRetention {
    /// The default time for which an event is kept: 30 days.
    pub const AGE: Duration = Duration::from_hours(30 * 24);

    /// The default of a store without a journal.
    pub const IN_MEMORY: Self = Self { age: Self::AGE, bytes: 16 * 1024 * 1024 };

    /// The default of a store with a journal.
    pub const IN_JOURNAL: Self = Self { age: Self::AGE, bytes: 256 * 1024 * 1024 };

    pub(crate) fn bytes_in_memory(self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX)
    }
}
