//! The result of a rule for one client.

use std::borrow::Cow;

use crate::request::ClientRequest;

/// The weight of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The client may do better, and does no harm.
    Hint,
    /// The client broke the rule.
    Breach,
}

impl Severity {
    /// Returns the severity as a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hint => "hint",
            Self::Breach => "breach",
        }
    }
}

/// One place at which a client did not follow a rule, with its proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding<'a> {
    /// The weight: a breach of the contract, or a hint.
    pub severity: Severity,
    /// A sentence about this place.
    pub reason: String,
    /// A sentence that says what the client should have done, with the header that told it. Code is between two backticks.
    pub advice: Cow<'static, str>,
    /// The requests that prove it, in the order of arrival. The last one did not follow the rule.
    pub requests: Vec<Proof<'a>>,
}

/// A reference to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof<'a> {
    /// The number in the order of arrival. It is different for each request, while clients may choose an id twice.
    pub sequence: u64,
    /// The id of the request, which its answer had as `X-Request-Id`.
    pub id: &'a str,
}

impl<'a> Finding<'a> {
    /// A finding about the last of these requests.
    pub(crate) fn new(
        severity: Severity,
        reason: String,
        advice: impl Into<Cow<'static, str>>,
        before: &[&ClientRequest<'a>],
        last: &ClientRequest<'a>,
    ) -> Self {
        let proof = |request: &&ClientRequest<'a>| Proof { sequence: request.sequence, id: request.id };
        let requests = before.iter().chain([&last]).map(proof).collect();
        Self { severity, reason, advice: advice.into(), requests }
    }
}

/// The result of a rule for one client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Judgement<'a> {
    /// The number of times that the rule applied.
    pub(crate) cases: usize,
    /// The places at which the client did not follow the rule, in the order of arrival.
    pub(crate) findings: Vec<Finding<'a>>,
}
