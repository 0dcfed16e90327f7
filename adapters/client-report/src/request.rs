//! One request of a client, in the form that the rules read.

use std::time::Duration;

use petstore_domain::{KeyPrefix, Timestamp};
use petstore_request_journal::{AnswerOutcome, RecordedAnswer, RecordedBody, RequestRecord};

use crate::credential::{prefix_in_header, prefix_in_query};
use crate::link::next_cursor;

/// The difference that the timers of a client and of the server may have. It includes the time between the last byte of
/// an answer and the moment at which the server notes it. A wait of a second or more is far above it.
pub(crate) const TIMER_TOLERANCE: Duration = Duration::from_millis(100);

/// A request of a client, and its answer.
#[derive(Debug, Clone)]
pub(crate) struct ClientRequest<'a> {
    /// The request id.
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
    /// The method.
    pub(crate) method: &'a str,
    /// The path and the query, as received.
    pub(crate) target: &'a str,
    /// The path as the contract has it.
    pub(crate) route: Option<&'a str>,
    /// The header `Idempotency-Key`.
    pub(crate) idempotency_key: Option<&'a str>,
    /// Set if the request has the header `If-Match`.
    pub(crate) has_if_match: bool,
    /// Set if the request has the header `If-None-Match`.
    pub(crate) has_if_none_match: bool,
    /// The body, as far as it was kept.
    pub(crate) body: &'a [u8],
    /// The number of bytes of the whole body.
    pub(crate) body_bytes: u64,
    /// The answer; `None` if it did not reach the client as a whole.
    pub(crate) answer: Option<ClientAnswer<'a>>,
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
    /// The status.
    pub(crate) status: u16,
    /// The code of an error.
    pub(crate) code: Option<&'a str>,
    /// The header `Retry-After`, in seconds.
    pub(crate) retry_after: Option<u64>,
    /// The header `X-RateLimit-Reset`, in seconds since 1970.
    pub(crate) reset: Option<u64>,
    /// The header `ETag`.
    pub(crate) etag: Option<&'a str>,
    /// Set if the answer has the header `Deprecation`.
    pub(crate) is_deprecated: bool,
    /// The header `Sunset`.
    pub(crate) sunset: Option<Timestamp>,
    /// The cursor of the next page, as the header `Link` names it.
    pub(crate) next_cursor: Option<&'a str>,
    /// Set if the server closes the connection after the answer.
    pub(crate) closes: bool,
}

impl<'a> ClientAnswer<'a> {
    fn of(answer: &'a RecordedAnswer) -> Option<Self> {
        let status = answer.status.filter(|_| answer.outcome == AnswerOutcome::Sent)?;
        let mut read = Self { status, code: answer.code(), ..Self::default() };
        // One pass, because each search for a name would split all lines again.
        for (name, value) in answer.headers.iter() {
            if let Ok(value) = str::from_utf8(value) {
                read.read_header(name, value.trim());
            }
        }
        Some(read)
    }

    fn read_header(&mut self, name: &[u8], value: &'a str) {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if is("retry-after") {
            self.retry_after = value.parse().ok();
        } else if is("x-ratelimit-reset") {
            self.reset = value.parse().ok();
        } else if is("etag") {
            self.etag = Some(value);
        } else if is("deprecation") {
            self.is_deprecated = true;
        } else if is("sunset") {
            self.sunset = httpdate::parse_http_date(value).ok().map(timestamp_of);
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
            body: body.map_or(&[], RecordedBody::kept),
            body_bytes: body.map_or(0, RecordedBody::bytes),
            answer: answer.and_then(ClientAnswer::of),
        };
        for (name, value) in request.headers.iter() {
            read.read_header(name, value);
        }
        read
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
        } else if is("authorization") || is("x-api-key") {
            self.key = self.key.or_else(|| text.and_then(prefix_in_header));
        }
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

    /// Returns the value of a parameter of the query, as it was sent.
    pub(crate) fn parameter(&self, name: &str) -> Option<&'a str> {
        let (_, query) = self.target.split_once('?')?;
        query
            .split('&')
            .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
            .map(|(_, value)| value)
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
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use petstore_request_journal::{HeaderLines, Protocol, RecordedRequest};

    use super::*;

    fn lines(headers: &[(&str, &str)]) -> HeaderLines {
        let mut lines = Vec::new();
        for (name, value) in headers {
            HeaderLines::push(&mut lines, name.as_bytes(), value.as_bytes());
        }
        HeaderLines::of_lines(lines)
    }

    fn record(request: &[(&str, &str)], answer: &[(&str, &str)], outcome: AnswerOutcome) -> RequestRecord {
        let at = |millis| Timestamp::from_millis(millis).unwrap();
        let error = br#"{"code":"rate_limit_exceeded","message":"m","status":429}"#;
        let request = RecordedRequest {
            id: "a".into(),
            at: at(1_000),
            uptime: Duration::from_millis(70),
            client: IpAddr::V4(Ipv4Addr::LOCALHOST),
            connection: 3,
            protocol: Protocol::Http11,
            is_secure: false,
            key_prefix: None,
            method: "POST".into(),
            target: "/v1/pets?cursor=1ab".into(),
            route: Some("/pets"),
            headers: lines(request),
        };
        let answer = RecordedAnswer {
            at: at(2_000),
            duration: Duration::from_millis(30),
            outcome,
            status: Some(429),
            headers: lines(answer),
            request_body: RecordedBody::new(b"{}".to_vec(), 2),
            body: RecordedBody::new(error.to_vec(), error.len() as u64),
            account: None,
            quota: None,
            fault: None,
        };
        RequestRecord { sequence: 7, request: Arc::new(request), answer: Some(Arc::new(answer)) }
    }

    #[test]
    fn a_record_is_read_with_its_headers() {
        let sent = [("X-Api-Key", "pet_01234567…"), ("Idempotency-Key", "k"), ("IF-MATCH", "*")];
        let answered = [
            ("Retry-After", "30"),
            ("x-ratelimit-reset", "1893456000"),
            ("ETag", "\"1-2\""),
            ("Deprecation", "@1752019200"),
            ("Sunset", "Thu, 05 Dec 2030 00:00:00 GMT"),
            ("Link", "</v1/pets>; rel=\"first\", </v1/pets?cursor=1ab>; rel=\"next\""),
            ("Connection", "keep-alive, Close"),
        ];
        let record = record(&sent, &answered, AnswerOutcome::Sent);
        let request = ClientRequest::of(&record);
        let expected = ClientAnswer {
            status: 429,
            code: Some("rate_limit_exceeded"),
            retry_after: Some(30),
            reset: Some(1_893_456_000),
            etag: Some("\"1-2\""),
            is_deprecated: true,
            sunset: Timestamp::parse("2030-12-05T00:00:00Z").ok(),
            next_cursor: Some("1ab"),
            closes: true,
        };
        assert_eq!(request.answer.as_ref(), Some(&expected));
        assert_eq!((request.client(), request.idempotency_key), (Some("pet_01234567"), Some("k")));
        assert!(request.has_if_match && !request.has_if_none_match);
        assert_eq!(
            (request.path(), request.parameter("cursor"), request.body),
            ("/v1/pets", Some("1ab"), &b"{}"[..])
        );
        let end = request.ended.unwrap();
        assert_eq!((end.at.as_millis(), end.uptime), (2_000, Duration::from_millis(100)));
    }

    #[test]
    fn an_answer_that_was_lost_is_no_answer() {
        for (outcome, has_answer, has_ended) in [
            (AnswerOutcome::Sent, true, true),
            (AnswerOutcome::Dropped, false, true),
            (AnswerOutcome::Gone, false, true),
            (AnswerOutcome::Streaming, false, false),
        ] {
            let record = record(&[], &[], outcome);
            let request = ClientRequest::of(&record);
            assert_eq!(
                (request.answer.is_some(), request.ended.is_some()),
                (has_answer, has_ended),
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn strange_headers_are_left_out() {
        let strange =
            [("retry-after", "soon"), ("sunset", "soon"), ("link", "none"), ("connection", "closed")];
        let record = record(&[("authorization", "Basic eA==")], &strange, AnswerOutcome::Sent);
        let request = ClientRequest::of(&record);
        let code = Some("rate_limit_exceeded");
        assert_eq!(request.answer, Some(ClientAnswer { status: 429, code, ..ClientAnswer::default() }));
        assert_eq!(request.client(), None);
    }
}
