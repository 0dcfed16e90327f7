//! The events of the shop.

use petstore_domain::{AccountId, Event, EventId, EventKinds, Position};

use crate::{EventBounds, EventRead, LogEnd, PageOrder, Reply, StoreError};

/// A page of events as a client asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventListing {
    /// The account that reads: private events of other accounts do not pass.
    pub account: AccountId,
    /// The kinds that pass.
    pub kinds: EventKinds,
    /// The life of the log that the client is in; none for the present one.
    pub epoch: Option<u64>,
    /// The direction of the page.
    pub order: PageOrder,
    /// The position to begin at, exclusive; none for the oldest event, or descending for the last one.
    pub after: Option<Position>,
    /// The largest number of events, from 1.
    pub limit: usize,
}

/// One event, as far as the log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventLookup {
    /// The event.
    Found(Event),
    /// The id is of another life of the log, has been dropped or has not been given yet.
    Expired(EventBounds),
    /// No event that the account may see has this id.
    Unknown,
}

/// Reads the event log for clients.
pub trait Events: Send + Sync {
    /// The extent of the log.
    fn event_bounds(&self) -> Reply<Result<EventBounds, StoreError>>;

    /// A page of events. It looks at a bounded number of positions, so that it may have fewer events than its limit while
    /// there are more: [`reached`](crate::EventPage::reached) tells how far it got.
    fn list_events(&self, listing: EventListing) -> Reply<Result<EventRead, StoreError>>;

    /// One event.
    fn event(&self, account: AccountId, id: EventId) -> Reply<Result<EventLookup, StoreError>>;

    /// The end of the log, at no cost.
    fn log_end(&self) -> LogEnd;

    /// Answers once the end of the log is another one than this. See [`EventFeed::changed`](crate::EventFeed::changed).
    fn log_changed(&self, known: LogEnd) -> Reply<LogEnd>;
}
