//! The ring: chunks of events in the compact form, the oldest of which go first.

use std::collections::VecDeque;
use std::sync::Arc;

use petstore_domain::{EventFilter, Position, Timestamp};
use petstore_event_codec::{Body, BodyError, FORMAT, Visit, read};
use petstore_ports::{EventBounds, LogEnd};

use super::Span;

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
    bytes: Arc<[u8]>,
}

impl Chunk {
    /// Hands over the events that pass.
    pub(crate) fn visit(&self, filter: &EventFilter, visit: Visit<'_>) -> Result<(), BodyError> {
        read(&self.bytes, self.first, filter, visit)
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
    bytes: Vec<u8>,
}

impl Open {
    fn to_chunk(&self) -> Chunk {
        let Self { first, count, oldest, latest, ref bytes } = *self;
        Chunk { first, count, oldest, latest, bytes: bytes.as_slice().into() }
    }
}

pub(crate) struct Ring {
    epoch: u64,
    /// The position before the oldest event that is kept.
    pruned: Position,
    last: Position,
    closed: VecDeque<Chunk>,
    open: Option<Open>,
    /// Of the closed chunks.
    pub(super) bytes: usize,
    bytes_max: usize,
}

impl Ring {
    /// Returns an empty ring whose next event comes after `last`.
    pub(crate) fn new(epoch: u64, last: Position, bytes_max: usize) -> Self {
        Self { epoch, pruned: last, last, closed: VecDeque::new(), open: None, bytes: 0, bytes_max }
    }

    pub(crate) fn restart(&mut self, epoch: u64) {
        *self = Self::new(epoch, Position::START, self.bytes_max);
    }

    pub(crate) fn end(&self) -> LogEnd {
        LogEnd { epoch: self.epoch, last: self.last }
    }

    pub(crate) fn bounds(&self) -> EventBounds {
        let oldest = self.closed.front().map(|chunk| chunk.oldest);
        EventBounds {
            epoch: self.epoch,
            pruned: self.pruned,
            last: self.last,
            oldest_at: oldest.or_else(|| self.open.as_ref().map(|open| open.oldest)),
        }
    }

    pub(crate) fn append(&mut self, body: &Body, latest: Timestamp) {
        let first = self.last.next();
        let open = self.open.get_or_insert_with(|| Open {
            first,
            count: 0,
            oldest: latest,
            latest,
            bytes: vec![FORMAT],
        });
        // The groups of one body follow those of another without a mark between them.
        open.bytes.extend_from_slice(&body.as_bytes()[1..]);
        open.count += body.events();
        open.latest = open.latest.max(latest);
        self.last = behind(first, body.events()).before();
        if open.bytes.len() >= CHUNK_BYTES {
            let chunk = open.to_chunk();
            self.open = None;
            self.bytes += chunk.bytes.len() + CHUNK_OVERHEAD;
            self.closed.push_back(chunk);
            while self.bytes + CHUNK_BYTES > self.bytes_max && self.drop_oldest() {}
        }
    }

    /// Drops whole chunks whose latest event is older. Returns the number of events.
    pub(crate) fn drop_older_than(&mut self, time: Timestamp) -> u64 {
        let before = self.pruned;
        while self.closed.front().is_some_and(|chunk| chunk.latest < time) {
            self.drop_oldest();
        }
        if self.closed.is_empty() && self.open.as_ref().is_some_and(|open| open.latest < time) {
            self.open = None;
            self.pruned = self.last;
        }
        self.pruned.get() - before.get()
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(chunk) = self.closed.pop_front() else { return false };
        self.bytes -= chunk.bytes.len() + CHUNK_OVERHEAD;
        self.pruned = chunk.last();
        true
    }

    /// The chunks with these positions, in order. The open one is copied.
    pub(crate) fn chunks(&self, span: Span) -> Vec<Chunk> {
        if span.after >= span.last {
            return Vec::new();
        }
        let from = self.closed.partition_point(|chunk| chunk.last() <= span.after);
        let to = self.closed.partition_point(|chunk| chunk.first <= span.last);
        let mut chunks: Vec<Chunk> = self.closed.range(from..to.max(from)).cloned().collect();
        let open = self.open.as_ref().filter(|open| open.first <= span.last);
        chunks.extend(open.map(Open::to_chunk));
        chunks
    }
}

/// The position so many events later.
fn behind(first: Position, count: u32) -> Position {
    Position::new(first.get().saturating_add(u64::from(count))).unwrap_or(Position::MAX)
}
