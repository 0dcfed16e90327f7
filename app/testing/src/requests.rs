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
/// that match all of its conditions, answered or in progress, oldest first.
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
    /// The time from its first byte to the last byte of its answer, in milliseconds; none while it is not answered.
    pub duration_ms: Option<f64>,
    /// The number of its connection.
    pub connection: u64,
    /// `HTTP/1.1` or `HTTP/2`.
    pub protocol: String,
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
    /// The planned fault that acted on the request.
    pub fault: Option<String>,
    /// The rules of good behaviour that the request breaks.
    #[serde(default)]
    pub hints: Vec<serde_json::Value>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SentAnswer {
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
        Self { client, query: String::new() }
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
        let prefix: String = key.chars().take(KEY_PREFIX_LENGTH).collect();
        self.parameter("key", &prefix)
    }

    /// Selects requests whose target contains this text.
    pub fn target(self, part: &str) -> Self {
        self.parameter("target", part)
    }

    /// Selects requests after this sequence number.
    pub fn after(self, sequence: u64) -> Self {
        self.parameter("after", &sequence.to_string())
    }

    /// Waits until this many answered requests match, at most for the time of [`RequestQuery::wait`]. After that time the
    /// result has fewer of them.
    pub fn count(self, requests: u32) -> Self {
        self.parameter("count", &requests.to_string())
    }

    /// The longest wait for the requests of [`RequestQuery::count`]: whole seconds, up to 30.
    pub fn wait(self, time: Duration) -> Self {
        // Parts of a second are rounded up, so that no wait is shorter than the test wants.
        let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
        self.parameter("wait", &seconds.to_string())
    }

    fn parameter(mut self, name: &str, value: &str) -> Self {
        let sign = if self.query.is_empty() { '?' } else { '&' };
        let _ = write!(self.query, "{sign}{name}=");
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
                self.query.push(char::from(byte));
            } else {
                let _ = write!(self.query, "%{byte:02X}");
            }
        }
        self
    }
}

/// The number of characters of a key that the petstore records.
const KEY_PREFIX_LENGTH: usize = 12;

impl<'a> IntoFuture for RequestQuery<'a> {
    type Output = Result<Vec<ReceivedRequest>, TestingError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let path = format!("{PATH}{}", self.query);
            self.client.read(Method::GET, &path, None).await
        })
    }
}

/// Deletes what was recorded.
pub(crate) async fn clear(client: &SandboxClient) -> Result<(), TestingError> {
    client.send(Method::DELETE, PATH, None).await.map(drop)
}
