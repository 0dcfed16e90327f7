//! The report of an exam.

use std::fmt;

use serde::Deserialize;

use crate::report::{BehaviorFinding, BehaviorVerdict, JudgedRule};

/// The findings of a rule that a text shows.
const EVIDENCE: usize = 3;

/// The report of an exam. As text it has the table of the scenarios, and then the failures with the requests that prove them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ExamReport {
    /// The version of the petstore.
    pub version: String,
    /// The scenarios, in the order in which the client worked in them.
    pub scenarios: Vec<ExamScenario>,
}

/// The behaviour of the client in one scenario.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExamScenario {
    /// The name, such as `busy`.
    pub name: String,
    /// The title, a sentence.
    pub title: String,
    /// The rules that the scenario is made to prove.
    pub proves: Vec<String>,
    /// `true` if the client has to succeed in this scenario.
    pub must_pass: bool,
    /// The worst verdict about a rule.
    pub verdict: BehaviorVerdict,
    /// The error of the client.
    pub output: String,
    /// The time that the client took, in milliseconds.
    pub duration_ms: u64,
    /// The rules, each with its verdict and the requests that broke it.
    pub rules: Vec<JudgedRule>,
    /// The requests of the client.
    pub requests: Vec<ExamRequest>,
    end: ClientEnd,
}

/// The end of the client, as the command tells it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ClientEnd {
    how: String,
    code: Option<i32>,
}

/// A request of the client in a scenario, without its body.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ExamRequest {
    /// The id of the request, as in `X-Request-Id`.
    pub id: String,
    /// Its number, from 1 in each scenario.
    pub sequence: u64,
    /// The time of its arrival, by the petstore's clock.
    pub at: String,
    /// The method, such as `GET`.
    pub method: String,
    /// The target as it was sent, with its query.
    pub target: String,
    /// The path as the contract writes it, such as `/pets/{petId}`; none for an unknown path.
    pub route: Option<String>,
    /// The headers in their order.
    pub headers: Vec<(String, String)>,
    /// The answer; none while there is no answer.
    pub answer: Option<ExamAnswer>,
    /// The planned fault that acted on the request.
    pub fault: Option<String>,
    /// The rules that the request did not follow.
    pub hints: Vec<String>,
}

/// The answer to a request, without its body.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ExamAnswer {
    /// `sent`, `streaming`, `dropped` by a planned fault, or `gone` because the client left.
    pub outcome: String,
    /// The status; none if the connection ended without one.
    pub status: Option<u16>,
    /// The code of an error.
    pub code: Option<String>,
    /// The headers in their order.
    pub headers: Vec<(String, String)>,
}

impl ExamReport {
    /// Returns whether the client kept all rules, and succeeded where it has to.
    pub fn is_passed(&self) -> bool {
        self.scenarios.iter().all(|scenario| scenario.failures().is_empty())
    }

    /// Returns whether the client broke a rule in a scenario.
    pub fn is_broken(&self) -> bool {
        self.scenarios.iter().any(|scenario| scenario.verdict == BehaviorVerdict::Broken)
    }

    /// Returns the scenario with this name.
    pub fn scenario(&self, name: &str) -> Option<&ExamScenario> {
        self.scenarios.iter().find(|scenario| scenario.name == name)
    }
}

impl ExamScenario {
    /// Returns whether the client returned no error.
    pub fn has_succeeded(&self) -> bool {
        self.end.how == "exited" && self.end.code == Some(0)
    }

    /// Returns the verdict about a rule, for example `waits`.
    pub fn rule(&self, name: &str) -> Option<&JudgedRule> {
        self.rules.iter().find(|rule| rule.name == name)
    }

    /// Returns lines about the rules that were broken, about a failure where the client has to succeed, and about a client that sent
    /// nothing.
    pub fn failures(&self) -> Vec<String> {
        let mut lines = vec![];
        if self.must_pass && !self.has_succeeded() {
            let why = self.output.lines().next().unwrap_or_default();
            lines.push(format!("the client failed, and has to succeed in this scenario: {why}"));
        }
        if self.requests.is_empty() {
            lines
                .push("no request arrived; does the client use the URL and the key that it gets?".to_owned());
        }
        for rule in self.rules.iter().filter(|rule| rule.verdict == BehaviorVerdict::Broken) {
            lines.push(format!("{} is broken: a client {}", rule.name, rule.summary));
            let breaches = rule.findings.iter().filter(|finding| finding.severity == "breach");
            let mut advised = None;
            for breach in breaches.take(EVIDENCE) {
                let is_new = breach.advice.is_some() && breach.advice != advised;
                advised.clone_from(&breach.advice);
                lines.extend(self.evidence(breach, is_new));
            }
        }
        lines
    }

    /// Returns the reason, the advice unless the finding before had the same one, and the requests.
    fn evidence(&self, breach: &BehaviorFinding, is_advised: bool) -> Vec<String> {
        let line = |sequence| {
            let request = self.requests.iter().find(|request| request.sequence == sequence);
            request.map_or_else(|| format!("    #{sequence}"), |request| format!("    {request}"))
        };
        let requests = breach.requests.iter().map(|proof| line(proof.sequence));
        let advice = breach.advice.iter().filter(|_| is_advised).map(|advice| format!("  advice: {advice}"));
        [format!("  {}", breach.reason)].into_iter().chain(advice).chain(requests).collect()
    }
}

/// One line: number, time, method, target, and the answer.
impl fmt::Display for ExamRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {} {} {}", self.sequence, self.at, self.method, self.target)?;
        let Some(answer) = &self.answer else { return f.write_str(" in progress") };
        if let Some(status) = answer.status {
            write!(f, " {status}")?;
        }
        if let Some(code) = &answer.code {
            write!(f, " {code}")?;
        }
        if answer.outcome == "sent" { Ok(()) } else { write!(f, " {}", answer.outcome) }
    }
}

impl fmt::Display for ExamReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for scenario in &self.scenarios {
            let end = if scenario.has_succeeded() { "succeeded" } else { "failed" };
            let (name, requests) = (&scenario.name, scenario.requests.len());
            writeln!(f, "{name}: {}, {requests} requests, {end}", scenario.verdict)?;
            for line in scenario.failures() {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}
