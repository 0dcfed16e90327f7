//! The events of the shop.

use petstore_domain::{AccountId, Event, EventFilter, EventId, EventKinds, Position};

use crate::{EventBounds, EventRead, LogEnd, Reply, SortDirection, StoreError};

/// A page of events as a client asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventListing {
    /// The account of the reader. Private events of other accounts are left out; with none, no event is left out, which is
    /// for the tester of a sandbox.
    pub account: Option<AccountId>,
    /// The kinds that pass.
    pub kinds: EventKinds,
    /// The epoch of the log that the client reads; none for the current one.
    pub epoch: Option<u64>,
    /// The direction of the page.
    pub order: SortDirection,
    /// The position to begin at, exclusive. If there is none, an ascending page begins with the oldest event, and a
    /// descending one with the last event.
    pub after: Option<Position>,
    /// The maximum number of events, at least 1.
    pub limit: usize,
}

/// The events for which a client waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventInterest {
    /// The account of the reader. Private events of other accounts are left out.
    pub account: AccountId,
    /// The kinds that pass.
    pub kinds: EventKinds,
}

impl From<EventInterest> for EventFilter {
    fn from(interest: EventInterest) -> Self {
        Self { kinds: interest.kinds, account: Some(interest.account) }
    }
}

/// The result of looking up one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventLookup {
    /// The event, as it was when it happened.
    Found(Event),
    /// The log has no event with this id: it belongs to another epoch, its event has been dropped or not written yet, or it is
    /// that of a place without an event.
    Expired(EventBounds),
    /// The event is private to another account.
    Unknown,
}

/// Reads the event log for clients.
pub trait Events: Send + Sync {
    /// The extent of the log.
    fn event_bounds(&self) -> Reply<Result<EventBounds, StoreError>>;

    /// A page of events. It reads a bounded number of positions, so it may have fewer events than its limit although
    /// more follow: [`reached`](crate::EventPage::reached) is the last position that was read.
    fn list_events(&self, listing: EventListing) -> Reply<Result<EventRead, StoreError>>;

    /// Looks up one event.
    fn event(&self, account: AccountId, id: EventId) -> Reply<Result<EventLookup, StoreError>>;

    /// The end of the log. The call does not wait.
    fn log_end(&self) -> LogEnd;

    /// Completes once an event of interest follows `known`, or the log has another epoch. See
    /// [`EventFeed::changed`](crate::EventFeed::changed).
    fn log_changed(&self, known: LogEnd, interest: EventInterest) -> Reply<LogEnd>;

    /// Returns a position up to which no event of interest follows `known`. See
    /// [`EventFeed::quiet_until`](crate::EventFeed::quiet_until).
    fn log_quiet_until(&self, known: LogEnd, interest: EventInterest) -> Position;
}
