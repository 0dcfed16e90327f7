//! One request of a client, in the form that the rules read.

use std::borrow::Cow;
use std::time::Duration;

use petstore_domain::Timestamp;

use crate::credential::prefix_in_query;
use crate::link::next_cursor;

/// The difference that the timers of a client and of the server may have. It includes the time between the last byte of
/// an answer and the moment at which the server notes it. A wait of a second or more is far above it.
pub(crate) const TIMER_TOLERANCE: Duration = Duration::from_millis(100);

/// A request of a client, and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRequest<'a> {
    /// The request id.
    pub id: &'a str,
    /// The number of the request in the order of arrival.
    pub sequence: u64,
    /// The arrival of the head.
    pub at: Timestamp,
    /// The end of the answer; `None` while it is being sent.
    pub ended: Option<RequestEnd>,
    /// The display prefix of the key; `None` without a valid key.
    pub key: Option<&'a str>,
    /// The number of the connection.
    pub connection: u64,
    /// The method.
    pub method: &'a str,
    /// The path and the query, as received.
    pub target: &'a str,
    /// The path as the contract has it.
    pub route: Option<&'a str>,
    /// The header `Idempotency-Key`.
    pub idempotency_key: Option<Cow<'a, str>>,
    /// Set if the request has the header `If-Match`.
    pub has_if_match: bool,
    /// Set if the request has the header `If-None-Match`.
    pub has_if_none_match: bool,
    /// The body, as far as it was kept.
    pub body: Cow<'a, [u8]>,
    /// The number of bytes of the whole body.
    pub body_bytes: u64,
    /// The answer; `None` if the connection ended before it.
    pub answer: Option<ClientAnswer<'a>>,
}

/// The moment at which the answer to a request was sent in full, or at which the connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestEnd {
    /// The time.
    pub at: Timestamp,
    /// The number of the last request that had arrived by then. The order of requests does not depend on the clock,
    /// which a test may freeze or turn back.
    pub last_arrived: u64,
}

/// An answer to a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientAnswer<'a> {
    /// The status.
    pub status: u16,
    /// The code of an error.
    pub code: Option<Cow<'a, str>>,
    /// The header `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// The header `X-RateLimit-Reset`, in seconds since 1970.
    pub reset: Option<u64>,
    /// The header `ETag`.
    pub etag: Option<Cow<'a, str>>,
    /// Set if the answer has the header `Deprecation`.
    pub is_deprecated: bool,
    /// The header `Sunset`.
    pub sunset: Option<Timestamp>,
    /// The cursor of the next page, as the header `Link` names it.
    pub next_cursor: Option<Cow<'a, str>>,
    /// Set if the server closes the connection after the answer.
    pub closes: bool,
}

impl<'a> ClientAnswer<'a> {
    /// Reads an answer from its status, its code and its headers. Names of headers are compared without regard to case.
    pub fn new<'h: 'a>(
        status: u16,
        code: Option<Cow<'a, str>>,
        headers: impl IntoIterator<Item = (&'h str, Cow<'a, str>)>,
    ) -> Self {
        let mut answer = Self { status, code, ..Self::default() };
        for (name, value) in headers {
            answer.read_header(name, value);
        }
        answer
    }

    fn read_header(&mut self, name: &str, value: Cow<'a, str>) {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if is("retry-after") {
            self.retry_after = value.trim().parse().ok();
        } else if is("x-ratelimit-reset") {
            self.reset = value.trim().parse().ok();
        } else if is("etag") {
            self.etag = Some(value);
        } else if is("deprecation") {
            self.is_deprecated = true;
        } else if is("sunset") {
            let date = httpdate::parse_http_date(value.trim()).ok();
            self.sunset = date.map(timestamp_of);
        } else if is("link") {
            if let Some(cursor) = next_cursor(&value) {
                self.next_cursor = Some(Cow::Owned(cursor));
            }
        } else if is("connection") {
            self.closes |= value.split(',').any(|option| option.trim().eq_ignore_ascii_case("close"));
        }
    }

    /// Returns whether the answer has this code.
    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }
}

/// Returns a date of a header as a point in time. A date before 1970 counts as the year 1970.
fn timestamp_of(date: std::time::SystemTime) -> Timestamp {
    let since = date.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::EPOCH.plus(since)
}

impl<'a> ClientRequest<'a> {
    /// Returns whether this request had ended before the head of another one arrived.
    pub(crate) fn ended_before(&self, later: &ClientRequest<'_>) -> bool {
        self.ended.is_some_and(|end| end.last_arrived < later.sequence)
    }

    /// Returns the pause between the end of this request and the arrival of a later one. `None` if the later one arrived
    /// earlier, or if the clock was turned back.
    pub(crate) fn pause_until(&self, later: &ClientRequest<'_>) -> Option<Duration> {
        let end = self.ended.filter(|end| end.last_arrived < later.sequence && end.at <= later.at)?;
        Some(later.at.since(end.at))
    }

    /// Returns whether a later request repeats this one.
    pub(crate) fn identity(&self) -> Identity<'_> {
        Identity { method: self.method, target: self.target, body: &self.body, body_bytes: self.body_bytes }
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
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns the value of a parameter of the query, as it was sent.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query
            .split('&')
            .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
            .map(|(_, value)| value)
    }

    /// Returns the prefix of the key that stands for the client: the valid key, or a key in the query.
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
    use super::*;

    #[test]
    fn an_answer_is_read_from_its_headers() {
        let headers = [
            ("Retry-After", "30"),
            ("x-ratelimit-reset", "1893456000"),
            ("ETag", "\"1-2\""),
            ("Deprecation", "@1752019200"),
            ("Sunset", "Thu, 05 Dec 2030 00:00:00 GMT"),
            ("Link", "</v1/pets>; rel=\"first\", </v1/pets?cursor=1ab>; rel=\"next\""),
            ("Connection", "keep-alive, Close"),
        ];
        let headers = headers.map(|(name, value)| (name, Cow::Borrowed(value)));
        let expected = ClientAnswer {
            status: 200,
            code: None,
            retry_after: Some(30),
            reset: Some(1_893_456_000),
            etag: Some("\"1-2\"".into()),
            is_deprecated: true,
            sunset: Timestamp::parse("2030-12-05T00:00:00Z").ok(),
            next_cursor: Some("1ab".into()),
            closes: true,
        };
        assert_eq!(ClientAnswer::new(200, None, headers), expected);
        let strange =
            [("retry-after", "soon"), ("sunset", "soon"), ("link", "none"), ("connection", "closed")];
        let strange = strange.map(|(name, value)| (name, Cow::Borrowed(value)));
        assert_eq!(
            ClientAnswer::new(200, None, strange),
            ClientAnswer { status: 200, ..ClientAnswer::default() }
        );
    }
}
