//! The ports that read the event log and wait for it.

use petstore_domain::{EventFilter, Position};
use petstore_ports::{EventBounds, EventFeed, EventQuery, EventRead, EventReader, LogEnd, Reply, StoreError};

use crate::event_log::FromRing;
use crate::store::MemoryStore;

impl EventReader for MemoryStore {
    fn bounds(&self) -> Reply<Result<EventBounds, StoreError>> {
        self.tables.write_epochs.wait_for_writes();
        Reply::now(Ok(self.tables.events.bounds()))
    }

    fn read(&self, query: EventQuery) -> Reply<Result<EventRead, StoreError>> {
        // After this wait, every write that was in progress has finished. So a reader that has seen a changed record
        // also finds the event of the change.
        self.tables.write_epochs.wait_for_writes();
        match self.tables.events.read(&query) {
            Ok(FromRing::Read(read)) => Reply::now(Ok(read)),
            Ok(FromRing::Older(bounds, span)) => match &self.durable {
                Some(durable) => durable.older_events.read(query, bounds, span),
                None => Reply::now(Ok(EventRead::Expired(bounds))),
            },
            Err(error) => Reply::now(Err(error)),
        }
    }
}

impl EventFeed for MemoryStore {
    fn end(&self) -> LogEnd {
        self.tables.events.end()
    }

    fn changed(&self, known: LogEnd, filter: EventFilter) -> Reply<LogEnd> {
        Reply::later(self.tables.events.changed(known, filter))
    }

    fn quiet_until(&self, known: LogEnd, filter: EventFilter) -> Position {
        self.tables.events.quiet_until(known, &filter)
    }
}
