//! One request of a client, in the form that the rules read.

use std::borrow::Cow;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use petstore_domain::{KeyPrefix, Timestamp};
use petstore_request_journal::{AnswerOutcome, Protocol, RecordedAnswer, RecordedBody, RequestRecord};

use crate::credential::{is_credential_header, prefix_in_header, prefix_in_query};
use crate::link::next_cursor;

/// The difference that the timers of a client and of the server may have. It includes the time between the last byte of
/// an answer and the moment at which the server notes it. A wait of a second or more is far above it.
pub(crate) const TIMER_TOLERANCE: Duration = Duration::from_millis(100);

/// The path whose parameter [`WAIT`] asks the server to wait for an event.
const EVENTS_ROUTE: &str = "/events";

/// The path that is served while a window is exhausted, so that a client can see its quota.
const QUOTA_ROUTE: &str = "/rate-limit";

/// The parameter with the number of seconds to wait.
const WAIT: &str = "wait";

/// The word of the journal for a body that a planned failure has made to be no JSON.
const MALFORMED: &str = "malformed";

/// A request of a client, and its answer.
#[derive(Debug, Clone)]
pub(crate) struct ClientRequest<'a> {
    pub(crate) id: &'a str,
    /// The number in the order of arrival.
    pub(crate) sequence: u64,
    /// The sandbox's time at the arrival of the head.
    pub(crate) at: Timestamp,
    /// The machine's time at the arrival of the head. A test may freeze the sandbox's clock or turn it back, so only this
    /// time says which requests overlapped.
    pub(crate) uptime: Duration,
    /// The end of the answer, or of a connection without one; `None` while the request is being answered.
    pub(crate) ended: Option<RequestEnd>,
    /// The display prefix of the key; `None` without a key.
    pub(crate) key: Option<&'a str>,
    /// The number of the connection.
    pub(crate) connection: u64,
    pub(crate) method: &'a str,
    /// The path and the query, as received.
    pub(crate) target: &'a str,
    /// The path as the contract has it.
    pub(crate) route: Option<&'a str>,
    pub(crate) idempotency_key: Option<&'a str>,
    /// Set if the request has the header `If-Match`.
    pub(crate) has_if_match: bool,
    /// Set if the request has the header `If-None-Match`.
    pub(crate) has_if_none_match: bool,
    pub(crate) made_by: Maker,
    /// The body, as far as it was kept.
    pub(crate) body: &'a [u8],
    /// The number of bytes of the whole body.
    pub(crate) body_bytes: u64,
    /// The answer; `None` if it did not reach the client as a whole. The answer of a stream has reached it with its head.
    pub(crate) answer: Option<ClientAnswer<'a>>,
    /// Set if the client asked the server to wait for an event, and left before the end of that time.
    pub(crate) has_left_wait: bool,
}

/// The program that has made a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    /// The client itself, which chooses the headers.
    Client,
    /// The server, of the call of a tool. Its caller sets no header.
    Tool,
}

/// The end of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestEnd {
    /// The sandbox's time.
    pub(crate) at: Timestamp,
    /// The machine's time.
    pub(crate) uptime: Duration,
}

/// An answer that reached a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClientAnswer<'a> {
    pub(crate) status: u16,
    /// The code of an error.
    pub(crate) code: Option<&'a str>,
    /// The header `Retry-After`, in whole seconds, whatever its form.
    pub(crate) retry_after: Option<u64>,
    /// The header `Retry-After` as it was sent.
    pub(crate) retry_after_text: Option<&'a str>,
    /// The end of the window that the quota headers show in any form, in seconds since 1970.
    pub(crate) reset: Option<u64>,
    /// The requests that are left in that window, as the quota headers show them in any form; `None` if none shows them.
    pub(crate) remaining: Option<u32>,
    /// The entity tag of a body that the client could read.
    pub(crate) etag: Option<&'a str>,
    /// Set if the answer has the header `Deprecation`.
    pub(crate) is_deprecated: bool,
    /// The header `Sunset`.
    pub(crate) sunset: Option<Timestamp>,
    /// The header `Sunset` as it was sent.
    pub(crate) sunset_text: Option<&'a str>,
    /// The cursor of the next page, as the header `Link` names it.
    pub(crate) next_cursor: Option<&'a str>,
    /// Set if the connection ends with the answer.
    pub(crate) closes: bool,
    /// Set if a planned failure made a body that is no JSON.
    pub(crate) is_malformed: bool,
}

impl<'a> ClientAnswer<'a> {
    fn of(answer: &'a RecordedAnswer, protocol: Protocol) -> Option<Self> {
        let is_received = match answer.outcome {
            AnswerOutcome::Sent => true,
            // Only its client ends a stream, and has its head by then.
            AnswerOutcome::Streaming | AnswerOutcome::Gone => is_event_stream(answer),
            AnswerOutcome::Dropped => false,
        };
        let status = answer.status.filter(|_| is_received)?;
        // Over HTTP/1.1 a client leaves a stream by closing its connection.
        let closes = answer.outcome == AnswerOutcome::Gone && protocol != Protocol::Http2;
        let reset = answer.quota.map(|quota| quota.reset);
        let is_malformed = answer.fault.as_deref().is_some_and(is_malformed);
        let mut read = Self { status, code: answer.code(), reset, closes, is_malformed, ..Self::default() };
        // One pass, because each search for a name would split all lines again.
        for (name, value) in answer.headers.iter() {
            if let Ok(value) = str::from_utf8(value) {
                read.read_header(name, value.trim());
            }
        }
        read.etag = read.etag.filter(|_| !read.is_malformed);
        if answer.headers.iter().any(|(name, _)| shows_remaining(name)) {
            read.remaining = answer.quota.map(|quota| quota.remaining);
        }
        if let Some(value) = answer.headers.text("retry-after") {
            read.retry_after = wait_of(value.trim(), answer.retry_after_seconds());
            read.retry_after_text = Some(value.trim());
        }
        Some(read)
    }

    fn read_header(&mut self, name: &[u8], value: &'a str) {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if is("etag") {
            self.etag = Some(value);
        } else if is("deprecation") {
            self.is_deprecated = true;
        } else if is("sunset") {
            self.sunset = httpdate::parse_http_date(value).ok().map(timestamp_of);
            self.sunset_text = Some(value);
        } else if is("link") {
            self.next_cursor = self.next_cursor.or_else(|| next_cursor(value));
        } else if is("connection") {
            self.closes |= value.split(',').any(|option| option.trim().eq_ignore_ascii_case("close"));
        }
    }

    /// Returns whether the answer has this code.
    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.code == Some(code)
    }
}

/// The headers that show how many requests are left, one for each family of forms.
const REMAINING: [&str; 3] = ["x-ratelimit-remaining", "ratelimit-remaining", "ratelimit"];

/// Returns whether a header of this name shows how many requests are left.
fn shows_remaining(name: &[u8]) -> bool {
    REMAINING.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
}

/// Returns whether a planned failure, in the words of the journal, made a body that is no JSON.
fn is_malformed(fault: &str) -> bool {
    fault.split(", ").any(|part| part == MALFORMED)
}

/// Returns whether an answer is a stream of events.
fn is_event_stream(answer: &RecordedAnswer) -> bool {
    let media_type = answer.headers.text("content-type").and_then(|value| value.split(';').next());
    media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// The wait that a client owes if it cannot read the form of `Retry-After`.
const WAIT_UNREAD: u64 = 1;

/// Returns the whole seconds that a `Retry-After` asks for. A date counts as its distance from the answer's own `Date`, which
/// the body tells, less the second in which the answer was sent, because dates have no fractions. A client that cannot read
/// another form owes a second.
pub(crate) fn wait_of(value: &str, in_body: Option<u64>) -> Option<u64> {
    let whole = value.split_once('.').map_or(value, |(whole, _)| whole);
    if let Ok(secs) = whole.parse() {
        return Some(secs);
    }
    if httpdate::parse_http_date(value).is_ok() {
        return in_body.map(|secs| secs.saturating_sub(1));
    }
    Some(WAIT_UNREAD)
}

/// Returns a date of a header as a point in time. A date before 1970 counts as the year 1970.
fn timestamp_of(date: std::time::SystemTime) -> Timestamp {
    let since = date.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::EPOCH.plus(since)
}

impl<'a> ClientRequest<'a> {
    /// Reads a record of the journal.
    pub(crate) fn of(record: &'a RequestRecord) -> Self {
        let request = &*record.request;
        let answer = record.answer.as_deref();
        let ended = answer.filter(|answer| answer.outcome != AnswerOutcome::Streaming);
        let body = record.request_body();
        let mut read = Self {
            id: &request.id,
            sequence: record.sequence,
            at: request.at,
            uptime: request.uptime,
            ended: ended.map(|answer| RequestEnd { at: answer.at, uptime: request.uptime + answer.duration }),
            key: request.key_prefix.as_ref().map(KeyPrefix::as_str),
            connection: request.connection,
            method: &request.method,
            target: &request.target,
            route: request.route,
            idempotency_key: None,
            has_if_match: false,
            has_if_none_match: false,
            made_by: if request.tool_call.is_some() { Maker::Tool } else { Maker::Client },
            body: body.map_or(&[], RecordedBody::kept),
            body_bytes: body.map_or(0, RecordedBody::bytes),
            answer: answer.and_then(|answer| ClientAnswer::of(answer, request.protocol)),
            has_left_wait: false,
        };
        for (name, value) in request.headers.iter() {
            read.read_header(name, value);
        }
        read.has_left_wait = answer.is_some_and(|answer| read.has_left_wait(answer));
        read
    }

    /// Returns whether the client left while the server waited for an event as asked. The server waits for a HEAD, too.
    fn has_left_wait(&self, answer: &RecordedAnswer) -> bool {
        let may_wait = matches!(self.method, "GET" | "HEAD") && self.route == Some(EVENTS_ROUTE);
        let wait = self.parameter(WAIT).filter(|_| may_wait);
        let wait = wait.and_then(|secs| secs.parse().ok()).map(Duration::from_secs);
        answer.outcome == AnswerOutcome::Gone
            && matches!(answer.status, None | Some(200))
            && wait.is_some_and(|wait| answer.duration < wait)
    }

    fn read_header(&mut self, name: &[u8], value: &'a [u8]) {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        let text = str::from_utf8(value).ok();
        if is("idempotency-key") {
            self.idempotency_key = self.idempotency_key.or(text);
        } else if is("if-match") {
            self.has_if_match = true;
        } else if is("if-none-match") {
            self.has_if_none_match = true;
        } else if is_credential_header(name) {
            self.key = self.key.or_else(|| text.and_then(prefix_in_header));
        }
    }

    /// Returns whether the request costs no quota, and is served while none is left.
    pub(crate) fn is_free(&self) -> bool {
        self.route == Some(QUOTA_ROUTE) || self.method == "OPTIONS"
    }

    /// Returns whether this request had ended before the head of another one arrived.
    pub(crate) fn ended_before(&self, later: &ClientRequest<'_>) -> bool {
        self.ended.is_some_and(|end| end.uptime <= later.uptime)
    }

    /// Returns the pause between the end of this request and the arrival of a later one. `None` if they overlapped, or if
    /// the clock was turned back.
    pub(crate) fn pause_until(&self, later: &ClientRequest<'_>) -> Option<Duration> {
        let end = self.ended.filter(|end| end.uptime <= later.uptime && end.at <= later.at)?;
        Some(later.at.since(end.at))
    }

    /// Returns the parts that a repeated request has in common with this one.
    pub(crate) fn identity(&self) -> Identity<'a> {
        Identity { method: self.method, target: self.target, body: self.body, body_bytes: self.body_bytes }
    }

    /// Returns the status of the answer.
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|answer| answer.status)
    }

    /// Returns whether the answer has this code.
    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.has_code(code))
    }

    /// Returns the path without the query.
    pub(crate) fn path(&self) -> &'a str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns the value of a parameter of the query. The escapes of name and value are decoded, as the server does.
    pub(crate) fn parameter(&self, name: &str) -> Option<Cow<'a, str>> {
        let decoded = |text: &'a str| percent_decode_str(text).decode_utf8_lossy();
        let (_, query) = self.target.split_once('?')?;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| decoded(key) == name).map(|(_, value)| decoded(value))
    }

    /// Returns the prefix of the key that stands for the client: that of the headers, else that of a key in the query.
    pub(crate) fn client(&self) -> Option<&'a str> {
        self.key.or_else(|| prefix_in_query(self.target))
    }
}

/// Method, target and body of a request: a repeated request has the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Identity<'a> {
    method: &'a str,
    target: &'a str,
    body: &'a [u8],
    body_bytes: u64,
}

#[cfg(test)]
mod tests;
