//! The event log: reading it, and waiting for more of it.

use petstore_domain::{Event, EventFilter, EventId, Position, Timestamp};

use crate::{Reply, SortDirection, StoreError};

/// The extent of an event log at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventBounds {
    /// The epoch of the log: a random number that the store draws with each new log. A reset, an import and a restored
    /// copy begin a new log, and no id of an older log is issued again.
    pub epoch: u64,
    /// The position before the oldest event that is kept: [`Position::START`] until events have been dropped.
    pub pruned: Position,
    /// The position of the last event; [`Position::START`] while there is none.
    pub last: Position,
    /// The time of the oldest event that is kept, if there is one.
    pub oldest_at: Option<Timestamp>,
}

impl EventBounds {
    /// The extent of a new log.
    pub const fn new(epoch: u64) -> Self {
        Self { epoch, pruned: Position::START, last: Position::START, oldest_at: None }
    }

    /// The id of a position in this log.
    pub const fn id(&self, position: Position) -> EventId {
        EventId { epoch: self.epoch, position }
    }

    /// Returns whether a reader can continue after this id without missing an event: the id belongs to this epoch of
    /// the log, no event after it has been dropped, and it is not beyond the last one.
    pub fn can_follow(&self, id: EventId) -> bool {
        id.epoch == self.epoch && (self.pruned..=self.last).contains(&id.position)
    }
}

/// A page of the event log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventQuery {
    /// The epoch of the log that the reader reads; none for the current one.
    pub epoch: Option<u64>,
    /// The direction of the page.
    pub order: SortDirection,
    /// The position to begin at, exclusive. If there is none, an ascending page begins with the oldest event that is
    /// kept, and a descending one with the last event.
    pub after: Option<Position>,
    /// The filter of the events.
    pub filter: EventFilter,
    /// The maximum number of events, at least 1.
    pub events_max: usize,
    /// The maximum number of positions that are read, at least 1. It bounds the cost of a filter that few events pass.
    pub positions_max: u64,
}

/// The events of a page, and how far the log was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// The events that passed, in the order of the query.
    pub events: Vec<Event>,
    /// The last position that was read, whether its event passed or not. If none was read, the position at which the
    /// page begins. The next page continues after it.
    pub reached: Position,
    /// The extent of the log when it was read.
    pub bounds: EventBounds,
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventRead {
    /// The events from the position on, up to the limit of the query.
    Page(EventPage),
    /// The position to begin at is not in the log: it belongs to another epoch, events after it have been dropped, or
    /// it is beyond the last event.
    Expired(EventBounds),
}

/// Reads the event log.
///
/// An implementation must keep these rules, which the suite in `petstore-tests` tests:
/// - An event is in the log if and only if its change is committed, and both are seen together.
/// - Once a change was answered, every page that is read on any handle has its events.
/// - If operation B saw the effect of operation A, or was sent after A was answered, the events of B come after those
///   of A.
/// - Once a reader was given a position as the last one of the log, no event is inserted before it. The events of one
///   decision stand together, in the order of [`happenings`](petstore_domain::happenings).
/// - A page neither skips nor repeats an event; dropped events lead to [`EventRead::Expired`], never to a gap.
/// - The reader holds no lock and no read transaction after it has returned a page.
///
/// A log that drops no event and has no gap between positions:
///
/// ```
/// use petstore_domain::{Event, EventId, Position, Timestamp};
/// use petstore_ports::{EventBounds, EventPage, EventQuery, EventRead, EventReader, SortDirection, Reply, StoreError};
///
/// struct Log {
///     epoch: u64,
///     events: Vec<Event>,
/// }
///
/// impl Log {
///     fn extent(&self) -> EventBounds {
///         EventBounds {
///             epoch: self.epoch,
///             pruned: Position::START,
///             last: self.events.last().map_or(Position::START, |event| event.id.position),
///             oldest_at: self.events.first().map(|event| event.at),
///         }
///     }
/// }
///
/// impl EventReader for Log {
///     fn bounds(&self) -> Reply<Result<EventBounds, StoreError>> {
///         Reply::now(Ok(self.extent()))
///     }
///
///     fn read(&self, query: EventQuery) -> Reply<Result<EventRead, StoreError>> {
///         let bounds = self.extent();
///         let (end, start) = match query.order {
///             SortDirection::Ascending => (bounds.last, Position::START),
///             SortDirection::Descending => (bounds.last.next(), bounds.last.next()),
///         };
///         let after = query.after.unwrap_or(start);
///         if query.epoch.is_some_and(|epoch| epoch != bounds.epoch) || after > end {
///             return Reply::now(Ok(EventRead::Expired(bounds)));
///         }
///         let mut page = EventPage { events: Vec::new(), reached: after, bounds };
///         for _ in 0..query.positions_max {
///             // The event at position 1 has the index 0.
///             let position = match query.order {
///                 SortDirection::Ascending => page.reached.next(),
///                 SortDirection::Descending => page.reached.before(),
///             };
///             let index = usize::try_from(position.get()).ok().and_then(|number| number.checked_sub(1));
///             let event = index.and_then(|index| self.events.get(index));
///             let Some(event) = event.filter(|_| page.events.len() < query.events_max) else { break };
///             page.reached = position;
///             if query.filter.admits(&event.happening) {
///                 page.events.push(event.clone());
///             }
///         }
///         Reply::now(Ok(EventRead::Page(page)))
///     }
/// }
/// # use petstore_domain::{EventFilter, Happening, Order, OrderId, OrderQuantity, PetId};
/// # let order = Order::new(OrderId::FIRST, PetId::FIRST, OrderQuantity::ONE);
/// # let event = |number| {
/// #     let id = EventId { epoch: 7, position: Position::new(number).unwrap() };
/// #     Event { id, at: Timestamp::EPOCH, happening: Happening::OrderPlaced(order.clone()) }
/// # };
/// # let log = Log { epoch: 7, events: vec![event(1), event(2), event(3)] };
/// # let read = |order, after, events_max| {
/// #     let after = Position::new(after).filter(|_| after > 0);
/// #     let query = EventQuery { epoch: None, order, after, filter: EventFilter::ALL, events_max, positions_max: 2 };
/// #     let reply = log.read(query);
/// #     let Some(Ok(EventRead::Page(page))) = reply.ready() else { panic!("{reply:?}") };
/// #     let found: Vec<u64> = page.events.iter().map(|event| event.id.position.get()).collect();
/// #     (found, page.reached.get())
/// # };
/// # assert_eq!(read(SortDirection::Ascending, 0, 9), (vec![1, 2], 2));
/// # assert_eq!(read(SortDirection::Ascending, 2, 9), (vec![3], 3));
/// # assert_eq!(read(SortDirection::Descending, 0, 1), (vec![3], 3));
/// # assert_eq!(read(SortDirection::Descending, 3, 9), (vec![2, 1], 1));
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait EventReader: Send + Sync {
    /// The extent of the log.
    fn bounds(&self) -> Reply<Result<EventBounds, StoreError>>;

    /// Reads the events of one page, or tells that the log does not have its beginning any more.
    fn read(&self, query: EventQuery) -> Reply<Result<EventRead, StoreError>>;
}

/// The end of an event log at one moment. A reader waits until the end differs from the one that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEnd {
    /// The epoch of the log.
    pub epoch: u64,
    /// The position of its last event.
    pub last: Position,
}

/// Wakes readers that wait for more events.
///
/// The feed of a log that never grows:
///
/// ```
/// use petstore_domain::EventFilter;
/// use petstore_ports::{EventFeed, LogEnd, Reply};
///
/// struct FixedLog(LogEnd);
///
/// impl EventFeed for FixedLog {
///     fn end(&self) -> LogEnd {
///         self.0
///     }
///
///     fn changed(&self, known: LogEnd, _filter: EventFilter) -> Reply<LogEnd> {
///         if known == self.0 { Reply::later(std::future::pending()) } else { Reply::now(self.0) }
///     }
/// }
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait EventFeed: Send + Sync {
    /// The end of the log. The call does not wait; on a store of several nodes the end may lag behind a little.
    fn end(&self) -> LogEnd;

    /// Completes with the end of the log once the filter admits an event after `known`, or the log has another epoch.
    /// Dropping the reply ends the wait.
    ///
    /// The reply may complete up to 100 ms late. It may also complete without such an event, because a store that polls
    /// may ignore the filter. A store in this process should wake only the readers that have something to read.
    fn changed(&self, known: LogEnd, filter: EventFilter) -> Reply<LogEnd>;

    /// Returns a position, not before `known`, up to which the store knows that the filter admits no event after
    /// `known`. A reader may continue after this position without reading the events before it. The call does not wait.
    /// A store that does not record the kinds of events always returns the position of `known`. Every store returns it
    /// if the log now has another epoch than `known`.
    fn quiet_until(&self, known: LogEnd, filter: EventFilter) -> Position {
        let _ = filter;
        known.last
    }
}
