//! Events: what an account may see of the log.

use petstore_domain::{AccountId, EventFilter, EventId, EventKinds, Position};
use petstore_ports::api::{EventInterest, EventListing, EventLookup, Events};
use petstore_ports::{EventBounds, EventQuery, EventRead, LogEnd, Reply, SortDirection, StoreError};

use crate::service::Service;

/// Maximum number of log positions that one page reads. It bounds the cost of a filter that few events pass.
const POSITIONS_MAX: u64 = 10_000;

impl Events for Service {
    fn event_bounds(&self) -> Reply<Result<EventBounds, StoreError>> {
        self.deadlines.reply(self.events.bounds())
    }

    fn list_events(&self, listing: EventListing) -> Reply<Result<EventRead, StoreError>> {
        let query = EventQuery {
            epoch: listing.epoch,
            order: listing.order,
            after: listing.after,
            filter: EventFilter { kinds: listing.kinds, account: listing.account },
            events_max: listing.limit,
            positions_max: POSITIONS_MAX,
        };
        self.deadlines.reply(self.events.read(query))
    }

    fn event(&self, account: AccountId, id: EventId) -> Reply<Result<EventLookup, StoreError>> {
        let query = EventQuery {
            epoch: Some(id.epoch),
            order: SortDirection::Ascending,
            after: Some(id.position.before()),
            // All events, so that an event of another account is told from a position without one.
            filter: EventFilter::ALL,
            events_max: 1,
            positions_max: 1,
        };
        let reader = EventFilter { kinds: EventKinds::ANY, account: Some(account) };
        self.deadlines.reply(self.events.read(query)).map(move |read| Ok(lookup(read?, id, &reader)))
    }

    fn log_end(&self) -> LogEnd {
        self.feed.end()
    }

    fn log_changed(&self, known: LogEnd, interest: EventInterest) -> Reply<LogEnd> {
        self.feed.changed(known, interest.into())
    }

    fn log_quiet_until(&self, known: LogEnd, interest: EventInterest) -> Position {
        self.feed.quiet_until(known, interest.into())
    }
}

fn lookup(read: EventRead, id: EventId, reader: &EventFilter) -> EventLookup {
    match read {
        EventRead::Expired(bounds) => EventLookup::Expired(bounds),
        EventRead::Page(page) => match page.events.into_iter().find(|event| event.id == id) {
            Some(event) if reader.admits(&event.happening) => EventLookup::Found(event),
            Some(_) => EventLookup::Unknown,
            None => EventLookup::Expired(page.bounds),
        },
    }
}
