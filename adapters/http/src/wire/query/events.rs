//! Queries of the event log.

use std::time::Duration;

use petstore_domain::{EventId, EventKinds, Position};
use petstore_ports::SortDirection;

use super::super::cursor::{List, Walk};
use super::super::faults::FieldFault;
use super::super::links;
use super::parameters::{Parameters, number};
use super::{LIMIT_MAX, limit, order};
use crate::wire::error::ApiError;

/// The longest time that `wait` of a list may ask for, in seconds.
const WAIT_MAX_SECS: u64 = 30;

/// A list of events, as a client asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventListQuery {
    /// The kinds of events that are listed.
    pub(crate) kinds: EventKinds,
    /// The direction of the page.
    pub(crate) order: SortDirection,
    /// The maximum number of events.
    pub(crate) limit: usize,
    /// The event after which the page begins.
    pub(crate) after: Option<EventId>,
    /// The time to wait if there is no event to list.
    pub(crate) wait: Duration,
    cursor: Option<String>,
    /// The parameters except the cursor, for the links to other pages.
    query: String,
}

/// `GET /events`.
pub(crate) fn list_events(query: Option<&str>) -> Result<EventListQuery, ApiError> {
    let mut parameters = Parameters::of(query);
    let limit = parameters.one("limit", limit).unwrap_or(LIMIT_MAX);
    let cursor = parameters.cursor().map(std::borrow::Cow::into_owned);
    let order = parameters.one("sort", order).unwrap_or(SortDirection::Ascending);
    let is_free = cursor.is_none() && order == SortDirection::Ascending;
    let after = parameters.one("after", |text| after(text, is_free));
    let kinds = kinds(&mut parameters);
    let wait = parameters.one("wait", wait).unwrap_or_default();
    let query = parameters.finish()?;
    Ok(EventListQuery { kinds, order, limit, after, wait, cursor, query })
}

impl EventListQuery {
    /// Returns the position after which the page begins, if one is given. It comes from the cursor, which is valid
    /// only for this epoch of the log, or from `after`.
    pub(crate) fn position(&self, epoch: u64) -> Result<Option<Position>, ApiError> {
        match &self.cursor {
            None => Ok(self.after.map(|id| id.position)),
            Some(cursor) => Ok(Position::new(self.walk(epoch).read(cursor)?)),
        }
    }

    /// Returns the `Link` value of the page: to the first page, and to the page that begins after `next`.
    pub(crate) fn links(&self, origin: &str, path: &str, epoch: u64, next: Option<Position>) -> String {
        let first = links::page_links(origin, path, &self.query, None);
        let Some(next) = next else { return first };
        // These parameters are left out, because the cursor replaces `after`, and a page that exists already needs no
        // wait.
        let is_kept = |parameter: &&str| !parameter.starts_with("after=") && !parameter.starts_with("wait=");
        let query: Vec<&str> = self.query.split('&').filter(is_kept).collect();
        let cursor = self.walk(epoch).cursor(next.get());
        links::next_link(first, &query.join("&"), &cursor)
    }

    fn walk(&self, epoch: u64) -> Walk {
        Walk::new(List::Events, self.order, &self.kinds, epoch)
    }
}

fn after(text: &str, is_free: bool) -> Result<EventId, FieldFault> {
    if !is_free {
        return Err(FieldFault::new("not_allowed", "goes neither with a cursor nor with sort=-id"));
    }
    event_id(text)
}

/// Parses the id of an event. An id that no log can have is not in this one either, and is left to the log to refuse.
pub(super) fn event_id(text: &str) -> Result<EventId, FieldFault> {
    EventId::parse_clamped(text).map_err(|error| FieldFault::new("invalid_format", error.to_string()))
}

/// Takes the parameter `type`.
pub(super) fn kinds(parameters: &mut Parameters<'_>) -> EventKinds {
    let named = parameters.many("type", |text| {
        let mut kinds = EventKinds::default();
        let unknown = "must be types of events such as order.placed, or order.* for all of a resource";
        if kinds.add_pattern(text) { Ok(kinds) } else { Err(FieldFault::new("unknown_value", unknown)) }
    });
    named.into_iter().flatten().fold(EventKinds::default(), EventKinds::or)
}

/// Parses the time to wait, in seconds.
pub(crate) fn wait(text: &str) -> Result<Duration, FieldFault> {
    let message = "must be from 0 to 30 seconds";
    let secs = number(text)?.and_then(|secs| u64::try_from(secs).ok()).filter(|secs| *secs <= WAIT_MAX_SECS);
    secs.map(Duration::from_secs).ok_or_else(|| FieldFault::new("out_of_range", message))
}
