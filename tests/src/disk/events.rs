//! The event log on the disk.

use std::ops::ControlFlow;

use petstore_domain::{Position, Timestamp};
use petstore_ports::{
    EventBatch, EventBatchReader, EventBounds, EventLimits, EventRange, SortDirection, StoreError,
};

use super::{Disk, EPOCH};

/// The events of one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredEvents {
    first: Position,
    last: Position,
    latest: Timestamp,
    body: Vec<u8>,
}

impl StoredEvents {
    pub(super) fn of(events: &EventBatch<'_>) -> Self {
        let EventBatch { first, last, latest, body } = *events;
        Self { first, last, latest, body: body.to_vec() }
    }

    fn as_batch(&self) -> EventBatch<'_> {
        EventBatch { first: self.first, last: self.last, latest: self.latest, body: &self.body }
    }
}

/// The maximum number of batches that one step removes.
const PRUNE_MAX: usize = 3;

#[derive(Debug, Clone)]
pub(super) struct EventLog {
    epoch: u64,
    last: Position,
    batches: Vec<StoredEvents>,
}

impl Default for EventLog {
    fn default() -> Self {
        Self::new(EPOCH)
    }
}

impl EventLog {
    pub(super) const fn new(epoch: u64) -> Self {
        Self { epoch, last: Position::START, batches: Vec::new() }
    }

    pub(super) fn push(&mut self, events: StoredEvents) {
        assert_eq!(events.first, self.last.next(), "the events of a batch follow the last one");
        self.last = events.last;
        self.batches.push(events);
    }

    pub(super) fn bounds(&self) -> EventBounds {
        let oldest = self.batches.first();
        EventBounds {
            epoch: self.epoch,
            pruned: oldest.map_or(self.last, |oldest| oldest.first.before()),
            last: self.last,
            oldest_at: oldest.map(|oldest| oldest.latest),
        }
    }

    /// Drops a bounded number of the oldest batches that exceed the limits. Returns whether further batches still
    /// exceed the limits.
    pub(super) fn prune(&mut self, limits: &EventLimits) -> bool {
        for _ in 0..PRUNE_MAX {
            if !self.exceeds(limits) {
                return false;
            }
            self.batches.remove(0);
        }
        self.exceeds(limits)
    }

    fn exceeds(&self, limits: &EventLimits) -> bool {
        let bytes: usize = self.batches.iter().map(|batch| batch.body.len()).sum();
        let is_old = |oldest: &StoredEvents| oldest.latest < limits.not_before;
        self.batches.first().is_some_and(is_old) || bytes as u64 > limits.bytes_max
    }
}

/// Reads the events of a disk.
pub(super) struct DiskReader(pub(super) Disk);

impl EventBatchReader for DiskReader {
    fn read(
        &mut self,
        range: &EventRange,
        into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
    ) -> Result<EventBounds, StoreError> {
        let log = self.0.lock().contents().events;
        let bounds = log.bounds();
        if bounds.pruned > range.after || range.last > bounds.last {
            return Ok(bounds);
        }
        let mut batches: Vec<_> = log.batches.iter().filter(|batch| batch.last > range.after).collect();
        batches.retain(|batch| batch.first <= range.last);
        if range.order == SortDirection::Descending {
            batches.reverse();
        }
        for batch in batches {
            if into(batch.as_batch()).is_break() {
                break;
            }
        }
        Ok(bounds)
    }
}
