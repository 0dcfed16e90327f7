//! The requests with which an exam controls a sandbox, in this process or in another one.

use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use hyper::header::HeaderValue;
use petstore_domain::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::examined::{ExaminedRequest, ExaminedRule, ExaminedRules};
use super::scenario::{KeyPlan, TimedFault};
use crate::failure::Failure;
use crate::http_client::{ANSWER_TIME, ApiAnswer, ApiClient, BaseUrl};

/// The number of attempts of a request that the sandbox refuses for a moment, because other requests are in flight.
const ATTEMPTS: u32 = 5;

/// The pause before the next attempt.
const PAUSE: Duration = Duration::from_millis(200);

/// The number of records in one answer. The journal keeps up to 64 KiB of each body, twice in a record, and JSON has six bytes for a
/// control character: the answer stays below what the client reads of one.
const PAGE: usize = 8;

/// The maximum size of the rules of a scenario as JSON, in bytes: that of a body of the sandbox's paths.
const FAULTS_MAX: usize = 64 * 1024;

/// The most requests of one scenario that are read.
const REQUESTS_MAX: usize = 10_000;

/// The plan of a key whose scenario names none.
const PLAN: &str = "business";

/// The number of characters of a key that reports show.
const PREFIX_LEN: usize = 12;

/// A sandbox that an exam controls.
pub(super) struct SandboxControl {
    client: ApiClient,
    /// The base URL of the API, as the command gets it.
    api: BaseUrl,
}

/// The number of a reset, as the sandbox counts them. One of another release may not tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResetNumber(Option<HeaderValue>);

impl ResetNumber {
    fn of(answer: &ApiAnswer) -> Self {
        Self(answer.headers.get("x-resets").cloned())
    }
}

/// A key that was made for one run of the command.
pub(super) struct ExamKey {
    pub(super) id: u64,
    pub(super) secret: String,
}

impl ExamKey {
    /// The beginning of the key, which reports show.
    pub(super) fn prefix(&self) -> &str {
        &self.secret[..PREFIX_LEN]
    }
}

#[derive(Deserialize)]
struct MadeKey {
    secret: String,
    key: MadeKeyRecord,
}

#[derive(Deserialize)]
struct MadeKeyRecord {
    id: u64,
}

#[derive(Deserialize)]
struct Plan {
    faults: Vec<PlannedRule>,
}

#[derive(Deserialize)]
struct PlannedRule {
    id: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Clock {
    now: String,
    /// The key for which it stands still.
    freeze_for: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

impl SandboxControl {
    /// Returns the control of a sandbox whose API has this base URL.
    pub(super) fn new(api: BaseUrl) -> Result<Self, Failure> {
        Ok(Self { client: ApiClient::without_key(api.clone().origin())?, api })
    }

    /// The base URL of the API.
    pub(super) const fn api(&self) -> &BaseUrl {
        &self.api
    }

    /// The URL of a path beside the API.
    pub(super) fn beside(&self, path: &str) -> String {
        format!("{}{path}", self.client.url())
    }

    /// Checks that the server is a sandbox with a journal, and has the API at the same address.
    pub(super) async fn check(&mut self) -> Result<(), Failure> {
        let answer = self.client.get("/sandbox/requests?limit=1", ANSWER_TIME).await;
        let answer = answer.map_err(|error| Failure::usage(format!("{}: {}", self.api, error.why)))?;
        if answer.status != 200 {
            return Err(Failure::usage(format!(
                "{} is no sandbox with a journal (/sandbox/requests answers {}): start a server with --sandbox, and \
                 without --ops-listen and --sandbox-journal 0",
                self.api,
                answer.status.as_u16()
            )));
        }
        let answer = ApiClient::without_key(self.api.clone())?.get("/rate-limit", ANSWER_TIME).await;
        let answer = answer.map_err(|error| Failure::usage(format!("{}: {}", self.api, error.why)))?;
        if answer.status == 404 {
            return Err(Failure::usage(format!(
                "{} has a sandbox, and no API: start its server without --ops-listen, or name the base path of the API",
                self.api
            )));
        }
        Ok(())
    }

    /// Resets the shop, and returns the clock to that of the machine. Returns the number of this reset.
    pub(super) async fn reset(&mut self) -> Result<ResetNumber, Failure> {
        let number = ResetNumber::of(&self.done(Method::POST, "/sandbox/reset", None).await?);
        self.return_to_machine_time().await.map(|()| number)
    }

    /// Returns the clock to that of the machine.
    pub(super) async fn return_to_machine_time(&mut self) -> Result<(), Failure> {
        self.done(Method::DELETE, "/sandbox/clock", None).await.map(drop)
    }

    /// Returns the time of the sandbox.
    pub(super) async fn now(&mut self) -> Result<Timestamp, Failure> {
        let clock: Clock = self.read(Method::GET, "/sandbox/clock", None).await?;
        Timestamp::parse(&clock.now)
            .map_err(|_| Failure::because(format!("{}: the time {} is not valid", self.api, clock.now)))
    }

    /// Sets the clock to a time, at which it stands still.
    pub(super) async fn freeze_at(&mut self, time: &str) -> Result<(), Failure> {
        let change = json!({"set": time, "freeze": true});
        self.done(Method::POST, "/sandbox/clock", Some(&change)).await.map(drop)
    }

    /// Holds the clock until an answer makes the client with a key wait. The sandbox lets it run on by itself with that answer, because
    /// another request would come too late for a client that waits exactly as long as it is asked to.
    pub(super) async fn hold_clock(&mut self, key: &ExamKey) -> Result<(), Failure> {
        let change = json!({"freezeFor": key.prefix()});
        self.done(Method::POST, "/sandbox/clock", Some(&change)).await.map(drop)
    }

    /// Lets the clock run on, if it is still held.
    pub(super) async fn end_hold(&mut self) -> Result<(), Failure> {
        let clock: Clock = self.read(Method::GET, "/sandbox/clock", None).await?;
        if clock.freeze_for.is_some() { self.release_clock().await } else { Ok(()) }
    }

    /// Lets the clock run on.
    pub(super) async fn release_clock(&mut self) -> Result<(), Failure> {
        self.done(Method::POST, "/sandbox/clock", Some(&json!({"freeze": false}))).await.map(drop)
    }

    /// Makes a key of a new account.
    pub(super) async fn new_key(&mut self, plan: &KeyPlan, form: Option<&str>) -> Result<ExamKey, Failure> {
        let mut wanted = json!({"plan": plan.name.as_deref().unwrap_or(PLAN), "label": "exam"});
        let others = [
            ("minute", plan.minute.map(Value::from)),
            ("day", plan.day.map(Value::from)),
            ("scopes", plan.scopes.as_deref().map(Value::from)),
            ("quotaHeaders", form.map(Value::from)),
        ];
        for (name, value) in others {
            if let Some(value) = value {
                wanted[name] = value;
            }
        }
        let made: MadeKey = self.read(Method::POST, "/sandbox/keys", Some(&wanted)).await?;
        if made.secret.len() <= PREFIX_LEN || !made.secret.is_ascii() {
            return Err(Failure::because(format!("{}: the key that it made is not valid", self.api)));
        }
        Ok(ExamKey { id: made.key.id, secret: made.secret })
    }

    /// Revokes a key.
    pub(super) async fn revoke(&mut self, id: u64) -> Result<(), Failure> {
        self.done(Method::DELETE, &format!("/sandbox/keys/{id}"), None).await.map(drop)
    }

    /// Uses up this many requests of a key, and forgets them.
    pub(super) async fn use_up(&mut self, key: &ExamKey, requests: u32) -> Result<(), Failure> {
        let mut client = ApiClient::new(self.api.clone(), &key.secret)?;
        for _ in 0..requests {
            let answer = client.get("/categories?limit=1", ANSWER_TIME).await;
            answer.map_err(|error| Failure::because(format!("{}: {}", self.api, error.why)))?;
        }
        self.done(Method::DELETE, "/sandbox/requests", None).await.map(drop)
    }

    /// Adds rules for the requests of a key to the plan of faults, and returns their ids.
    pub(super) async fn plan(&mut self, faults: &[TimedFault], key: &ExamKey) -> Result<Vec<u64>, Failure> {
        if faults.is_empty() {
            return Ok(vec![]);
        }
        let scoped = |fault: &TimedFault| {
            let mut rule = fault.rule.clone();
            rule.entry("key").or_insert_with(|| key.prefix().into());
            rule
        };
        let rules: Vec<_> = faults.iter().map(scoped).collect();
        let wanted = json!({"faults": rules});
        let bytes = wanted.to_string().len();
        if bytes > FAULTS_MAX {
            return Err(Failure::usage(format!(
                "faults: the {} rules are {bytes} bytes as JSON, and a sandbox takes {FAULTS_MAX}: leave some out",
                rules.len()
            )));
        }
        let plan: Plan = self.read(Method::POST, "/sandbox/faults", Some(&wanted)).await?;
        Ok(plan.faults.iter().map(|rule| rule.id).collect())
    }

    /// Removes a rule from the plan of faults. It may be gone already.
    pub(super) async fn remove_fault(&mut self, id: u64) -> Result<(), Failure> {
        let answer = self.ask(Method::DELETE, &format!("/sandbox/faults/{id}"), None).await?;
        if answer.status == 404 { Ok(()) } else { self.checked(answer, "/sandbox/faults").map(drop) }
    }

    /// Waits until a request with the key was answered, for a few seconds. Returns whether one was.
    pub(super) async fn has_first_request(&mut self, prefix: &str) -> Result<bool, Failure> {
        let path = format!("/sandbox/requests?key={prefix}&limit=1&count=1&wait=10");
        let found: Vec<ExaminedRequest> = self.read(Method::GET, &path, None).await?;
        Ok(found.iter().any(|request| request.answer.is_some()))
    }

    /// Returns the requests since the beginning of the scenario, of all clients, and the number of those that are not read: the oldest
    /// ones, which the journal no longer keeps, and the last ones.
    pub(super) async fn requests(&mut self) -> Result<(Vec<ExaminedRequest>, u64), Failure> {
        let mut found: Vec<ExaminedRequest> = vec![];
        while found.len() < REQUESTS_MAX {
            let after = found.last().map_or(0, |request| request.sequence);
            let path = format!("/sandbox/requests?after={after}&limit={PAGE}");
            let page: Vec<ExaminedRequest> = self.read(Method::GET, &path, None).await?;
            let is_last = page.len() < PAGE;
            found.extend(page);
            if is_last {
                let left_out = left_out(&found, None);
                return Ok((found, left_out));
            }
        }
        let latest: Vec<ExaminedRequest> = self.read(Method::GET, "/sandbox/requests?limit=1", None).await?;
        let left_out = left_out(&found, latest.last());
        Ok((found, left_out))
    }

    /// Returns the verdicts about the client with a key, and the number of the last reset.
    pub(super) async fn rules(&mut self, prefix: &str) -> Result<(Vec<ExaminedRule>, ResetNumber), Failure> {
        let path = format!("/sandbox/report?key={prefix}");
        let answer = self.done(Method::GET, &path, None).await?;
        let rules: ExaminedRules = self.parsed(&answer, &path)?;
        Ok((rules.of_key(prefix), ResetNumber::of(&answer)))
    }

    async fn read<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, Failure> {
        let answer = self.done(method, path, body).await?;
        self.parsed(&answer, path)
    }

    fn parsed<T: DeserializeOwned>(&self, answer: &ApiAnswer, path: &str) -> Result<T, Failure> {
        serde_json::from_slice(&answer.body)
            .map_err(|error| Failure::because(format!("{}: {path}: {error}", self.api)))
    }

    /// Sends a request. Repeats it if the sandbox refuses it for a moment.
    async fn done(&mut self, method: Method, path: &str, body: Option<&Value>) -> Result<ApiAnswer, Failure> {
        for _ in 1..ATTEMPTS {
            let answer = self.ask(method.clone(), path, body).await?;
            if answer.status != 503 {
                return self.checked(answer, path);
            }
            tokio::time::sleep(PAUSE).await;
        }
        let answer = self.ask(method, path, body).await?;
        self.checked(answer, path)
    }

    async fn ask(&mut self, method: Method, path: &str, body: Option<&Value>) -> Result<ApiAnswer, Failure> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        let answer = self.client.send(method, path, body, ANSWER_TIME).await;
        answer.map_err(|error| Failure::because(format!("{}: {path}: {}", self.api, error.why)))
    }

    /// Returns an answer of success. A request that the sandbox finds wrong comes from the file of a scenario.
    fn checked(&self, answer: ApiAnswer, path: &str) -> Result<ApiAnswer, Failure> {
        if answer.status.is_success() {
            return Ok(answer);
        }
        let refusal: Result<Refusal, _> = serde_json::from_slice(&answer.body);
        let why =
            refusal.map_or_else(|_| format!("status {}", answer.status.as_u16()), |refusal| refusal.message);
        let path = path.split('?').next().unwrap_or_default();
        if answer.status == 400 {
            return Err(Failure::usage(format!("{path}: {why}")));
        }
        Err(Failure::because(format!("{}: {path}: {why}", self.api)))
    }
}

/// Returns the number of requests before and after those that were read. They are numbered from 1 in each scenario.
fn left_out(found: &[ExaminedRequest], latest: Option<&ExaminedRequest>) -> u64 {
    let [first, last] = [found.first(), found.last()].map(|one| one.map_or(0, |request| request.sequence));
    first.saturating_sub(1) + latest.map_or(0, |latest| latest.sequence.saturating_sub(last))
}
