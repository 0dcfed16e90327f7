//! The events that a journal keeps with its batches.

use std::ops::ControlFlow;

use petstore_domain::{Position, Timestamp};

use crate::{EventBounds, PageOrder, StoreError};

/// The events of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventBatch<'a> {
    /// The position of the first event.
    pub first: Position,
    /// The position of the last event.
    pub last: Position,
    /// The latest time of the events.
    pub latest: Timestamp,
    /// The events in a form that the store alone reads and writes.
    pub body: &'a [u8],
}

/// The positions that a page of older events reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRange {
    /// The position before the first one.
    pub after: Position,
    /// The last position. It is in the journal.
    pub last: Position,
    /// The order of the batches.
    pub order: PageOrder,
}

/// Reads the batches of events of a journal, beside its writer and on another thread. Blocking.
pub trait EventBatchReader: Send {
    /// Passes each batch with a position in the range to `into`, in the order of the range, until `into` breaks off.
    /// Returns the extent of the log at the same moment. No read transaction outlives the call.
    ///
    /// If events behind `after` have been dropped, no batch is passed: the caller compares the extent with the range. A
    /// batch that is missing from the middle is [`StoreErrorKind::Corrupt`](crate::StoreErrorKind::Corrupt).
    fn read(
        &mut self,
        range: &EventRange,
        into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
    ) -> Result<EventBounds, StoreError>;
}

/// The bounds of the events that a journal keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// Batches whose latest event is older than this are dropped.
    pub not_before: Timestamp,
    /// The maximum number of bytes of all bodies. The oldest batches are dropped until the rest is within it.
    pub bytes_max: u64,
}

/// The result of one step of dropping old events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventsPruned {
    /// The extent of the log after the step.
    pub bounds: EventBounds,
    /// Further batches are to be dropped.
    pub has_more: bool,
}
