//! The report about the behaviour of clients.

use std::fmt;

use serde::Deserialize;

/// A verdict about the requests of each key since the start or the last reset: does the client wait after a 429, repeat a POST
/// with an idempotency key, follow the pages that it was given?
///
/// ```
/// # use petstore_testing::Petstore;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), petstore_testing::TestingError> {
/// # let shop = Petstore::start().await?;
/// // ... the client under test works ...
/// let report = shop.report().await?;
/// assert!(!report.is_broken(), "{report}");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct BehaviorReport {
    /// The worst verdict about a client.
    pub verdict: BehaviorVerdict,
    /// The clients, each with its own key.
    pub clients: Vec<ClientBehavior>,
}

/// A verdict. The worst one is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BehaviorVerdict {
    /// There was no request.
    None,
    /// The rule did not apply to any request.
    Untested,
    /// The client followed the rule.
    Kept,
    /// The client could do better.
    Hint,
    /// The client broke the rule.
    Broken,
}

/// The behaviour of the client with one key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ClientBehavior {
    /// The first characters of its key; none for requests without one.
    pub key_prefix: Option<String>,
    /// The number of its requests.
    pub requests: u64,
    /// The worst verdict about a rule.
    pub verdict: BehaviorVerdict,
    /// The rules, each with its verdict and the requests that broke it.
    pub rules: Vec<JudgedRule>,
}

/// A rule, and the verdict about one client.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct JudgedRule {
    /// The name, for example `waits`.
    pub name: String,
    /// The rule in one sentence.
    pub summary: String,
    /// The document that states the rule.
    pub source: String,
    /// The verdict on this rule.
    pub verdict: BehaviorVerdict,
    /// The number of situations to which the rule applied.
    pub cases: u64,
    /// The number of findings.
    pub found: u64,
    /// The first hundred findings.
    pub findings: Vec<BehaviorFinding>,
}

/// A breach of a rule, or a hint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct BehaviorFinding {
    /// `breach` or `hint`.
    pub severity: String,
    /// The reason, with the requests by number.
    pub reason: String,
    /// A sentence that says what the client should have done, with the header that told it. None from a program that is older than this
    /// crate.
    #[serde(default)]
    pub advice: Option<String>,
    /// The requests that prove it.
    pub requests: Vec<ProvingRequest>,
}

/// A request that proves a finding.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ProvingRequest {
    /// Its number, as in [`ReceivedRequest::sequence`](crate::ReceivedRequest::sequence).
    pub sequence: u64,
    /// The id of the request, which its answer had as `X-Request-Id`.
    pub id: String,
}

/// The verdict in one word.
impl fmt::Display for BehaviorVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Untested => "untested",
            Self::Kept => "kept",
            Self::Hint => "hint",
            Self::Broken => "broken",
        })
    }
}

impl BehaviorReport {
    /// Returns whether a client broke a rule.
    pub fn is_broken(&self) -> bool {
        self.verdict == BehaviorVerdict::Broken
    }
}

/// The findings, one a line, each with its advice.
impl fmt::Display for BehaviorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for client in &self.clients {
            let key = client.key_prefix.as_deref().unwrap_or("no key");
            writeln!(f, "{key}: {} requests", client.requests)?;
            for rule in &client.rules {
                for finding in &rule.findings {
                    write!(f, "  {}: {}", rule.name, finding.reason)?;
                    if let Some(advice) = &finding.advice {
                        write!(f, " {advice}")?;
                    }
                    f.write_str("\n")?;
                }
            }
        }
        Ok(())
    }
}
