//! The ring: chunks of events in the compact form, the oldest of which go first.

use std::collections::VecDeque;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

use petstore_domain::{EventFilter, EventKind, Position, Timestamp};
use petstore_event_codec::{FORMAT, read};
use petstore_ports::{EventBounds, LogEnd, PageOrder};

use super::{Encoded, Span};

/// Bytes after which a chunk is closed. A page decodes the chunk in which it begins from its first event on.
const CHUNK_BYTES: usize = 4 * 1024;

/// Bytes that a chunk costs beside its events.
const CHUNK_OVERHEAD: usize = 96;

/// Some consecutive events.
#[derive(Clone)]
pub(crate) struct Chunk {
    first: Position,
    count: u32,
    oldest: Timestamp,
    latest: Timestamp,
    /// The bits of the kinds of its events.
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

/// The chunk that events are added to.
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
    /// For each kind, a position after which the log has no event of it.
    last_of_kind: [Position; EventKind::ALL.len()],
    /// The position before the oldest event in the ring.
    held_after: Position,
    closed: VecDeque<Chunk>,
    open: Option<Open>,
    /// Of the closed chunks.
    pub(super) bytes: usize,
    bytes_max: usize,
    /// A journal keeps the events, and the ring the latest of them.
    journaled: Option<Journaled>,
}

/// The part of the extent that only the journal knows.
#[derive(Clone, Copy)]
struct Journaled {
    oldest_at: Option<Timestamp>,
}

impl Ring {
    /// Returns an empty ring of a new log, whose events are nowhere else.
    pub(crate) fn new(epoch: u64, bytes_max: usize) -> Self {
        Self::of(EventBounds::new(epoch), bytes_max, None)
    }

    /// Returns an empty ring before a log of this extent, which a journal keeps.
    pub(crate) fn journaled(bounds: EventBounds, bytes_max: usize) -> Self {
        Self::of(bounds, bytes_max, Some(Journaled { oldest_at: bounds.oldest_at }))
    }

    fn of(bounds: EventBounds, bytes_max: usize, journaled: Option<Journaled>) -> Self {
        let EventBounds { epoch, pruned, last, .. } = bounds;
        Self {
            epoch,
            pruned,
            last,
            // The kinds of earlier events are unknown.
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

    /// Takes over the extent of the log of a journal that has dropped old events.
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

    /// Adds events. They begin after the last one. `kinds`: the bits of their kinds. Returns the end of the log.
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
        // The groups of one body follow those of another without a mark between them.
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

    /// The position up to which no event after `known` passes the filter, as far as the ring knows that by the kinds.
    pub(crate) fn quiet_until(&self, known: LogEnd, filter: &EventFilter) -> Position {
        let bits = filter.kinds.bits();
        let mut of_kinds = self.last_of_kind.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
        let is_quiet = known.epoch == self.epoch && of_kinds.all(|(_, last)| *last <= known.last);
        if is_quiet { self.last } else { known.last }
    }

    /// Drops events that are older, from the oldest on. Returns their number. For a log that no journal keeps.
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

    /// Moves the begin of the log over the older events of the oldest chunk. Their memory is freed with the chunk.
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
        // The ring wrote the bytes itself. What could not be read would stay.
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

    /// The part of a page that the ring holds; none if the ring lacks the events that the page begins with. The part is enough
    /// if it fills the page.
    pub(crate) fn held(&self, span: Span, order: PageOrder) -> Option<Span> {
        if span.after >= self.held_after {
            return Some(span);
        }
        let is_begin_held = order == PageOrder::Descending && span.last > self.held_after;
        is_begin_held.then_some(Span { after: self.held_after, ..span })
    }

    /// The chunks with these positions that have events of the filter's kinds, in order. The open one is copied.
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

/// The position so many events later.
fn behind(first: Position, count: u32) -> Position {
    Position::new(first.get().saturating_add(u64::from(count))).unwrap_or(Position::MAX)
}
