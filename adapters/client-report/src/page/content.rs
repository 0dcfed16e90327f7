//! The content of a page: plain values that are made of a report and its records, or read from the JSON of a sandbox in another
//! process.

use std::borrow::Cow;

use petstore_domain::Timestamp;
use petstore_request_journal::RequestRecord;

use crate::judgement::{Finding, Severity};
use crate::report::{ClientReport, Report, RuleReport, RuleVerdict};
use crate::request::ClientRequest;

/// A part of a page: the clients of a sandbox, or those of a scenario.
#[derive(Debug, Clone)]
pub struct PagePart<'p> {
    /// The heading, such as the title of a scenario; `None` if the page has one part, which needs none.
    pub title: Option<Cow<'p, str>>,
    /// The sentence that says how the program ended that sent the requests, such as `The command ended with 0 after 4 s.`
    pub ended: Option<Cow<'p, str>>,
    /// Set if that end is a failure of its own, whatever the rules say.
    pub has_failed: bool,
    /// The text that this program printed; `None` if a page need not show it. The last lines are shown.
    pub printed: Option<Cow<'p, str>>,
    /// The clients, in the order in which they are shown.
    pub clients: Vec<PageClient<'p>>,
}

/// A client: its rules and its requests.
#[derive(Debug, Clone)]
pub struct PageClient<'p> {
    /// The display prefix of the key.
    pub key: Option<&'p str>,
    /// Each rule, in the order of a report.
    pub rules: Vec<PageRule<'p>>,
    /// The requests, in the order of arrival.
    pub requests: Vec<PageRequest<'p>>,
}

/// A rule and the verdict about it.
#[derive(Debug, Clone)]
pub struct PageRule<'p> {
    /// The name, such as `waits`, which has lower-case letters, digits and hyphens.
    pub name: &'p str,
    /// The sentence that says what a client does.
    pub summary: &'p str,
    /// The documents that the rule follows from.
    pub source: &'p str,
    /// The verdict.
    pub verdict: RuleVerdict,
    /// The number of times that the rule applied.
    pub cases: usize,
    /// The number of findings, also of those that are left out.
    pub found: usize,
    /// The first findings, in the order of arrival.
    pub findings: Vec<PageFinding<'p>>,
}

/// A place at which the client did not follow a rule.
#[derive(Debug, Clone)]
pub struct PageFinding<'p> {
    /// The weight.
    pub severity: Severity,
    /// The sentence about this place.
    pub reason: &'p str,
    /// The sentence that says what the client should have done. Code is between two backticks.
    pub advice: &'p str,
    /// The numbers of the requests that prove it. The last one did not follow the rule.
    pub requests: Vec<u64>,
}

/// A request and its answer.
#[derive(Debug, Clone)]
pub struct PageRequest<'p> {
    /// The number in the order of arrival.
    pub sequence: u64,
    /// The sandbox's time of its arrival.
    pub at: Timestamp,
    /// The sandbox's time of the end of the answer.
    pub ended: Option<Timestamp>,
    /// The method, as received.
    pub method: &'p str,
    /// The path and the query, as received.
    pub target: &'p str,
    /// The answer.
    pub answer: PageAnswer<'p>,
    /// The time until which the answer asks the client to send nothing.
    pub wait_until: Option<Timestamp>,
    /// The planned failure that acted on the request.
    pub fault: Option<&'p str>,
    /// The tool whose call the request was made of.
    pub tool: Option<&'p str>,
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageAnswer<'p> {
    /// It reached the client.
    Sent {
        /// The status.
        status: u16,
        /// The code of an error.
        code: Option<&'p str>,
    },
    /// It did not reach the client, or not as a whole.
    Lost {
        /// The status, if an answer was made.
        made: Option<u16>,
    },
    /// The client ended a wait for events, before there was an answer.
    Left,
    /// There is no answer yet.
    Open,
}

impl<'p> PagePart<'p> {
    /// Takes the clients of a report. The records are those that the report was made of, or more of them, in the order of arrival.
    pub fn of_report(report: &'p Report<'_>, records: &'p [RequestRecord]) -> Self {
        let requests: Vec<_> = records.iter().map(|record| (record, ClientRequest::of(record))).collect();
        let clients = report.clients.iter().map(|client| PageClient::of_report(client, &requests)).collect();
        Self { title: None, ended: None, has_failed: false, printed: None, clients }
    }

    /// Returns the worst verdict of all clients.
    pub fn verdict(&self) -> RuleVerdict {
        self.clients.iter().map(PageClient::verdict).max().unwrap_or(RuleVerdict::Untested)
    }
}

impl<'p> PageClient<'p> {
    fn of_report(client: &'p ClientReport<'_>, requests: &[(&'p RequestRecord, ClientRequest<'p>)]) -> Self {
        let own = requests.iter().filter(|(_, request)| request.client() == client.key);
        Self {
            key: client.key,
            rules: client.rules.iter().map(PageRule::of_report).collect(),
            requests: own.map(|(record, request)| PageRequest::of_record(record, request)).collect(),
        }
    }

    /// Returns the worst verdict of all rules.
    pub fn verdict(&self) -> RuleVerdict {
        self.rules.iter().map(|rule| rule.verdict).max().unwrap_or(RuleVerdict::Untested)
    }
}

impl<'p> PageRule<'p> {
    fn of_report(report: &'p RuleReport<'_>) -> Self {
        Self {
            name: report.rule.name,
            summary: report.rule.summary,
            source: report.rule.source,
            verdict: report.verdict(),
            cases: report.cases,
            found: report.findings.len(),
            findings: report.findings.iter().map(PageFinding::of_report).collect(),
        }
    }
}

impl<'p> PageFinding<'p> {
    fn of_report(finding: &'p Finding<'_>) -> Self {
        Self {
            severity: finding.severity,
            reason: &finding.reason,
            advice: &finding.advice,
            requests: finding.requests.iter().map(|proof| proof.sequence).collect(),
        }
    }
}

impl<'p> PageRequest<'p> {
    fn of_record(record: &'p RequestRecord, request: &ClientRequest<'p>) -> Self {
        let answer = match &request.answer {
            Some(answer) => PageAnswer::Sent { status: answer.status, code: answer.code },
            None if request.has_left_wait => PageAnswer::Left,
            None if request.ended.is_some() => PageAnswer::Lost { made: record.status() },
            None => PageAnswer::Open,
        };
        Self {
            sequence: request.sequence,
            at: request.at,
            ended: request.ended.map(|end| end.at),
            method: request.method,
            target: request.target,
            answer,
            wait_until: request.binds_until(),
            fault: record.answer.as_ref().and_then(|answer| answer.fault.as_deref()),
            tool: record.request.tool_call.as_ref().map(|call| &*call.tool),
        }
    }
}
