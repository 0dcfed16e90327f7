//! The ring: chunks of events in the compact form. The oldest chunks are dropped first.

use std::collections::VecDeque;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

use petstore_domain::{EventFilter, EventKind, Position, Timestamp};
use petstore_event_codec::{FORMAT, read};
use petstore_ports::{EventBounds, LogEnd, SortDirection};

use super::{Encoded, Span};

/// Number of bytes from which a chunk is closed. The number is small, because a page that begins within a chunk must
/// decode the chunk from its first event.
const CHUNK_BYTES: usize = 4 * 1024;

/// Number of bytes that a chunk needs besides its events.
const CHUNK_OVERHEAD: usize = 96;

/// Some consecutive events.
#[derive(Clone)]
pub(crate) struct Chunk {
    first: Position,
    count: u32,
    oldest: Timestamp,
    latest: Timestamp,
    /// The bits of the kinds of the chunk's events.
    kinds: u32,
    bytes: Arc<[u8]>,
}

impl Chunk {
    pub(crate) fn positions(&self) -> RangeInclusive<Position> {
        self.first..=self.last()
    }

    /// The events as a body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes
    }

    fn last(&self) -> Position {
        behind(self.first, self.count).before()
    }
}

/// The chunk to which events are added.
struct Open {
    first: Position,
    count: u32,
    oldest: Timestamp,
    latest: Timestamp,
    kinds: u32,
    bytes: Vec<u8>,
}

impl Open {
    fn to_chunk(&self) -> Chunk {
        let Self { first, count, oldest, latest, kinds, ref bytes } = *self;
        Chunk { first, count, oldest, latest, kinds, bytes: bytes.as_slice().into() }
    }
}

pub(crate) struct Ring {
    epoch: u64,
    /// The position before the oldest event of the log.
    pruned: Position,
    last: Position,
    /// For each kind of event, a position after which the log has no event of that kind.
    last_of_kind: [Position; EventKind::ALL.len()],
    /// The position before the oldest event in the ring.
    held_after: Position,
    closed: VecDeque<Chunk>,
    open: Option<Open>,
    /// The number of bytes of the closed chunks.
    pub(super) bytes: usize,
    bytes_max: usize,
    /// Present if a journal keeps all events. The ring then keeps only the latest of them.
    journaled: Option<Journaled>,
}

/// The part of the extent that only the journal knows.
#[derive(Clone, Copy)]
struct Journaled {
    oldest_at: Option<Timestamp>,
}

impl Ring {
    /// Returns an empty ring for a new log, whose events are kept only in the ring.
    pub(crate) fn new(epoch: u64, bytes_max: usize) -> Self {
        Self::of(EventBounds::new(epoch), bytes_max, None)
    }

    /// Returns an empty ring for the log of a journal, which has this extent.
    pub(crate) fn journaled(bounds: EventBounds, bytes_max: usize) -> Self {
        Self::of(bounds, bytes_max, Some(Journaled { oldest_at: bounds.oldest_at }))
    }

    fn of(bounds: EventBounds, bytes_max: usize, journaled: Option<Journaled>) -> Self {
        let EventBounds { epoch, pruned, last, .. } = bounds;
        Self {
            epoch,
            pruned,
            last,
            // The kinds of the events in the journal are unknown, so each kind may occur up to `last`.
            last_of_kind: [last; _],
            held_after: last,
            closed: VecDeque::new(),
            open: None,
            bytes: 0,
            bytes_max,
            journaled,
        }
    }

    pub(crate) fn restart(&mut self, epoch: u64) {
        let journaled = self.journaled.map(|_| Journaled { oldest_at: None });
        *self = Self::of(EventBounds::new(epoch), self.bytes_max, journaled);
    }

    pub(crate) const fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    pub(crate) const fn is_journaled(&self) -> bool {
        self.journaled.is_some()
    }

    /// Sets the extent of the log to the extent of the journal's log, after the journal has dropped old events.
    pub(crate) fn set_pruned(&mut self, bounds: &EventBounds) {
        self.pruned = bounds.pruned;
        self.journaled = Some(Journaled { oldest_at: bounds.oldest_at });
    }

    pub(crate) fn end(&self) -> LogEnd {
        LogEnd { epoch: self.epoch, last: self.last }
    }

    pub(crate) fn bounds(&self) -> EventBounds {
        let oldest_here = || {
            let oldest = self.closed.front().map(|chunk| chunk.oldest);
            oldest.or_else(|| self.open.as_ref().map(|open| open.oldest))
        };
        let oldest_at = self.journaled.map_or_else(oldest_here, |journaled| journaled.oldest_at);
        EventBounds { epoch: self.epoch, pruned: self.pruned, last: self.last, oldest_at }
    }

    /// Adds events after the last event of the log. `kinds` has the bits of their kinds. Returns the new end of the
    /// log.
    pub(crate) fn append(&mut self, events: Encoded<'_>, kinds: u32) -> LogEnd {
        let first = self.last.next();
        let Encoded { groups, count, latest } = events;
        let open = self.open.get_or_insert_with(|| Open {
            first,
            count: 0,
            oldest: latest,
            latest,
            kinds: 0,
            bytes: vec![FORMAT],
        });
        // The groups of several bodies can be joined, because nothing separates the groups of one body.
        open.bytes.extend_from_slice(groups);
        open.count += count;
        open.latest = open.latest.max(latest);
        open.kinds |= kinds;
        self.last = behind(first, count).before();
        for (index, last) in self.last_of_kind.iter_mut().enumerate() {
            if kinds >> index & 1 == 1 {
                *last = self.last;
            }
        }
        if let Some(journaled) = &mut self.journaled {
            journaled.oldest_at.get_or_insert(latest);
        }
        if open.bytes.len() >= CHUNK_BYTES {
            let chunk = open.to_chunk();
            self.open = None;
            self.bytes += chunk.bytes.len() + CHUNK_OVERHEAD;
            self.closed.push_back(chunk);
            while self.bytes + CHUNK_BYTES > self.bytes_max && self.drop_oldest() {}
        }
        self.end()
    }

    /// Returns the last position if the log has no event after `known` of the filter's kinds. Otherwise, or if the log
    /// has another epoch, returns the position of `known`.
    pub(crate) fn quiet_until(&self, known: LogEnd, filter: &EventFilter) -> Position {
        let bits = filter.kinds.bits();
        let mut of_kinds = self.last_of_kind.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
        let is_quiet = known.epoch == self.epoch && of_kinds.all(|(_, last)| *last <= known.last);
        if is_quiet { self.last } else { known.last }
    }

    /// Drops the events before `time`, oldest first. Returns the number of these events. Call it only for a log that no
    /// journal keeps.
    pub(crate) fn drop_older_than(&mut self, time: Timestamp) -> u64 {
        let before = self.pruned;
        while self.closed.front().is_some_and(|chunk| chunk.latest < time) {
            self.drop_oldest();
        }
        if self.closed.is_empty() && self.open.as_ref().is_some_and(|open| open.latest < time) {
            self.open = None;
            (self.held_after, self.pruned) = (self.last, self.last);
        }
        self.prune_oldest_chunk(time);
        self.pruned.get() - before.get()
    }

    /// Removes the events before `time` from the extent of the log if they are in the oldest chunk. Their memory is
    /// freed when the whole chunk is dropped.
    fn prune_oldest_chunk(&mut self, time: Timestamp) {
        let oldest = match self.closed.front_mut() {
            Some(chunk) => Some((chunk.positions(), &*chunk.bytes, &mut chunk.oldest)),
            None => self.open.as_mut().map(|open| {
                let last = behind(open.first, open.count).before();
                (open.first..=last, open.bytes.as_slice(), &mut open.oldest)
            }),
        };
        let Some((positions, bytes, oldest)) = oldest.filter(|(_, _, oldest)| **oldest < time) else {
            return;
        };
        // An error is not expected, because the ring has written the bytes itself. It is ignored, because events that
        // cannot be read are only kept longer.
        let _ = read(bytes, positions, &EventFilter::ALL, &mut |position, at, _| {
            if at >= time {
                *oldest = at;
                return ControlFlow::Break(());
            }
            self.pruned = self.pruned.max(position);
            ControlFlow::Continue(())
        });
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(chunk) = self.closed.pop_front() else { return false };
        self.bytes -= chunk.bytes.len() + CHUNK_OVERHEAD;
        self.held_after = chunk.last();
        if !self.is_journaled() {
            self.pruned = self.pruned.max(self.held_after);
        }
        true
    }

    /// Returns the positions of a page that the ring holds; none if the ring does not hold the position at which the
    /// page begins. If the events at these positions fill the page, no older events are needed.
    pub(crate) fn held(&self, span: Span, order: SortDirection) -> Option<Span> {
        if span.after >= self.held_after {
            return Some(span);
        }
        let is_begin_held = order == SortDirection::Descending && span.last > self.held_after;
        is_begin_held.then_some(Span { after: self.held_after, ..span })
    }

    /// Returns the chunks with these positions that have events of the filter's kinds, in order. The open chunk is
    /// copied.
    pub(crate) fn chunks(&self, span: Span, filter: &EventFilter) -> Vec<Chunk> {
        if span.after >= span.last {
            return Vec::new();
        }
        let from = self.closed.partition_point(|chunk| chunk.last() <= span.after);
        let to = self.closed.partition_point(|chunk| chunk.first <= span.last);
        let kinds = filter.kinds.bits();
        let closed = self.closed.range(from..to.max(from)).filter(|chunk| chunk.kinds & kinds != 0);
        let mut chunks: Vec<Chunk> = closed.cloned().collect();
        let open = self.open.as_ref().filter(|open| open.first <= span.last && open.kinds & kinds != 0);
        chunks.extend(open.map(Open::to_chunk));
        chunks
    }
}

/// Returns the position that is `count` events after `first`.
fn behind(first: Position, count: u32) -> Position {
    Position::new(first.get().saturating_add(u64::from(count))).unwrap_or(Position::MAX)
}
