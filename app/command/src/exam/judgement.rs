//! The exam as a whole: the exit code, and what counts as a failure.

use clap::ValueEnum;
use petstore_client_report::RuleVerdict;

use super::examined::{CommandEnd, Exam, ExaminedRule, ExaminedScenario};
use crate::failure::Failure;

/// The mildest result that fails the exam.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum FailOn {
    /// A broken rule
    #[default]
    Broken,
    /// A hint, too
    Hint,
    /// Also a rule that a scenario is made to prove, and that no request tested
    Untested,
}

impl FailOn {
    /// Returns whether the result of a rule fails the exam.
    pub(super) fn counts(self, scenario: &ExaminedScenario, rule: &ExaminedRule) -> bool {
        match rule.verdict {
            RuleVerdict::Broken => true,
            RuleVerdict::Hint => self != Self::Broken,
            RuleVerdict::Kept => false,
            RuleVerdict::Untested => self == Self::Untested && scenario.proves.contains(&rule.name),
        }
    }
}

/// Returns why a scenario tells nothing about the client, or why the client did not do what it must; none if all is well.
pub(super) fn error_of(scenario: &ExaminedScenario) -> Option<String> {
    match scenario.end {
        CommandEnd::Interrupted => None,
        CommandEnd::NotStarted => Some(scenario.output.clone()),
        _ if scenario.requests.is_empty() => Some(no_request(scenario)),
        end if scenario.must_pass && !end.is_success() => {
            Some(format!("the command must succeed in this scenario, and {}", scenario.end_text()))
        }
        _ => None,
    }
}

fn no_request(scenario: &ExaminedScenario) -> String {
    match scenario.without_key {
        0 => "no request arrived; does the command read PETSTORE_URL?".to_owned(),
        1 => "one request arrived, without the key; does the command read PETSTORE_KEY?".to_owned(),
        many => format!("{many} requests arrived, all without the key; does the command read PETSTORE_KEY?"),
    }
}

/// Returns the failure of the exam; none if the client has passed.
pub(super) fn failure(exam: &Exam, fail_on: FailOn) -> Option<Failure> {
    let errors = exam.scenarios.iter().filter_map(|one| Some(format!("{}: {}", one.name, error_of(one)?)));
    let errors: Vec<_> = errors.collect();
    if let [first, rest @ ..] = &errors[..] {
        let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
        return Some(Failure { message: format!("{first}{more}"), code: 3 });
    }
    let failed = exam.scenarios.iter().flat_map(|scenario| {
        let counted = scenario.rules.iter().filter(move |rule| fail_on.counts(scenario, rule));
        counted.map(|rule| rule.name.as_str())
    });
    let mut failed: Vec<_> = failed.collect();
    let times = failed.len();
    failed.sort_unstable();
    failed.dedup();
    if failed.is_empty() {
        return None;
    }
    let noun = match fail_on {
        FailOn::Broken => "broken",
        FailOn::Hint => "broken or hinted at",
        FailOn::Untested => "broken, hinted at or untested",
    };
    Some(Failure::because(format!("{} {noun}, {times} in all scenarios: see the table", failed.join(", "))))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A scenario in which a request was sent, with one rule.
    pub(in crate::exam) fn scenario(end: CommandEnd, verdict: RuleVerdict) -> ExaminedScenario {
        let request = serde_json::json!({
            "id": "r1", "sequence": 1, "at": "2030-01-01T12:00:00.000Z", "uptimeMs": 5.0, "durationMs": 1.0,
            "keyPrefix": "pet_aaaaaaaa", "method": "GET", "target": "/v1/pets", "route": "/pets", "headers": [],
            "answer": null, "fault": null, "hints": [],
        });
        let rule = serde_json::json!({
            "name": "waits", "summary": "waits", "source": "the contract", "verdict": verdict.as_str(), "cases": 1, "found": 1,
            "findings": [{"severity": "breach", "reason": "It came <1 s> too early.",
                          "requests": [{"sequence": 1, "id": "r1"}]}],
        });
        ExaminedScenario {
            name: "busy".to_owned(),
            title: "Busy & full".to_owned(),
            proves: vec!["waits".to_owned()],
            must_pass: true,
            key_prefix: "pet_aaaaaaaa".to_owned(),
            verdict,
            end,
            duration_ms: 4_050,
            left_behind: 0,
            without_key: 0,
            left_out: 0,
            output: "line\u{1b}[31m\n".to_owned(),
            rules: vec![serde_json::from_value(rule).unwrap()],
            requests: vec![serde_json::from_value(request).unwrap()],
        }
    }

    pub(in crate::exam) fn exam(scenarios: Vec<ExaminedScenario>) -> Exam {
        Exam {
            version: "1.0.0".to_owned(),
            command: vec!["python".to_owned()],
            url: None,
            scenarios,
            interrupted: false,
        }
    }

    fn code(fail_on: FailOn, scenario: ExaminedScenario) -> u8 {
        failure(&exam(vec![scenario]), fail_on).map_or(0, |failure| failure.code)
    }

    #[test]
    fn verdicts_become_exit_codes() {
        let passed = CommandEnd::Exited(0);
        for (verdict, broken, hint, untested) in [
            (RuleVerdict::Broken, 1, 1, 1),
            (RuleVerdict::Hint, 0, 1, 1),
            (RuleVerdict::Untested, 0, 0, 1),
            (RuleVerdict::Kept, 0, 0, 0),
        ] {
            let codes = [FailOn::Broken, FailOn::Hint, FailOn::Untested]
                .map(|on| code(on, scenario(passed, verdict)));
            assert_eq!(codes, [broken, hint, untested], "{verdict:?}");
        }
    }

    #[test]
    fn a_command_that_fails_where_it_must_not_wins() {
        for end in [CommandEnd::Exited(7), CommandEnd::Signalled(9), CommandEnd::TimedOut] {
            assert_eq!(code(FailOn::Broken, scenario(end, RuleVerdict::Broken)), 3, "{end:?}");
            let may = ExaminedScenario { must_pass: false, ..scenario(end, RuleVerdict::Kept) };
            assert_eq!(code(FailOn::Broken, may), 0, "{end:?}");
        }
        for end in [CommandEnd::Exited(0), CommandEnd::NotStarted] {
            let silent =
                ExaminedScenario { must_pass: false, requests: vec![], ..scenario(end, RuleVerdict::Kept) };
            assert_eq!(code(FailOn::Broken, silent), 3, "{end:?}");
        }
        let keyless = ExaminedScenario {
            requests: vec![],
            without_key: 2,
            ..scenario(CommandEnd::Exited(0), RuleVerdict::Untested)
        };
        assert!(error_of(&keyless).unwrap().ends_with("does the command read PETSTORE_KEY?"));
    }
}
