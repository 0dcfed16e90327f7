//! The query and the headers of the event stream.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::HeaderName;
use petstore_domain::{EventId, EventKinds};

use super::super::faults::FieldFault;
use super::events::{event_id, kinds};
use super::parameters::{Parameters, number};
use crate::wire::error::{ApiError, Code};

/// The header in which a request for a stream names the event after which the stream begins. In the answer to a list,
/// the same header tells how far the log was read.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The largest number of events that a client may ask for.
const EVENTS_MAX: usize = 10_000;

/// The longest time that a client may ask for, in seconds.
const WAIT_MAX_SECS: usize = 3_600;

/// A stream of events, as a client asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventStreamQuery {
    /// The kinds of events that are sent.
    pub(crate) kinds: EventKinds,
    /// The event after which the stream begins; none if the stream begins at the current end of the log.
    pub(crate) after: Option<EventId>,
    /// The number of events after which the stream ends.
    pub(crate) limit: Option<usize>,
    /// The time after which the stream ends.
    pub(crate) wait: Option<Duration>,
}

/// `GET /events/stream`. `Last-Event-ID` takes precedence over `after`, because a client that reconnects automatically
/// sends the query of its first connection again.
pub(crate) fn stream_events(query: Option<&str>, headers: &HeaderMap) -> Result<EventStreamQuery, ApiError> {
    let mut parameters = Parameters::of(query);
    let after = parameters.one("after", event_id);
    let kinds = kinds(&mut parameters);
    let limit = parameters.one("limit", |text| bounded(text, EVENTS_MAX, "must be between 1 and 10000"));
    let wait = parameters.one("wait", |text| bounded(text, WAIT_MAX_SECS, "must be from 1 to 3600 seconds"));
    parameters.finish()?;
    let wait = wait.map(|secs| Duration::from_secs(secs as u64));
    Ok(EventStreamQuery { kinds, after: last_event_id(headers)?.or(after), limit, wait })
}

fn bounded(text: &str, max: usize, rule: &'static str) -> Result<usize, FieldFault> {
    let number = number(text)?.filter(|number| (1..=max).contains(number));
    number.ok_or_else(|| FieldFault::new("out_of_range", rule))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<EventId>, ApiError> {
    let invalid = |message: String| ApiError::new(Code::InvalidHeader, message);
    let mut values = headers.get_all(LAST_EVENT_ID).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        // A client that has no id yet may send an empty one.
        (Some(value), None) if value.is_empty() => Ok(None),
        (Some(value), None) => {
            let id = EventId::parse_clamped(value.to_str().unwrap_or_default());
            id.map(Some).map_err(|error| invalid(format!("Last-Event-ID {error}.")))
        }
        (Some(_), Some(_)) => Err(invalid("The request has more than one Last-Event-ID.".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    const FIRST: &str = "evt_0000000000000000000001";
    const SECOND: &str = "evt_0000000000000000000002";

    fn headers(ids: &[&'static str]) -> HeaderMap {
        ids.iter().map(|id| (LAST_EVENT_ID, HeaderValue::from_static(id))).collect()
    }

    #[test]
    fn the_header_takes_precedence_over_the_parameter() {
        let after = |query, ids: &[&'static str]| stream_events(query, &headers(ids)).unwrap().after;
        let query = format!("after={FIRST}");
        assert_eq!(after(None, &[]), None);
        assert_eq!(after(Some(&query), &[]), EventId::parse(FIRST).ok());
        assert_eq!(after(Some(&query), &[""]), EventId::parse(FIRST).ok(), "an empty header is none");
        let beyond = after(None, &["evt_zzzzzzzzzzzzzzzzzzzzzz"]).unwrap();
        assert_eq!((beyond.epoch, beyond.position), (u64::MAX, petstore_domain::Position::MAX));
        assert_eq!(after(Some(&query), &[SECOND]), EventId::parse(SECOND).ok());
    }

    #[test]
    fn a_malformed_or_repeated_header_is_refused() {
        for ids in [&["x"][..], &["evt_1"], &["evt_zzzzzzzzzzzzzzzzzzzzz-"], &[FIRST, FIRST], &["", FIRST]] {
            let error = stream_events(None, &headers(ids)).unwrap_err();
            assert_eq!(error.code, Code::InvalidHeader, "{ids:?}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let none = HeaderMap::new();
        for query in ["limit=0", "limit=10001", "limit=01", "wait=0", "wait=3601", "wait=1s", "cursor=1"] {
            let error = stream_events(Some(query), &none).unwrap_err();
            assert_eq!(error.code, Code::InvalidParameter, "{query}");
        }
        let largest = stream_events(Some("limit=10000&wait=3600"), &none).unwrap();
        assert_eq!((largest.limit, largest.wait), (Some(10_000), Some(Duration::from_hours(1))));
    }
}
