//! The event log in memory: the latest events, in the compact form, and the readers that wait for more.
//!
//! A store without a journal keeps all of its events here. One with a journal keeps a cache of the latest: what is older is
//! read from the journal.

mod ring;
mod waiters;

use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use petstore_domain::{Changes, Event, Position, Timestamp};
use petstore_event_codec::{Body, BodyError};
use petstore_ports::{EventBounds, EventPage, EventQuery, EventRead, LogEnd, PageOrder, StoreError};

use ring::{Chunk, Ring};
use waiters::Waiters;

pub(crate) use waiters::Changed;

/// The events of one store, shared by its writers and readers.
pub(crate) struct EventLog {
    ring: Mutex<Ring>,
    waiters: Waiters,
}

/// A page, as far as the ring has it.
pub(crate) enum FromRing {
    /// The answer.
    Read(EventRead),
    /// Events that the query begins with have been dropped from the ring. The journal may have them.
    Older,
}

impl EventLog {
    /// Returns an empty log of this life, which keeps at most so many bytes.
    pub(crate) fn new(epoch: u64, bytes_max: usize) -> Arc<Self> {
        let ring = Ring::new(epoch, Position::START, bytes_max);
        let waiters = Waiters::new(ring.end());
        Arc::new(Self { ring: Mutex::new(ring), waiters })
    }

    /// Adds the events of a decision. The caller wakes the readers afterwards.
    pub(crate) fn append(&self, changes: &Changes) {
        if changes.happenings().is_empty() {
            return;
        }
        let mut body = Body::new();
        body.push(changes.at(), changes.happenings());
        self.append_body(&body, changes.at());
    }

    /// Adds the events of a body, the latest of which has this time.
    pub(crate) fn append_body(&self, body: &Body, latest: Timestamp) {
        if body.events() > 0 {
            self.ring.lock().append(body, latest);
        }
    }

    /// Tells the end of the log to the readers that wait.
    pub(crate) fn wake(&self) {
        let end = self.ring.lock().end();
        self.waiters.wake(end);
    }

    /// Begins a new life of the log, without events.
    pub(crate) fn restart(&self, epoch: u64) {
        self.ring.lock().restart(epoch);
        self.wake();
    }

    /// Begins the life that follows this one, without events. The epochs that follow each other so are all different.
    pub(crate) fn restart_next(&self) {
        let epoch = self.bounds().epoch;
        self.restart(next_epoch(epoch));
    }

    /// Drops events that are older than this. Returns their number.
    pub(crate) fn drop_older_than(&self, time: Timestamp) -> u64 {
        self.ring.lock().drop_older_than(time)
    }

    /// The extent of what the ring holds.
    pub(crate) fn bounds(&self) -> EventBounds {
        self.ring.lock().bounds()
    }

    /// The end of the log, without a lock.
    pub(crate) fn end(&self) -> LogEnd {
        self.waiters.end()
    }

    /// A future that is ready once the end of the log is another one than this.
    pub(crate) fn changed(self: &Arc<Self>, known: LogEnd) -> Changed {
        Changed::new(Arc::clone(self), known)
    }

    #[cfg(test)]
    fn waiters_is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Reads a page. No lock is held while events are decoded.
    pub(crate) fn read(&self, query: &EventQuery) -> Result<FromRing, StoreError> {
        let (bounds, span, chunks) = {
            let ring = self.ring.lock();
            let bounds = ring.bounds();
            if query.epoch.is_some_and(|epoch| epoch != bounds.epoch) {
                return Ok(FromRing::Read(EventRead::Expired(bounds)));
            }
            match Span::of(query, &bounds) {
                Ok(span) => (bounds, span, ring.chunks(span)),
                Err(Outside::Older) => return Ok(FromRing::Older),
                Err(Outside::Beyond) => return Ok(FromRing::Read(EventRead::Expired(bounds))),
            }
        };
        let page = match query.order {
            PageOrder::Ascending => ascending(query, bounds, span, &chunks),
            PageOrder::Descending => descending(query, bounds, span, &chunks),
        };
        let (events, reached) = page.map_err(|error| StoreError::corrupt(error.to_string()))?;
        Ok(FromRing::Read(EventRead::Page(EventPage { events, reached, bounds })))
    }
}

/// The epoch of the log that begins with an import. An odd step visits each number once before one comes again.
const fn next_epoch(epoch: u64) -> u64 {
    epoch.wrapping_add(0x9E37_79B9_7F4A_7C15)
}

/// The positions that a page looks at: those after `after`, up to and including `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) after: Position,
    pub(crate) last: Position,
}

/// The place to begin at is not in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    /// The events that follow it have been dropped.
    Older,
    /// It is behind the last event.
    Beyond,
}

impl Span {
    /// Returns the positions that a query looks at in a log of this extent.
    pub(crate) fn of(query: &EventQuery, bounds: &EventBounds) -> Result<Self, Outside> {
        let (pruned, last) = (bounds.pruned.get(), bounds.last.get());
        let (after, last) = match query.order {
            PageOrder::Ascending => {
                let after = query.after.map_or(pruned, Position::get);
                if after < pruned {
                    return Err(Outside::Older);
                }
                if after > last {
                    return Err(Outside::Beyond);
                }
                (after, last.min(after.saturating_add(query.positions_max)))
            }
            PageOrder::Descending => {
                let before = query.after.map_or(last + 1, Position::get);
                if before > last + 1 {
                    return Err(Outside::Beyond);
                }
                let newest = before.saturating_sub(1);
                if newest < pruned {
                    return Err(Outside::Older);
                }
                (newest.saturating_sub(query.positions_max).max(pruned), newest)
            }
        };
        let position = |number| Position::new(number).unwrap_or(Position::MAX);
        Ok(Self { after: position(after), last: position(last) })
    }
}

/// The events of a page from the oldest on, and the last position that was looked at.
fn ascending(
    query: &EventQuery,
    bounds: EventBounds,
    span: Span,
    chunks: &[Chunk],
) -> Result<(Vec<Event>, Position), BodyError> {
    let mut events = Vec::new();
    for chunk in chunks {
        chunk.visit(&query.filter, &mut |position, at, happening| {
            if position > span.last || events.len() == query.events_max {
                return ControlFlow::Break(());
            }
            if position > span.after {
                events.push(Event { id: bounds.id(position), at, happening });
            }
            ControlFlow::Continue(())
        })?;
        if events.len() == query.events_max {
            break;
        }
    }
    let last = events.last().filter(|_| events.len() == query.events_max);
    let reached = last.map_or(span.last, |event| event.id.position);
    Ok((events, reached))
}

/// The events of a page from the newest on, and the last position that was looked at.
fn descending(
    query: &EventQuery,
    bounds: EventBounds,
    span: Span,
    chunks: &[Chunk],
) -> Result<(Vec<Event>, Position), BodyError> {
    let mut events = Vec::new();
    for chunk in chunks.iter().rev() {
        let mut of_chunk = Vec::new();
        chunk.visit(&query.filter, &mut |position, at, happening| {
            if position > span.last {
                return ControlFlow::Break(());
            }
            if position > span.after {
                of_chunk.push(Event { id: bounds.id(position), at, happening });
            }
            ControlFlow::Continue(())
        })?;
        let room = query.events_max - events.len();
        events.extend(of_chunk.into_iter().rev().take(room));
        if events.len() == query.events_max {
            break;
        }
    }
    let last = events.last().filter(|_| events.len() == query.events_max);
    // The oldest position of the page; where it has none, its bound.
    let oldest = if span.after < span.last {
        span.after.next()
    } else {
        query.after.unwrap_or_else(|| bounds.last.next())
    };
    let reached = last.map_or(oldest, |event| event.id.position);
    Ok((events, reached))
}

#[cfg(test)]
mod tests;
