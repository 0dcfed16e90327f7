//! The events that a journal keeps with its batches.

use std::ops::ControlFlow;

use petstore_domain::{Position, Timestamp};

use crate::{EventBounds, SortDirection, StoreError};

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
    /// The position before the first one that is read.
    pub after: Position,
    /// The last position that is read. The journal must contain it.
    pub last: Position,
    /// The order in which the batches are passed.
    pub order: SortDirection,
}

/// Reads the event batches of a journal on a separate thread while the journal is written. Its calls block.
pub trait EventBatchReader: Send {
    /// Passes each batch with a position in the range to `into`, in the order of the range, until `into` returns
    /// `Break`. Returns the extent of the log at the same moment. No read transaction outlives the call.
    ///
    /// If events after `range.after` have been dropped, no batch is passed. The caller finds this out by comparing the
    /// returned extent with the range. A batch that is missing from the middle is
    /// [`StoreErrorKind::Corrupt`](crate::StoreErrorKind::Corrupt).
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
    /// The maximum number of bytes of all bodies. The oldest batches are dropped until the remaining ones fit.
    pub bytes_max: u64,
}

/// The result of one step of dropping old events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventsPruned {
    /// The extent of the log after the step.
    pub bounds: EventBounds,
    /// `true` if more batches are due to be dropped.
    pub has_more: bool,
}
