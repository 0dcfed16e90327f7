//! The result of an exam: a client's command, run in one scenario after the other, each time with a key of its own.
//!
//! The types own their texts and are read from the JSON of a sandbox (`/sandbox/report`, `/sandbox/requests`), because an
//! exam may examine against a sandbox in another process. They are written as the JSON report of an exam.

mod requests;
mod rules;

use petstore_client_report::RuleVerdict;
use serde::Serialize;

pub(super) use requests::{ExaminedAnswer, ExaminedRequest};
pub(super) use rules::{ExaminedFinding, ExaminedRule, ExaminedRules};

/// The result of an exam.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::exam) struct Exam {
    /// The version of the petstore that has examined.
    pub(in crate::exam) version: String,
    /// The command and its arguments, as they were given.
    pub(in crate::exam) command: Vec<String>,
    /// The address of a running sandbox, if the exam has not started one.
    pub(in crate::exam) url: Option<String>,
    /// The scenarios, in the order in which they were run.
    pub(in crate::exam) scenarios: Vec<ExaminedScenario>,
    /// `true` if the exam was interrupted, or could not go on, so that scenarios are missing.
    pub(in crate::exam) interrupted: bool,
}

/// The result of one scenario.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::exam) struct ExaminedScenario {
    /// The name, such as `busy`. A scenario that is run in several forms of the quota headers has a result for each, such as
    /// `dialects/draft-7`.
    pub(in crate::exam) name: String,
    /// The title, a sentence.
    pub(in crate::exam) title: String,
    /// The names of the rules that the scenario is made to prove.
    pub(in crate::exam) proves: Vec<String>,
    /// `true` if the command must succeed in this scenario.
    pub(in crate::exam) must_pass: bool,
    /// The beginning of the key that the command got.
    pub(in crate::exam) key_prefix: String,
    /// The worst verdict of all rules.
    #[serde(serialize_with = "rules::write_verdict")]
    pub(in crate::exam) verdict: RuleVerdict,
    /// The end of the command.
    pub(in crate::exam) end: CommandEnd,
    /// The time that the command took, in milliseconds.
    pub(in crate::exam) duration_ms: u64,
    /// The number of processes that the command left behind. The exam has ended them.
    pub(in crate::exam) left_behind: usize,
    /// The number of requests that came without the key.
    pub(in crate::exam) without_key: usize,
    /// The number of requests that are not in the report: more came than the journal keeps, or than a report has.
    pub(in crate::exam) left_out: u64,
    /// The last part of what the command printed.
    pub(in crate::exam) output: String,
    /// The verdicts of all rules.
    pub(in crate::exam) rules: Vec<ExaminedRule>,
    /// The requests with the key, in the order of arrival.
    pub(in crate::exam) requests: Vec<ExaminedRequest>,
}

/// The end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "how", content = "code")]
pub(in crate::exam) enum CommandEnd {
    /// It ended with this exit code.
    Exited(i32),
    /// A signal with this number ended it.
    #[allow(dead_code, reason = "no system but Unix has signals")]
    Signalled(i32),
    /// It ran for longer than permitted, and was ended.
    TimedOut,
    /// It could not be started.
    NotStarted,
    /// The exam was interrupted, and has ended it.
    Interrupted,
}

impl CommandEnd {
    /// Returns whether the command succeeded.
    pub(in crate::exam) const fn is_success(self) -> bool {
        matches!(self, Self::Exited(0))
    }
}

impl ExaminedScenario {
    /// Returns a sentence about requests that are not in the report; none if all are.
    pub(in crate::exam) fn left_out_text(&self) -> Option<String> {
        match self.left_out {
            0 => None,
            1 => Some("One more request came, which is not in this report.".to_owned()),
            many => Some(format!("{many} more requests came, which are not in this report.")),
        }
    }

    /// Returns the end of the command as a part of a sentence, such as `ended with 7 after 4.0 s`.
    pub(in crate::exam) fn end_text(&self) -> String {
        let secs = format!("{}.{} s", self.duration_ms / 1_000, self.duration_ms % 1_000 / 100);
        match self.end {
            CommandEnd::Exited(0) => format!("succeeded after {secs}"),
            CommandEnd::Exited(code) => format!("ended with {code} after {secs}"),
            CommandEnd::Signalled(number) => format!("was ended by signal {number} after {secs}"),
            CommandEnd::TimedOut => format!("was stopped after {secs}, because it had not ended"),
            CommandEnd::NotStarted => "could not be started".to_owned(),
            CommandEnd::Interrupted => format!("was interrupted after {secs}"),
        }
    }
}
