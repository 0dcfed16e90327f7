//! The endpoints of events: the list, which can wait for an event, and one event.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderValue, LINK};
use petstore_domain::{EventId, EventIdError, Position, Scope, Version};
use petstore_ports::api::{EventInterest, EventListing, EventLookup};
use petstore_ports::{EventBounds, EventPage, EventRead, LogEnd, SortDirection};
use tokio::time::{Instant, timeout_at};

use super::{Handled, OperationCall, text_value};
use crate::response::answer::Answer;
use crate::thread::shared::App;
use crate::wire::error::{ApiError, Code, Detail};
use crate::wire::{self, EntityTag, EventListQuery, LAST_EVENT_ID};

/// The estimated number of bytes of an event on a page, chosen rather large.
const EVENT_BYTES: usize = 260;

/// The interval at which a waiting request checks that its key may still read.
pub(super) const KEY_CHECK_TIME: Duration = Duration::from_secs(1);

pub(super) async fn list(call: &OperationCall<'_>) -> Handled {
    let query = wire::list_events(call.query())?;
    let end = call.api().log_end();
    let deadline = Instant::now() + query.wait;
    let mut listing = EventListing {
        account: Some(call.admission.account),
        kinds: query.kinds,
        epoch: Some(query.after.map_or(end.epoch, |id| id.epoch)),
        order: query.order,
        after: query.position(end.epoch)?,
        limit: query.limit,
    };
    // A request without a position begins with the current log, so its epoch is not checked.
    if listing.after.is_none() {
        listing.epoch = None;
    }
    loop {
        let mut page = match call.api().list_events(listing).await? {
            EventRead::Page(page) => page,
            EventRead::Expired(bounds) => return Err(expired(&bounds).into()),
        };
        let may_wait = query.order == SortDirection::Ascending && page.reached >= page.bounds.last;
        if !page.events.is_empty() || !may_wait {
            return Ok(answer(call, &query, &listing, &page));
        }
        let interest = EventInterest { account: call.admission.account, kinds: listing.kinds };
        let known = LogEnd { epoch: page.bounds.epoch, last: page.reached };
        if !wait(call, known, interest, deadline).await {
            // Events that the filter does not admit do not end the wait. So the position is moved beyond such events
            // here.
            page.reached = call.api().log_quiet_until(known, interest);
            page.bounds.last = page.bounds.last.max(page.reached);
            return Ok(answer(call, &query, &listing, &page));
        }
        // The next read begins after the last position that was read.
        listing.after = Some(page.reached);
        listing.epoch = Some(page.bounds.epoch);
    }
}

/// Waits for an event of interest. Returns `false` if the request must be answered now: the time is up, the server
/// stops, the log has begun a new epoch, the hook of the server ends all waits, or the key may no longer read.
async fn wait(call: &OperationCall<'_>, known: LogEnd, interest: EventInterest, deadline: Instant) -> bool {
    let _waiting = call.activity.waiting();
    let begun = Instant::now();
    let has_event = wait_until(call, known, interest, deadline).await;
    call.waited.set(call.waited.get() + begun.elapsed());
    has_event
}

async fn wait_until(
    call: &OperationCall<'_>,
    known: LogEnd,
    interest: EventInterest,
    deadline: Instant,
) -> bool {
    let app = &*call.thread.app;
    loop {
        let now = Instant::now();
        if now >= deadline || app.is_draining() {
            return false;
        }
        let next_check = deadline.min(now + KEY_CHECK_TIME);
        let changed = async {
            tokio::select! {
                end = call.api().log_changed(known, interest) => Some(end),
                () = app.drain_begins() => None,
                () = interrupted(app) => None,
            }
        };
        match timeout_at(next_check, changed).await {
            Ok(Some(end)) => return end.epoch == known.epoch,
            Ok(None) => return false,
            Err(_) => {
                let api = call.api();
                // An error of this check does not end the wait. If the store fails, the next read of a page reports
                // it.
                if api.is_valid(call.admission.key, Scope::Read, api.now()).await == Ok(false) {
                    return false;
                }
            }
        }
    }
}

/// Waits until the hook of the server needs the end of all waits.
async fn interrupted(app: &App) {
    match &app.hook {
        Some(hook) => hook.interrupts_waits().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn get(call: &OperationCall<'_>, id: Result<EventId, EventIdError>) -> Handled {
    let id = id.map_err(invalid_id)?;
    wire::no_parameters(call.query())?;
    let known = call.known()?;
    match call.api().event(call.admission.account, id).await? {
        EventLookup::Expired(bounds) => Err(expired(&bounds).into()),
        EventLookup::Unknown => Err(call.not_found().into()),
        EventLookup::Found(event) => {
            // An event never changes, so its position serves as its version.
            let version = Version::new(id.position.get()).unwrap_or(Version::FIRST);
            let tag = EntityTag::strong(id.epoch, version);
            if known.matches(&tag) {
                return Ok(Answer::empty(StatusCode::NOT_MODIFIED).with_tag(tag));
            }
            Ok(call.resource(StatusCode::OK, &event, tag, wire::push_event))
        }
    }
}

fn answer(
    call: &OperationCall<'_>,
    query: &EventListQuery,
    listing: &EventListing,
    page: &EventPage,
) -> Answer {
    let bounds = &page.bounds;
    let mut body = Vec::with_capacity(2 + page.events.len() * EVENT_BYTES);
    body.push(b'[');
    for (index, event) in page.events.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        wire::push_event(&mut body, event);
    }
    body.push(b']');
    let (has_more, newest) = match query.order {
        SortDirection::Ascending => (page.reached < bounds.last, page.reached),
        SortDirection::Descending => {
            let newest = listing.after.map_or(bounds.last, Position::before);
            (page.reached > bounds.pruned.next(), newest)
        }
    };
    let next = has_more.then_some(page.reached);
    let links = query.links(&call.origin(), call.parts.uri.path(), bounds.epoch, next);
    let last = HeaderValue::from_bytes(&bounds.id(newest).to_ascii());
    let mut answer = Answer::json(StatusCode::OK, body).with_header(LINK, text_value(links));
    if let Ok(last) = last {
        answer = answer.with_header(LAST_EVENT_ID, last);
    }
    if call.settings().gzip { call.thread.gzip.compress(answer, &call.parts.headers) } else { answer }
}

/// Returns the error for a position that is not in the log, or no longer.
pub(super) fn expired(bounds: &EventBounds) -> ApiError {
    let message = format!(
        "The log does not have this id. The oldest place in it is {}. To begin again, use listEvents \
         with sort=-id and limit=1 (GET /events?sort=-id&limit=1), keep its Last-Event-ID, or the id of its event, list the \
         resources, and go on after that id.",
        bounds.id(bounds.pruned)
    );
    ApiError::new(Code::EventExpired, message)
}

fn invalid_id(error: EventIdError) -> ApiError {
    let message = format!("eventId {error}.");
    let detail =
        Detail { field: "eventId".to_owned(), code: "invalid_format", message: message.clone().into() };
    ApiError::with_details(Code::InvalidParameter, message, vec![detail])
}
