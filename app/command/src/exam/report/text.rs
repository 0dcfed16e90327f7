//! The report as text: a table of the scenarios, then what the client should have done otherwise.

use std::fmt::Write;

use petstore_client_report::RuleVerdict;

use crate::exam::examined::{Exam, ExaminedFinding, ExaminedScenario};
use crate::exam::judgement::error_of;
use crate::table::Table;
use crate::terminal::{visible, visible_line};

/// The number of findings of a rule that are shown.
const FINDINGS_SHOWN: usize = 3;

/// The number of lines of a command's output that are shown.
const LINES_SHOWN: usize = 20;

/// Returns the report.
pub(in crate::exam) fn text(exam: &Exam) -> String {
    let mut table = Table::new(["SCENARIO", "VERDICT", "THE COMMAND", "NOT KEPT, OR NOT TESTED"]);
    for scenario in &exam.scenarios {
        table.row([
            scenario.name.clone(),
            scenario.verdict.as_str().to_owned(),
            scenario.end_text(),
            rules_of(scenario),
        ]);
    }
    let mut text = table.render(false);
    let mut before = Findings::default();
    for scenario in &exam.scenarios {
        before.push(&mut text, scenario);
    }
    if exam.interrupted {
        text.push_str("\nThe exam was interrupted.\n");
    }
    text
}

fn rules_of(scenario: &ExaminedScenario) -> String {
    let named = |verdict: RuleVerdict, word: &str| {
        let of_verdict = scenario.rules.iter().filter(move |rule| rule.verdict == verdict);
        let shown = of_verdict
            .filter(|rule| verdict != RuleVerdict::Untested || scenario.proves.contains(&rule.name));
        let names: Vec<_> = shown.map(|rule| rule.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{word}{}", names.join(", ")))
    };
    let parts = [
        named(RuleVerdict::Broken, "broken: "),
        named(RuleVerdict::Hint, "hint: "),
        named(RuleVerdict::Untested, "untested: "),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The last error that was written, for the scenarios after it: a command that does not start fails in all of them.
#[derive(Default)]
struct Findings<'e> {
    text: String,
    scenario: &'e str,
}

impl<'e> Findings<'e> {
    /// Adds what is wrong in a scenario. Writing to a text does not fail.
    fn push(&mut self, text: &mut String, scenario: &'e ExaminedScenario) {
        let part = part(scenario);
        if part.is_empty() {
            return;
        }
        let name = visible_line(&scenario.name);
        if error_of(scenario).is_some() && part == self.text {
            let _ = writeln!(text, "{name}: as in {}", visible_line(self.scenario));
            return;
        }
        let _ = write!(text, "\n{name}: {}\n{part}", visible_line(&scenario.title));
        *self = Self { text: part, scenario: &scenario.name };
    }
}

/// Returns what is wrong in a scenario.
fn part(scenario: &ExaminedScenario) -> String {
    let mut part = String::new();
    if let Some(error) = error_of(scenario) {
        let _ = writeln!(part, "  error: {}", visible_line(&error));
    }
    for rule in scenario.rules.iter().filter(|rule| rule.verdict >= RuleVerdict::Hint) {
        let mut advised = "";
        for finding in rule.findings.iter().take(FINDINGS_SHOWN) {
            let _ = writeln!(part, "  {} {}: {}", rule.name, finding.severity, sentence(finding));
            if finding.advice != std::mem::replace(&mut advised, &finding.advice) {
                let _ = writeln!(part, "    {}", visible_line(&finding.advice));
            }
        }
        let more = rule.found.saturating_sub(FINDINGS_SHOWN.min(rule.findings.len()));
        if more > 0 {
            let _ = writeln!(part, "  {} and {more} more", rule.name);
        }
    }
    if scenario.left_behind > 0 {
        let noun = if scenario.left_behind == 1 { "process" } else { "processes" };
        let _ = writeln!(
            part,
            "  The command left {} {noun} behind; the exam has ended them.",
            scenario.left_behind
        );
    }
    if scenario.without_key > 0 && !scenario.requests.is_empty() {
        let _ = writeln!(part, "  Requests without a key, which are not judged: {}.", scenario.without_key);
    }
    if let Some(left_out) = scenario.left_out_text() {
        let _ = writeln!(part, "  {left_out}");
    }
    let output = scenario.output.trim_end();
    if !scenario.end.is_success() && !output.is_empty() && error_of(scenario).as_deref() != Some(output) {
        part.push_str("  The end of its output:\n");
        let lines: Vec<_> = output.lines().collect();
        for line in &lines[lines.len().saturating_sub(LINES_SHOWN)..] {
            let _ = writeln!(part, "    {}", visible(line));
        }
    }
    part
}

/// Returns the reason of a finding with the requests that prove it.
pub(super) fn sentence(finding: &ExaminedFinding) -> String {
    let mut text = visible_line(&finding.reason).into_owned();
    for (place, proof) in finding.requests.iter().enumerate() {
        let before = if place == 0 { " Requests" } else { "," };
        let _ = write!(text, "{before} #{}", proof.sequence);
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::exam::examined::CommandEnd;

    use super::*;
    use crate::exam::judgement::tests::{exam, scenario};

    #[test]
    fn the_report_names_rules_requests_and_the_end_of_the_output() {
        let text = text(&exam(vec![scenario(CommandEnd::Exited(7), RuleVerdict::Broken)]));
        let expected = "\
SCENARIO  VERDICT  THE COMMAND               NOT KEPT, OR NOT TESTED
busy      broken   ended with 7 after 4.0 s  broken: waits

busy: Busy & full
  error: the command must succeed in this scenario, and ended with 7 after 4.0 s
  waits breach: It came <1 s> too early. Requests #1
  The end of its output:
    line\\u{1b}[31m
";
        assert_eq!(text, expected);
    }

    #[test]
    fn an_error_that_is_that_of_the_scenario_before_is_told_once() {
        let silent = |name: &str| ExaminedScenario {
            name: name.to_owned(),
            requests: vec![],
            rules: vec![],
            ..scenario(CommandEnd::Exited(2), RuleVerdict::Untested)
        };
        let text = text(&exam(vec![silent("calm"), silent("busy"), silent("flaky")]));
        assert_eq!(text.matches("does the command read PETSTORE_URL?").count(), 1, "{text}");
        assert!(text.ends_with("\nbusy: as in calm\nflaky: as in calm\n"), "{text}");
    }

    #[test]
    fn a_rule_that_was_not_tested_is_named() {
        let text = text(&exam(vec![scenario(CommandEnd::Exited(0), RuleVerdict::Untested)]));
        assert!(text.contains("untested: waits"), "{text}");
    }
}
