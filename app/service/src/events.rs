//! Events: what an account may see of the log.

use petstore_domain::{AccountId, EventFilter, EventId, EventKinds, Position};
use petstore_ports::api::{EventInterest, EventListing, EventLookup, Events};
use petstore_ports::{EventBounds, EventQuery, EventRead, LogEnd, PageOrder, Reply, StoreError};

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
            order: PageOrder::Ascending,
            after: Some(id.position.before()),
            filter: EventFilter { kinds: EventKinds::ANY, account: Some(account) },
            events_max: 1,
            positions_max: 1,
        };
        self.deadlines.reply(self.events.read(query)).map(move |read| Ok(lookup(read?, id)))
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

fn lookup(read: EventRead, id: EventId) -> EventLookup {
    match read {
        EventRead::Expired(bounds) => EventLookup::Expired(bounds),
        EventRead::Page(page) if id.position > page.bounds.last => EventLookup::Expired(page.bounds),
        EventRead::Page(page) => {
            let found = page.events.into_iter().find(|event| event.id == id);
            found.map_or(EventLookup::Unknown, EventLookup::Found)
        }
    }
}
