//! The requests that a client sent.

use std::fmt::Write;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use hyper::Method;

use crate::client::SandboxClient;
use crate::error::TestingError;
use crate::received::ReceivedRequest;

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

    /// Selects requests with this header.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.parameter("header", &format!("{name}:{value}"))
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
