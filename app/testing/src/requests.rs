//! The requests that a client sent.

use std::fmt::Write;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use hyper::Method;
use serde::Deserialize;

use crate::client::SandboxClient;
use crate::error::TestingError;

const PATH: &str = "/sandbox/requests";

/// A query of the requests that the petstore has recorded since its start or its last reset. Awaiting it returns the requests
/// that match all of its conditions, answered or in progress, oldest first. With [`RequestQuery::count`] it waits for them.
///
/// ```
/// # use std::time::Duration;
/// # use petstore_testing::Petstore;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), petstore_testing::TestingError> {
/// # let shop = Petstore::start().await?;
/// # let (url, key) = (format!("{}/pets", shop.url()), shop.key().to_owned());
/// # std::thread::spawn(move || ureq::get(url).header("X-API-Key", key).call().unwrap());
/// // Waits, for at most five seconds, until the client has been answered once.
/// let requests = shop.requests().method("GET").route("/pets").count(1).wait(Duration::from_secs(5)).await?;
/// assert_eq!(requests[0].status(), Some(200));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is asked before it is awaited"]
pub struct RequestQuery<'a> {
    client: &'a SandboxClient,
    query: String,
    count: Option<u32>,
    wait: Option<u32>,
}

/// A request as the petstore received it. Secrets are masked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReceivedRequest {
    /// The id of the request, as in `X-Request-Id`.
    pub id: String,
    /// Its number since the start or the last reset.
    pub sequence: u64,
    /// The time of its arrival, by the petstore's clock.
    pub at: String,
    /// The time of its arrival since the start of the petstore, in milliseconds of the machine's clock.
    pub uptime_ms: f64,
    /// The time from its first byte to the last byte of its answer, in milliseconds; none while it is not answered.
    pub duration_ms: Option<f64>,
    /// The address of the client.
    pub client: String,
    /// The number of its connection.
    pub connection: u64,
    /// `HTTP/1.1` or `HTTP/2`.
    pub protocol: String,
    /// The number of the account; none if the request was not admitted.
    pub account: Option<u64>,
    /// The first characters of its key, if it has the form of one.
    pub key_prefix: Option<String>,
    /// The method.
    pub method: String,
    /// The target as it was sent, with its query.
    pub target: String,
    /// The path as the contract writes it, such as `/pets/{petId}`; none for an unknown path.
    pub route: Option<String>,
    /// The headers in their order, with the names as they were sent.
    pub headers: Vec<(String, String)>,
    /// The body as text, or in base64 if [`Self::body_encoding`] says so. It may have been cut.
    pub body: Option<String>,
    /// `base64` if the body is not text.
    pub body_encoding: Option<String>,
    /// The length of the body as it was sent.
    pub body_bytes: u64,
    /// The answer; none while there is no answer.
    pub answer: Option<SentAnswer>,
    /// The quota after the request, as the answer's headers have it.
    pub quota: Option<QuotaReading>,
    /// The planned fault that acted on the request.
    pub fault: Option<String>,
    /// The rules of the report that name the request.
    pub hints: Vec<String>,
}

/// The values of the quota headers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct QuotaReading {
    /// The requests that the window admits.
    pub limit: u32,
    /// The requests that are left.
    pub remaining: u32,
    /// The end of the window, in seconds since 1970.
    pub reset: u64,
    /// `minute` or `day`.
    pub resource: String,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SentAnswer {
    /// The time of the answer, by the petstore's clock.
    pub at: String,
    /// `sent`, `streaming`, `dropped` by a planned fault, or `gone` because the client left.
    pub outcome: String,
    /// The status; none if the connection ended without one.
    pub status: Option<u16>,
    /// The code of an error.
    pub code: Option<String>,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body as text, or in base64. It may have been cut.
    pub body: Option<String>,
    /// `base64` if the body is not text.
    pub body_encoding: Option<String>,
    /// The length of the body as it was sent.
    pub body_bytes: u64,
}

impl ReceivedRequest {
    /// The status of the answer.
    pub fn status(&self) -> Option<u16> {
        self.answer.as_ref()?.status
    }

    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(sent, _)| sent.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

impl<'a> RequestQuery<'a> {
    pub(crate) fn new(client: &'a SandboxClient) -> Self {
        Self { client, query: String::new(), count: None, wait: None }
    }

    /// Selects requests with this method. Several calls select requests with one of these methods.
    pub fn method(self, method: &str) -> Self {
        self.parameter("method", method)
    }

    /// Selects requests to this path, as the contract writes it: `/pets/{petId}`.
    pub fn route(self, route: &str) -> Self {
        self.parameter("route", route)
    }

    /// Selects requests that were answered with this status, or with one of a class: `404`, `4xx`. Several calls select
    /// requests with one of these.
    pub fn status(self, status: &str) -> Self {
        self.parameter("status", status)
    }

    /// Selects requests with this key. The petstore knows only its first characters.
    pub fn key(self, key: &str) -> Self {
        self.parameter("key", &key_prefix(key))
    }

    /// Selects requests whose target contains this text.
    pub fn target(self, part: &str) -> Self {
        self.parameter("target", part)
    }

    /// Selects requests after this sequence number.
    pub fn after(self, sequence: u64) -> Self {
        self.parameter("after", &sequence.to_string())
    }

    /// Selects requests that this rule of the report names, for example `waits`.
    pub fn hint(self, rule: &str) -> Self {
        self.parameter("hint", rule)
    }

    /// Selects the latest so many requests, or the first ones after [`RequestQuery::after`].
    pub fn limit(self, requests: u32) -> Self {
        self.parameter("limit", &requests.to_string())
    }

    /// Waits until this many answered requests match, at most for the time of [`RequestQuery::wait`]. If fewer come, the query
    /// fails with [`TestingError::NotEnoughRequests`].
    pub fn count(mut self, requests: u32) -> Self {
        self.count = Some(requests);
        self
    }

    /// The longest wait for the requests of [`RequestQuery::count`], or else for one: whole seconds, 5 unless given, at most 30.
    pub fn wait(mut self, time: Duration) -> Self {
        // Parts of a second are rounded up, so that no wait is shorter than the test wants.
        let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
        self.wait = Some(u32::try_from(seconds).unwrap_or(u32::MAX));
        self
    }

    /// The number of requests for which the query waits, and the seconds.
    fn expected(&self) -> Option<(u32, u32)> {
        let count = self.count.or(self.wait.map(|_| 1))?;
        Some((count, self.wait.unwrap_or(WAIT_SECONDS)))
    }

    fn parameter(mut self, name: &str, value: &str) -> Self {
        let sign = if self.query.is_empty() { '?' } else { '&' };
        let _ = write!(self.query, "{sign}{name}={}", encoded(value));
        self
    }
}

/// The number of characters of a key that the petstore records.
const KEY_PREFIX_LENGTH: usize = 12;

/// The seconds for which a query with a count waits, unless the test sets another time.
const WAIT_SECONDS: u32 = 5;

/// Cuts a key to the characters by which the petstore names it.
pub(crate) fn key_prefix(key: &str) -> String {
    key.chars().take(KEY_PREFIX_LENGTH).collect()
}

/// Encodes the value of a query parameter.
pub(crate) fn encoded(value: &str) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Lists requests for a message.
pub(crate) fn brief(requests: &[ReceivedRequest]) -> String {
    let one = |request: &ReceivedRequest| {
        let status = request.status().map_or_else(|| "in progress".to_owned(), |status| status.to_string());
        format!("{} {} {status}", request.method, request.target)
    };
    if requests.is_empty() {
        return "none".to_owned();
    }
    requests.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl<'a> IntoFuture for RequestQuery<'a> {
    type Output = Result<Vec<ReceivedRequest>, TestingError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let expected = self.expected();
            let query = match expected {
                Some((count, wait)) => {
                    self.parameter("count", &count.to_string()).parameter("wait", &wait.to_string())
                }
                None => self,
            };
            let path = format!("{PATH}{}", query.query);
            let requests: Vec<ReceivedRequest> = query.client.read(Method::GET, &path, None).await?;
            match expected {
                Some((count, wait)) if requests.len() < count as usize => {
                    let wait = Duration::from_secs(wait.into());
                    Err(TestingError::NotEnoughRequests { count, wait, requests })
                }
                _ => Ok(requests),
            }
        })
    }
}

/// Deletes what was recorded.
pub(crate) async fn clear(client: &SandboxClient) -> Result<(), TestingError> {
    client.send(Method::DELETE, PATH, None).await.map(drop)
}
