//! Planned faults.

use std::time::Duration;

use hyper::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::client::SandboxClient;
use crate::error::TestingError;

pub(crate) const PATH: &str = "/sandbox/faults";

/// The planned faults of a petstore.
#[derive(Debug, Clone)]
pub struct Faults<'a>(pub(crate) &'a SandboxClient);

/// A rule that lets chosen requests fail or wait. Without a method and a route it matches every request.
///
/// The first rule that acts on a request decides.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(transparent)]
pub struct Fault(Map<String, Value>);

/// A rule of the plan, and the numbers of requests that it has matched and on which it has acted.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct PlannedFault {
    /// The number of the rule, from 1 since the start of the petstore.
    pub id: u64,
    /// The requests that the rule has matched.
    pub calls: u64,
    /// The requests on which the rule has acted.
    pub acted: u64,
    /// The rule, as it was planned.
    #[serde(flatten)]
    pub rule: Fault,
}

/// The moment at which a rule acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultPoint {
    /// Before the request is served.
    Before,
    /// On the answer, once the change of the request was made.
    After,
}

/// A fault of an answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyFault {
    /// The connection ends after half of the body.
    Truncate,
    /// The body is not JSON.
    Malformed,
    /// The body comes at the speed of [`Fault::bytes_per_second`].
    Slow,
}

/// A window of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QuotaWindow {
    /// The requests of a UTC minute.
    Minute,
    /// The requests of a UTC day.
    Day,
}

#[derive(Deserialize)]
struct PlanReading {
    faults: Vec<PlannedFault>,
}

impl Fault {
    /// A rule that matches every request. It needs at least one effect: a status, a code, a delay, or a lost answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Matches requests with this method only.
    #[must_use]
    pub fn method(self, method: &str) -> Self {
        self.member("method", method)
    }

    /// Matches requests to this path only, as the contract writes it: `/pets/{petId}`.
    #[must_use]
    pub fn route(self, route: &str) -> Self {
        self.member("route", route)
    }

    /// Matches requests with this API key only, or with keys that begin so.
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        self.member("key", key)
    }

    /// Matches requests with this header only, so that tests beside each other have faults of their own.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        self.member("header", json!({ "name": name, "value": value }))
    }

    /// Lets this many requests pass before the first one on which it may act.
    #[must_use]
    pub fn skip(self, requests: u64) -> Self {
        self.member("skip", requests)
    }

    /// Acts on this many requests, beginning with the first one that it does not skip.
    #[must_use]
    pub fn first(self, requests: u64) -> Self {
        self.member("first", requests)
    }

    /// Acts on this percentage of the requests, at random, in the same way on every machine.
    #[must_use]
    pub fn percent(self, percent: u8) -> Self {
        self.member("percent", percent)
    }

    /// Answers with the error of the contract that has this status.
    #[must_use]
    pub fn status(self, status: u16) -> Self {
        self.member("status", status)
    }

    /// Answers with the error of the contract that has this code, for example `rate_limit_exceeded`.
    #[must_use]
    pub fn code(self, code: &str) -> Self {
        self.member("code", code)
    }

    /// The seconds of `Retry-After`, with status 429 or 503.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.member("retryAfter", seconds)
    }

    /// Ends the connection without an answer.
    #[must_use]
    pub fn lose_answer(self) -> Self {
        self.member("drop", true)
    }

    /// Delays the request by this much, at most a minute.
    #[must_use]
    pub fn latency(self, latency: Duration) -> Self {
        self.member("latency", format!("{}ms", latency.as_millis()))
    }

    /// Delays the request additionally by a random time up to this much.
    #[must_use]
    pub fn jitter(self, jitter: Duration) -> Self {
        self.member("jitter", format!("{}ms", jitter.as_millis()))
    }

    /// Acts before the request is served, as without this method, or on its answer.
    #[must_use]
    pub fn when(self, point: FaultPoint) -> Self {
        self.member("when", json!(point))
    }

    /// Damages the body of the answer.
    #[must_use]
    pub fn body(self, fault: BodyFault) -> Self {
        self.member("body", json!(fault))
    }

    /// The speed of a slow body.
    #[must_use]
    pub fn bytes_per_second(self, speed: u32) -> Self {
        self.member("bytesPerSecond", speed)
    }

    /// Uses up this window of the account's quota before the request.
    #[must_use]
    pub fn exhaust(self, window: QuotaWindow) -> Self {
        self.member("exhaust", json!(window))
    }

    /// Adds a member that the contract does not have to each object of the answer, and gives an error an unknown code.
    #[must_use]
    pub fn grow(self) -> Self {
        self.member("grow", true)
    }

    /// Sets any member of a rule that the petstore knows, also one that this crate has no method for.
    #[must_use]
    pub fn member(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Returns whether a member has this value.
    pub(crate) fn has(&self, name: &str, value: &Value) -> bool {
        self.0.get(name) == Some(value)
    }
}

impl Faults<'_> {
    /// Replaces the planned faults.
    ///
    /// # Errors
    /// The petstore refused a rule, and its message names the member; or it did not answer.
    pub async fn plan(&self, rules: impl IntoIterator<Item = Fault>) -> Result<(), TestingError> {
        self.plan_with_seed(0, rules).await
    }

    /// Replaces the planned faults. The seed decides on which requests rules with a percentage act, and on their jitter.
    ///
    /// # Errors
    /// As for [`Faults::plan`].
    pub async fn plan_with_seed(
        &self,
        seed: u64,
        rules: impl IntoIterator<Item = Fault>,
    ) -> Result<(), TestingError> {
        let rules: Vec<_> = rules.into_iter().map(|rule| Value::Object(rule.0)).collect();
        self.0.send(Method::PUT, PATH, Some(&json!({"seed": seed, "faults": rules}))).await.map(drop)
    }

    /// Adds rules behind those of the plan. Returns them with their numbers.
    ///
    /// # Errors
    /// As for [`Faults::plan`].
    pub async fn add(
        &self,
        rules: impl IntoIterator<Item = Fault>,
    ) -> Result<Vec<PlannedFault>, TestingError> {
        add(self.0, rules).await
    }

    /// Removes the rule with this number.
    ///
    /// # Errors
    /// The plan has no such rule, or the petstore did not answer.
    pub async fn remove(&self, id: u64) -> Result<(), TestingError> {
        self.0.send(Method::DELETE, &format!("{PATH}/{id}"), None).await.map(drop)
    }

    /// The rules of the plan in their order, with their counts.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn planned(&self) -> Result<Vec<PlannedFault>, TestingError> {
        planned(self.0).await
    }

    /// Removes the planned faults.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn clear(&self) -> Result<(), TestingError> {
        self.0.send(Method::DELETE, PATH, None).await.map(drop)
    }
}

/// Adds rules behind those of the plan.
pub(crate) async fn add(
    client: &SandboxClient,
    rules: impl IntoIterator<Item = Fault>,
) -> Result<Vec<PlannedFault>, TestingError> {
    let rules: Vec<_> = rules.into_iter().map(|rule| Value::Object(rule.0)).collect();
    let added: PlanReading = client.read(Method::POST, PATH, Some(&json!({ "faults": rules }))).await?;
    Ok(added.faults)
}

/// The rules of the plan.
pub(crate) async fn planned(client: &SandboxClient) -> Result<Vec<PlannedFault>, TestingError> {
    client.read(Method::GET, PATH, None).await.map(|plan: PlanReading| plan.faults)
}
