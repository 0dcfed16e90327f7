//! The event stream: the checks of the request, and the headers of the answer.

mod follower;
mod pace;

use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use petstore_domain::EventId;
use petstore_ports::api::EventListing;
use petstore_ports::{EventRead, SortDirection};
use tokio::time::Instant;

use super::events::{KEY_CHECK_TIME, expired};
use super::{Handled, OperationCall};
use crate::exchange::outlet::WrittenSource;
use crate::response::answer::{Answer, Content};
use crate::response::body::{Body, Framing, NoStreamPlace, StreamBody, StreamPermit, StreamPlace};
use crate::wire::error::{ApiError, Code};
use crate::wire::{self, EventStreamQuery};
use follower::Follower;

use pace::Pace;

/// The header that tells nginx to pass each frame to the client immediately.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The maximum part of its lifetime, in thousandths, by which a stream ends early.
const LIFETIME_JITTER: u64 = 100;

/// Opens a stream. A HEAD request gets the headers, but opens no stream.
pub(super) async fn open(call: &OperationCall<'_>) -> Handled {
    let query = wire::stream_events(call.query(), &call.parts.headers)?;
    let begin = begin(call, &query).await?;
    let body = if call.parts.method == Method::HEAD {
        Body::EMPTY
    } else {
        let permit = StreamPermit::OfAccount(take_place(call)?);
        let follower = follower(call, &query, begin);
        let source = Box::new(WrittenSource::new(|outlet| follower.write(outlet)));
        Body::Stream(Box::new(StreamBody { source, framing: Framing::ByHyper, permit }))
    };
    let answer = Answer { content: Content::EventStream, body, ..Answer::empty(StatusCode::OK) };
    Ok(answer.with_header(X_ACCEL_BUFFERING, const { HeaderValue::from_static("no") }))
}

/// Returns the position at which the stream begins: after the event that the client names, or at the current end of the
/// log.
async fn begin(call: &OperationCall<'_>, query: &EventStreamQuery) -> Result<EventId, Answer> {
    let Some(after) = query.after else {
        let bounds = call.api().event_bounds().await?;
        return Ok(bounds.id(bounds.last));
    };
    let listing = EventListing {
        account: Some(call.admission.account),
        kinds: query.kinds,
        epoch: Some(after.epoch),
        order: SortDirection::Ascending,
        after: Some(after.position),
        limit: 1,
    };
    match call.api().list_events(listing).await? {
        EventRead::Page(_) => Ok(after),
        EventRead::Expired(bounds) => Err(expired(&bounds).into()),
    }
}

fn take_place(call: &OperationCall<'_>) -> Result<StreamPlace, Answer> {
    let bounds = &call.settings().bounds;
    let places = &call.thread.app.streams;
    let taken = places.take(call.admission.account, bounds.streams_per_account, bounds.streams);
    taken.map_err(|lack| match lack {
        NoStreamPlace::OfAccount => {
            let message =
                "The account has too many open streams; retry in 1 second, when one of them has ended.";
            Answer::retry_in(&ApiError::new(Code::TooManyConcurrentRequests, message), 1)
        }
        NoStreamPlace::OfServer => {
            call.thread.app.count_overload();
            Answer::overloaded()
        }
    })
}

fn follower(call: &OperationCall<'_>, query: &EventStreamQuery, begin: EventId) -> Follower {
    let now = Instant::now();
    let lifetime = call.settings().deadlines.stream_lifetime;
    let jitter = u32::try_from(call.thread.next_number() % (LIFETIME_JITTER + 1)).unwrap_or(0);
    Follower {
        app: Arc::clone(&call.thread.app),
        account: call.admission.account,
        key: call.admission.key,
        kinds: query.kinds,
        read: begin,
        told: begin.position,
        left: query.limit,
        wait_end: query.wait.map(|wait| now + wait),
        lifetime_end: now + lifetime - lifetime / 1_000 * jitter,
        key_check: now + KEY_CHECK_TIME,
        sent: now,
        pace: Pace::new(now),
    }
}
