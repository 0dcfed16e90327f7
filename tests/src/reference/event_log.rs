//! The event log: a list of all events, and a channel that holds its end.

use std::sync::{Arc, PoisonError};

use petstore_domain::{Changes, Event, EventFilter, EventId, Happening, Position, Timestamp};
use petstore_ports::{
    EventBounds, EventFeed, EventPage, EventQuery, EventRead, EventReader, LogEnd, Reply, SortDirection,
    StoreError,
};
use tokio::sync::watch;

use super::{Bug, ReferenceStore, StoreState};

/// All events of one epoch, by their positions. No event is dropped.
#[derive(Debug)]
pub(super) struct EventLog {
    epoch: u64,
    pub(super) last: Position,
    events: Vec<Event>,
    end: watch::Sender<LogEnd>,
}

impl Default for EventLog {
    fn default() -> Self {
        let (epoch, last) = (0, Position::START);
        Self { epoch, last, events: Vec::new(), end: watch::Sender::new(LogEnd { epoch, last }) }
    }
}

impl EventLog {
    /// Adds the events of a decision.
    pub(super) fn append(&mut self, changes: &Changes) {
        for happening in changes.happenings() {
            self.insert(self.last.next(), changes.at(), happening.clone());
        }
    }

    /// Adds an event at a position.
    pub(super) fn insert(&mut self, position: Position, at: Timestamp, happening: Happening) {
        let id = EventId { epoch: self.epoch, position };
        let place = self.events.partition_point(|event| event.id < id);
        self.events.insert(place, Event { id, at, happening });
        self.extend_to(position);
    }

    /// Moves the end of the log forward to this position, but never back, and wakes the readers.
    pub(super) fn extend_to(&mut self, position: Position) {
        self.last = self.last.max(position);
        self.end.send_replace(LogEnd { epoch: self.epoch, last: self.last });
    }

    /// Begins a new epoch, without events.
    pub(super) fn restart(&mut self, epoch: u64) {
        (self.epoch, self.last) = (epoch, Position::START);
        self.events.clear();
        self.extend_to(Position::START);
    }

    /// Begins a new epoch as [`restart`](Self::restart) does, but with a new channel that waiting readers do not use.
    /// This is the bug [`Bug::FeedSleepsThroughResets`].
    pub(super) fn restart_on_a_new_channel(&mut self, epoch: u64) {
        self.end = watch::Sender::new(LogEnd { epoch, last: Position::START });
        self.restart(epoch);
    }

    pub(super) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The position directly before the next event that passes the filter, counted from `known`. If no event passes, it
    /// is the end of the log. If `known` is of another epoch, it is the position of `known`.
    fn quiet_until(&self, known: LogEnd, filter: &EventFilter) -> Position {
        if known.epoch != self.epoch {
            return known.last;
        }
        let mut later = self.events.iter().filter(|event| event.id.position > known.last);
        let passing = later.find(|event| filter.admits(&event.happening));
        passing.map_or(self.last, |event| event.id.position.before())
    }

    fn bounds(&self) -> EventBounds {
        let oldest_at = self.events.first().map(|event| event.at);
        EventBounds { epoch: self.epoch, pruned: Position::START, last: self.last, oldest_at }
    }

    fn read(&self, query: &EventQuery) -> EventRead {
        let bounds = self.bounds();
        let start = match query.order {
            SortDirection::Ascending => query.after.unwrap_or(Position::START),
            SortDirection::Descending => query.after.unwrap_or(bounds.last.next()),
        };
        let is_beyond = match query.order {
            SortDirection::Ascending => start > bounds.last,
            SortDirection::Descending => start > bounds.last.next(),
        };
        if is_beyond || query.epoch.is_some_and(|epoch| epoch != bounds.epoch) {
            return EventRead::Expired(bounds);
        }
        let mut ahead: Vec<&Event> = match query.order {
            SortDirection::Ascending => {
                self.events.iter().filter(|event| event.id.position > start).collect()
            }
            SortDirection::Descending => {
                self.events.iter().rev().filter(|event| event.id.position < start).collect()
            }
        };
        ahead.truncate(usize::try_from(query.positions_max).unwrap_or(usize::MAX));
        let (mut events, mut reached) = (Vec::new(), start);
        for event in ahead {
            if events.len() == query.events_max {
                break;
            }
            reached = event.id.position;
            if query.filter.admits(&event.happening) {
                events.push(event.clone());
            }
        }
        EventRead::Page(EventPage { events, reached, bounds })
    }
}

impl StoreState {
    /// Begins a new log with an epoch that no earlier log had.
    pub(super) fn begin_next_epoch(&mut self) {
        let next = self.log.epoch().wrapping_add(1);
        self.log.restart(next);
    }
}

impl EventReader for ReferenceStore {
    fn bounds(&self) -> Reply<Result<EventBounds, StoreError>> {
        Reply::now(Ok(self.lock().log.bounds()))
    }

    fn read(&self, query: EventQuery) -> Reply<Result<EventRead, StoreError>> {
        let query = self.bug.map_or(query, |bug| bug.distort_query(query));
        let read = self.lock().log.read(&query);
        Reply::now(Ok(self.bug.map_or(read.clone(), |bug| bug.distort_page(&query, read))))
    }
}

impl EventFeed for ReferenceStore {
    fn end(&self) -> LogEnd {
        *self.lock().log.end.borrow()
    }

    fn changed(&self, known: LogEnd, filter: EventFilter) -> Reply<LogEnd> {
        let filter = self.bug.map_or(filter, |bug| bug.distort_wait(filter));
        let never_wakes = self.has(Bug::FeedNeverWakes);
        let mut end = self.lock().log.end.subscribe();
        let state = Arc::clone(&self.state);
        Reply::later(async move {
            loop {
                let quiet =
                    state.lock().unwrap_or_else(PoisonError::into_inner).log.quiet_until(known, &filter);
                let found = *end.borrow_and_update();
                let is_over = found.epoch != known.epoch || quiet < found.last;
                if is_over && !never_wakes {
                    return found;
                }
                if end.changed().await.is_err() {
                    // The channel is closed because the store was dropped, so no further event can come.
                    return std::future::pending().await;
                }
            }
        })
    }

    fn quiet_until(&self, known: LogEnd, filter: EventFilter) -> Position {
        let state = self.lock();
        if self.has(Bug::FeedSkipsToTheEnd) { state.log.last } else { state.log.quiet_until(known, &filter) }
    }
}
