//! The event log in memory: the latest events, in the compact form, and the readers that wait for more.
//!
//! A store without a journal keeps all of its events here. A store with a journal keeps only the latest events here,
//! and reads older ones from the journal.

mod encoded;
mod page;
mod ring;
mod waiters;

use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use petstore_domain::{Changes, EventFilter, EventSummary, Happening, Position, Timestamp};
use petstore_event_codec::Body;
use petstore_ports::{
    EventBounds, EventLimits, EventQuery, EventRead, LogEnd, SortDirection, StoreDamage, StoreError,
};

use crate::event_retention::EventRetention;
use ring::Ring;
use waiters::Waiters;

pub(crate) use encoded::{Encoded, EncodedBatch};
pub(crate) use page::{PageBuilder, Span};
pub(crate) use waiters::Changed;

/// The maximum number of bytes of the ring in a store with a journal.
const CACHE_BYTES: usize = 4 * 1024 * 1024;

/// The events of one store, shared by its writers and readers.
pub(crate) struct EventLog {
    ring: Mutex<Ring>,
    retention: Mutex<EventRetention>,
    waiters: Waiters,
    /// The damage that reads of events in the journal have met.
    damage: StoreDamage,
}

/// Events that were added, but for which the waiting readers have not been woken yet.
#[derive(Default)]
pub(crate) struct Appended {
    end: Option<LogEnd>,
    summary: EventSummary,
}

impl Appended {
    /// Includes events that were added later.
    pub(crate) fn extend(&mut self, later: Self) {
        self.end = later.end.or(self.end);
        self.summary.extend(later.summary);
    }
}

/// The result of reading a page from the ring.
pub(crate) enum FromRing {
    /// The answer.
    Read(EventRead),
    /// The page needs events that only the journal has.
    Older(EventBounds, Span),
}

impl EventLog {
    /// Returns an empty log with this epoch, which keeps at most the bytes that `retention` allows.
    pub(crate) fn new(epoch: u64, retention: EventRetention) -> Arc<Self> {
        let ring = Ring::new(epoch, retention.bytes_in_memory());
        let waiters = Waiters::new(ring.end());
        let damage = StoreDamage::default();
        Arc::new(Self { ring: Mutex::new(ring), retention: Mutex::new(retention), waiters, damage })
    }

    /// Continues the log of a journal, which has this extent.
    pub(crate) fn resume(&self, bounds: EventBounds) {
        *self.ring.lock() = Ring::journaled(bounds, CACHE_BYTES);
        *self.retention.lock() = EventRetention::IN_JOURNAL;
        self.wake_all();
    }

    /// Sets how many events are kept.
    pub(crate) fn set_retention(&self, retention: EventRetention) {
        let mut ring = self.ring.lock();
        if !ring.is_journaled() {
            ring.set_bytes_max(retention.bytes_in_memory());
        }
        drop(ring);
        *self.retention.lock() = retention;
    }

    /// The damage that reads of events in the journal have met.
    pub(crate) fn damage(&self) -> &StoreDamage {
        &self.damage
    }

    /// The limits of the events that the journal keeps.
    pub(crate) fn limits(&self, now: Timestamp) -> EventLimits {
        let EventRetention { age, bytes } = *self.retention.lock();
        EventLimits { not_before: now.minus(age), bytes_max: bytes }
    }

    /// Adds the events of a decision. The caller wakes the readers after the decision has become visible.
    pub(crate) fn append(&self, changes: &Changes) -> Appended {
        if changes.happenings().is_empty() {
            return Appended::default();
        }
        let mut body = Body::new();
        body.push(changes.at(), changes.happenings());
        self.append_encoded(Encoded::of(&body, changes.at()), changes.happenings())
    }

    /// Adds the events of a decision, which are already encoded. The caller wakes the readers after the decision has
    /// become visible.
    pub(crate) fn append_encoded(&self, events: Encoded<'_>, happenings: &[Happening]) -> Appended {
        let mut appended = Appended::default();
        if events.count > 0 {
            appended.summary.add(happenings);
            appended.end = Some(self.ring.lock().append(events, appended.summary.bits()));
        }
        appended
    }

    /// Wakes the readers that wait for one of these events.
    pub(crate) fn wake(&self, appended: &Appended) {
        if let Some(end) = appended.end {
            self.waiters.wake(end, &appended.summary);
        }
    }

    /// Wakes all readers, because the log was replaced.
    fn wake_all(&self) {
        let end = self.ring.lock().end();
        self.waiters.wake_all(end);
    }

    /// Begins a new epoch of the log, without events.
    pub(crate) fn restart(&self, epoch: u64) {
        self.ring.lock().restart(epoch);
        self.wake_all();
    }

    /// Begins the next epoch of the log, without events.
    pub(crate) fn restart_next(&self) {
        self.restart(self.next_epoch());
    }

    /// The epoch that follows the current one. The call does not begin it.
    pub(crate) fn next_epoch(&self) -> u64 {
        next_epoch(self.bounds().epoch)
    }

    /// Drops events that are too old from a log that no journal keeps. Returns the number of dropped events.
    pub(crate) fn prune(&self, now: Timestamp) -> u64 {
        let not_before = self.limits(now).not_before;
        self.ring.lock().drop_older_than(not_before)
    }

    /// Sets the extent of this log to the extent of the journal's log, after the journal has dropped old events.
    pub(crate) fn set_pruned(&self, bounds: &EventBounds) {
        self.ring.lock().set_pruned(bounds);
    }

    /// The extent of the log.
    pub(crate) fn bounds(&self) -> EventBounds {
        self.ring.lock().bounds()
    }

    /// The end of the log, without a lock.
    pub(crate) fn end(&self) -> LogEnd {
        self.waiters.end()
    }

    /// Returns a future that is ready once the filter admits an event after `known`, or the log has another epoch.
    pub(crate) fn changed(self: &Arc<Self>, known: LogEnd, filter: EventFilter) -> Changed {
        Changed::new(Arc::clone(self), known, filter)
    }

    /// Returns the end of the log if the filter certainly admits no event after `known`. Otherwise, or if the log has
    /// another epoch, returns the position of `known`. Reads no event.
    pub(crate) fn quiet_until(&self, known: LogEnd, filter: &EventFilter) -> Position {
        self.ring.lock().quiet_until(known, filter)
    }

    /// Returns the end of the log if the filter may admit an event after `known`, or if the log has another epoch.
    fn end_beyond(&self, known: LogEnd, filter: &EventFilter) -> Option<LogEnd> {
        let ring = self.ring.lock();
        let end = ring.end();
        let is_quiet = end.epoch == known.epoch && ring.quiet_until(known, filter) >= end.last;
        (!is_quiet).then_some(end)
    }

    #[cfg(test)]
    fn waiters_is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Reads a page. No lock is held while events are decoded.
    pub(crate) fn read(&self, query: &EventQuery) -> Result<FromRing, StoreError> {
        let (bounds, span, held, chunks) = {
            let ring = self.ring.lock();
            let bounds = ring.bounds();
            let is_other_epoch = query.epoch.is_some_and(|epoch| epoch != bounds.epoch);
            let Some(span) = Span::of(query, &bounds).ok().filter(|_| !is_other_epoch) else {
                return Ok(FromRing::Read(EventRead::Expired(bounds)));
            };
            let Some(held) = ring.held(span, query.order) else { return Ok(FromRing::Older(bounds, span)) };
            (bounds, span, held, ring.chunks(held, &query.filter))
        };
        let mut page = PageBuilder::new(query, bounds, held);
        let mut add = |chunk: &ring::Chunk| page.add(chunk.positions(), chunk.body());
        let added = match query.order {
            SortDirection::Ascending => try_each(chunks.iter(), &mut add),
            SortDirection::Descending => try_each(chunks.iter().rev(), &mut add),
        };
        added.map_err(|error| StoreError::corrupt(error.to_string()))?;
        if held != span && !page.is_full() {
            return Ok(FromRing::Older(bounds, span));
        }
        Ok(FromRing::Read(EventRead::Page(page.finish())))
    }
}

/// Calls `add` for each item until it returns `Break`.
fn try_each<T, E>(
    items: impl Iterator<Item = T>,
    add: &mut impl FnMut(T) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    for item in items {
        if add(item)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the epoch that follows this one. If each epoch is made from the one before it, every number occurs once
/// before a number is repeated, because the summand is odd.
const fn next_epoch(epoch: u64) -> u64 {
    epoch.wrapping_add(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests;
