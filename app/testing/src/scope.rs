//! The part of a petstore that belongs to one test of several that run side by side.

use std::sync::mpsc;
use std::time::Duration;

use hyper::Method;
use serde_json::json;

use crate::client::SandboxClient;
use crate::error::TestingError;
use crate::faults::{self, Fault, PlannedFault};
use crate::report::BehaviorReport;
use crate::requests::{RequestQuery, encoded, key_prefix};
use crate::runtime;

/// The header that names a test, unless the tester chooses another one.
const HEADER: &str = "x-test-id";

/// The time for which the end of a scope waits until its faults are removed.
const DROP_TIME: Duration = Duration::from_secs(1);

/// The requests of one test, which name it in a header, with faults, journal and report for them alone. Tests that run side by
/// side then share one petstore. The faults end with the value.
///
/// ```
/// # use petstore_testing::{Fault, Petstore};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), petstore_testing::TestingError> {
/// # let shop = Petstore::start().await?;
/// let scope = shop.scope("orders.create");
/// scope.faults().plan([Fault::new().route("/pets").first(1).status(503)]).await?;
///
/// // The client under test sends this header.
/// let (name, value) = scope.header();
/// let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
/// let pets = || agent.get(format!("{}/pets", shop.url())).header("X-API-Key", shop.key());
/// assert_eq!(pets().call().unwrap().status(), 200);
/// assert_eq!(pets().header(name, value).call().unwrap().status(), 503);
/// assert_eq!(scope.requests().await?.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the faults of a scope end with it"]
pub struct Scope<'a> {
    client: &'a SandboxClient,
    name: String,
    value: String,
    has_ended: bool,
}

/// The faults of one scope. They do not depend on the rules of other scopes.
#[derive(Debug, Clone)]
pub struct ScopeFaults<'a> {
    client: &'a SandboxClient,
    name: &'a str,
    value: &'a str,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(client: &'a SandboxClient, value: &str) -> Self {
        Self { client, name: HEADER.to_owned(), value: value.to_owned(), has_ended: false }
    }

    /// Names the test in this header instead of `x-test-id`.
    pub fn by_header(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// The header that the client under test sends, as name and value.
    pub fn header(&self) -> (&str, &str) {
        (&self.name, &self.value)
    }

    /// The faults of this scope.
    pub fn faults(&self) -> ScopeFaults<'_> {
        ScopeFaults { client: self.client, name: &self.name, value: &self.value }
    }

    /// The requests of this scope since the start or the last reset.
    pub fn requests(&self) -> RequestQuery<'_> {
        RequestQuery::new(self.client).header(&self.name, &self.value)
    }

    /// Judges the behaviour of the clients by the requests of this scope.
    ///
    /// # Errors
    /// The petstore refused the header, or it did not answer.
    pub async fn report(&self) -> Result<BehaviorReport, TestingError> {
        self.client.read(Method::GET, &format!("/sandbox/report?{}", self.condition()), None).await
    }

    /// Judges the behaviour of the client with this key by the requests of this scope.
    ///
    /// # Errors
    /// As for [`Scope::report`].
    pub async fn report_of(&self, key: &str) -> Result<BehaviorReport, TestingError> {
        let path = format!("/sandbox/report?key={}&{}", encoded(&key_prefix(key)), self.condition());
        self.client.read(Method::GET, &path, None).await
    }

    /// Removes the faults of this scope, as dropping it does. Its requests stay in the journal.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn end(mut self) -> Result<(), TestingError> {
        self.has_ended = true;
        self.faults().clear().await
    }

    fn condition(&self) -> String {
        condition(&self.name, &self.value)
    }
}

impl Drop for Scope<'_> {
    /// Removes the faults, so that a later test with the same name does not meet them.
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let (client, path) = (self.client.clone(), format!("{}?{}", faults::PATH, self.condition()));
        let (done, end) = mpsc::channel();
        let removal = async move {
            // The petstore may have ended, and its faults with it.
            let _ = client.send(Method::DELETE, &path, None).await;
            let _ = done.send(());
        };
        if runtime::spawn(removal).is_ok() {
            let _ = end.recv_timeout(DROP_TIME);
        }
    }
}

impl ScopeFaults<'_> {
    /// Replaces the faults of this scope. The first rule that acts on a request decides.
    ///
    /// # Errors
    /// The petstore refused a rule, and its message names the member; or it did not answer. The scope has then no faults.
    pub async fn plan(&self, rules: impl IntoIterator<Item = Fault>) -> Result<(), TestingError> {
        self.clear().await?;
        self.add(rules).await.map(drop)
    }

    /// Adds rules behind those of this scope, whose header takes the place of one that a rule has. Returns them with their
    /// numbers.
    ///
    /// # Errors
    /// The petstore refused a rule, and its message names the member; or it did not answer.
    pub async fn add(
        &self,
        rules: impl IntoIterator<Item = Fault>,
    ) -> Result<Vec<PlannedFault>, TestingError> {
        faults::add(self.client, rules.into_iter().map(|rule| rule.header(self.name, self.value))).await
    }

    /// The rules of this scope in their order, with their counts.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn planned(&self) -> Result<Vec<PlannedFault>, TestingError> {
        // The petstore names headers in lower case.
        let header = json!({ "name": self.name.to_ascii_lowercase(), "value": self.value });
        let planned = faults::planned(self.client).await?;
        Ok(planned.into_iter().filter(|planned| planned.rule.has("header", &header)).collect())
    }

    /// Removes the faults of this scope.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn clear(&self) -> Result<(), TestingError> {
        let path = format!("{}?{}", faults::PATH, condition(self.name, self.value));
        self.client.send(Method::DELETE, &path, None).await.map(drop)
    }
}

/// The condition of a query.
fn condition(name: &str, value: &str) -> String {
    format!("header={}", encoded(&format!("{name}:{value}")))
}
