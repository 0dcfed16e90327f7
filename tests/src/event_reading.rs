//! Reading the event log: pages, walks, and the events that operations cause.

use petstore_domain::{
    Changes, Event, EventFilter, EventId, Footprint, Happening, Operation, Position, Timestamp, View,
};
use petstore_ports::{
    EventBounds, EventPage, EventQuery, EventRead, SortDirection, StoreError, StoreErrorKind, run,
};

use crate::Subject;

/// A query of all events after a position, in ascending order.
pub(crate) const fn after(position: Position) -> EventQuery {
    EventQuery {
        epoch: None,
        order: SortDirection::Ascending,
        after: Some(position),
        filter: EventFilter::ALL,
        events_max: 100,
        positions_max: 10_000,
    }
}

/// The position after which the next page begins. None at the end of the walk.
fn next_place(query: &EventQuery, page: &EventPage) -> Option<Position> {
    let has_more = match query.order {
        SortDirection::Ascending => page.reached < page.bounds.last,
        SortDirection::Descending => page.reached > page.bounds.pruned.next(),
    };
    has_more.then_some(page.reached)
}

impl Subject {
    /// The bounds of the event log.
    pub(crate) async fn event_bounds(&self) -> EventBounds {
        self.events.bounds().await.expect("a healthy store reads events")
    }

    /// A page of the event log. If the page cannot begin at the position of the query, returns the bounds of the log.
    pub(crate) async fn read_events(&self, query: EventQuery) -> Result<EventPage, EventBounds> {
        match self.events.read(query).await.expect("a healthy store reads events") {
            EventRead::Page(page) => {
                check_page(&query, &page);
                Ok(page)
            }
            EventRead::Expired(bounds) => Err(bounds),
        }
    }

    /// A page of the event log. Panics if the page cannot begin at the position of the query.
    pub(crate) async fn event_page(&self, query: EventQuery) -> EventPage {
        let read = self.read_events(query).await;
        read.unwrap_or_else(|bounds| panic!("{query:?} begins within the log: {bounds:?}"))
    }

    /// All events that the query finds, page by page to the end of the log.
    pub(crate) async fn walk_events(&self, mut query: EventQuery) -> Vec<Event> {
        let mut found = Vec::new();
        loop {
            let page = self.event_page(query).await;
            let next = next_place(&query, &page);
            let is_further = match query.order {
                SortDirection::Ascending => next > query.after,
                SortDirection::Descending => query.after.is_none_or(|after| next < Some(after)),
            };
            found.extend(page.events);
            if next.is_none() {
                return found;
            }
            assert!(is_further, "a page that is not the last gets further: {query:?}, {next:?}");
            query.after = next;
        }
    }

    /// All events.
    pub(crate) async fn all_events(&self) -> Vec<Event> {
        self.walk_events(after(Position::START)).await
    }

    /// Runs an operation, and also returns the events that it caused.
    pub(crate) async fn run_recorded<O: Operation + Clone>(
        &self,
        operation: O,
    ) -> (Result<O::Output, O::Rejection>, Vec<Happening>) {
        match self.run(Recorded(operation)).await {
            Ok((output, happenings)) => (Ok(output), happenings),
            Err(rejection) => (Err(rejection), Vec::new()),
        }
    }

    /// Runs an operation at a time.
    pub(crate) async fn run_at<O: Operation + Clone>(
        &self,
        operation: O,
        at: Timestamp,
    ) -> Result<O::Output, O::Rejection> {
        loop {
            let answer: Result<_, StoreError> = run(&*self.transactor, operation.clone(), at).await;
            match answer {
                Err(error) if error.kind() == StoreErrorKind::Busy => tokio::task::yield_now().await,
                answer => return answer.expect("a healthy store runs every transition"),
            }
        }
    }
}

/// Panics if a page breaks a rule that applies to every page.
fn check_page(query: &EventQuery, page: &EventPage) {
    let EventPage { events, reached, bounds } = page;
    assert!(events.len() <= query.events_max, "a page has at most as many events as it was asked for");
    let start = query.after.unwrap_or(match query.order {
        SortDirection::Ascending => bounds.pruned,
        SortDirection::Descending => bounds.last.next(),
    });
    let mut last = start;
    for event in events {
        let position = event.id.position;
        let is_ahead = match query.order {
            SortDirection::Ascending => position > last,
            SortDirection::Descending => position < last,
        };
        assert!(is_ahead, "a page runs in its order, after its bound {start}: {event:?}");
        assert_eq!(event.id.epoch, bounds.epoch, "an event has the epoch of its log");
        assert!(query.filter.admits(&event.happening), "an event of a page passes its filter: {event:?}");
        last = position;
    }
    let is_behind = match query.order {
        SortDirection::Ascending => *reached >= last && *reached <= bounds.last,
        SortDirection::Descending => *reached <= last,
    };
    assert!(is_behind, "a page has reached its last event at least: {reached} after {last}");
    let looked_at = reached.get().abs_diff(start.get());
    assert!(looked_at <= query.positions_max, "a page reads a bounded number of positions: {looked_at}");
}

/// Panics unless the positions of the events follow each other, from the first one of the log on.
pub(crate) fn check_dense(events: &[Event]) {
    for (number, event) in (1..).zip(events) {
        let position = event.id.position.get();
        assert_eq!(position, number, "positions of events have no gaps: {event:?}");
    }
}

/// The id of a position in the epoch of these bounds.
pub(crate) const fn id_in(bounds: &EventBounds, position: Position) -> EventId {
    bounds.id(position)
}

/// An operation that reports the events that it causes.
#[derive(Clone)]
struct Recorded<O>(O);

impl<O: Operation> Operation for Recorded<O> {
    type Output = (O::Output, Vec<Happening>);
    type Rejection = O::Rejection;

    fn footprint(&self, seen: &View) -> Footprint {
        self.0.footprint(seen)
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), O::Rejection> {
        let (changes, output) = self.0.decide(view)?;
        let happenings = petstore_domain::happenings(view, changes.as_slice());
        Ok((changes, (output, happenings)))
    }
}
