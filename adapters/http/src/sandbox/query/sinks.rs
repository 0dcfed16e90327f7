//! Queries of the sinks of a sandbox.

use std::time::Duration;

use crate::wire::error::ApiError;
use crate::wire::faults::FieldFault;
use crate::wire::query::{Parameters, number, wait};

/// The largest number of requests that a client may wait for.
const COUNT_MAX: u64 = 1_000;

/// The longest time within which deliveries may be asked to settle, in seconds.
const WITHIN_MAX_SECS: u64 = 60;

/// The time within which deliveries settle if the request names none.
const WITHIN: Duration = Duration::from_secs(10);

/// The requests of a sink that a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SinkQuery {
    /// The sequence number after which the requests begin.
    pub(crate) after: u64,
    /// The number of requests that the client waits for.
    pub(crate) count: u64,
    /// The longest time of the wait.
    pub(crate) wait: Duration,
}

/// `GET /sandbox/sinks/{name}`.
pub(crate) fn sink_requests(query: Option<&str>) -> Result<SinkQuery, ApiError> {
    let mut parameters = Parameters::of(query);
    let after = parameters.one("after", |text| {
        let sequence = number(text)?.and_then(|sequence| u64::try_from(sequence).ok());
        sequence.ok_or_else(|| FieldFault::new("out_of_range", "must be the sequence number of a request"))
    });
    let count = parameters.one("count", |text| {
        let count = number(text)?.and_then(|count| u64::try_from(count).ok());
        let count = count.filter(|count| (1..=COUNT_MAX).contains(count));
        count.ok_or_else(|| FieldFault::new("out_of_range", "must be between 1 and 1000"))
    });
    let wait = parameters.one("wait", wait);
    parameters.finish()?;
    Ok(SinkQuery { after: after.unwrap_or(0), count: count.unwrap_or(1), wait: wait.unwrap_or_default() })
}

/// `POST /sandbox/webhooks/settle`.
pub(crate) fn settle_within(query: Option<&str>) -> Result<Duration, ApiError> {
    let mut parameters = Parameters::of(query);
    let within = parameters.one("within", |text| {
        let secs = number(text)?.and_then(|secs| u64::try_from(secs).ok());
        let secs = secs.filter(|secs| *secs <= WITHIN_MAX_SECS);
        let rule = "must be from 0 to 60 seconds";
        secs.map(Duration::from_secs).ok_or_else(|| FieldFault::new("out_of_range", rule))
    });
    parameters.finish()?;
    Ok(within.unwrap_or(WITHIN))
}
