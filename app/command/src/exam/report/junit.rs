//! The report as JUnit's XML: a suite for each scenario, a case for each rule, and one for the command.

use std::borrow::Cow;
use std::fmt::Write;

use petstore_client_report::RuleVerdict;

use super::text::sentence;
use crate::exam::examined::{CommandEnd, Exam, ExaminedRule, ExaminedScenario};
use crate::exam::judgement::{FailOn, error_of};

/// The result of a case.
enum CaseResult {
    Passed,
    /// The text says why the rule does not count.
    Skipped(String),
    Failed {
        message: String,
        text: String,
    },
    /// The command did not do what it must, so the scenario tells little.
    Error(String),
}

/// A case of a suite.
struct Case<'e> {
    name: &'e str,
    result: CaseResult,
}

/// Returns the report. Writing to a text does not fail.
pub(super) fn junit(exam: &Exam, fail_on: FailOn) -> String {
    let suites: Vec<_> = exam.scenarios.iter().map(|scenario| (scenario, cases(scenario, fail_on))).collect();
    let all: Vec<_> = suites.iter().flat_map(|(_, cases)| cases).collect();
    let millis: u64 = exam.scenarios.iter().map(|scenario| scenario.duration_ms).sum();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Jenkins reads strictly, and its schema has no attribute `skipped` here.
    let _ = writeln!(xml, "<testsuites name=\"petstore exam\"{} time=\"{}\">", counts(&all), secs(millis));
    for (scenario, cases) in &suites {
        push_suite(&mut xml, scenario, cases);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn push_suite(xml: &mut String, scenario: &ExaminedScenario, cases: &[Case<'_>]) {
    let name = escaped(&scenario.name);
    let all: Vec<_> = cases.iter().collect();
    let time = secs(scenario.duration_ms);
    let skipped = cases.iter().filter(|case| matches!(case.result, CaseResult::Skipped(_))).count();
    let _ =
        writeln!(xml, "  <testsuite name=\"{name}\"{} skipped=\"{skipped}\" time=\"{time}\">", counts(&all));
    let _ = writeln!(
        xml,
        "    <properties>\n      <property name=\"title\" value=\"{}\"/>\n      <property name=\"command\" value=\"{}\"/>\n    \
         </properties>",
        escaped(&scenario.title),
        escaped(&scenario.end_text())
    );
    for case in cases {
        // The time of the scenario is that of the command.
        let time = if case.name == COMMAND { time.as_str() } else { "0" };
        let _ =
            write!(xml, "    <testcase name=\"{}\" classname=\"{name}\" time=\"{time}\"", escaped(case.name));
        match &case.result {
            CaseResult::Passed => xml.push_str("/>\n"),
            CaseResult::Skipped(why) => {
                let _ = write!(xml, ">\n      <skipped message=\"{}\"/>\n    </testcase>\n", escaped(why));
            }
            CaseResult::Failed { message, text } => {
                let (message, text) = (escaped(message), escaped(text));
                let _ = write!(
                    xml,
                    ">\n      <failure message=\"{message}\" type=\"rule\">{text}</failure>\n    </testcase>\n"
                );
            }
            CaseResult::Error(why) => {
                let why = escaped(why);
                let _ =
                    write!(xml, ">\n      <error message=\"{why}\" type=\"command\"/>\n    </testcase>\n");
            }
        }
    }
    let left_out = scenario.left_out_text().map_or_else(String::new, |text| format!("{text}\n"));
    if !scenario.output.is_empty() || !left_out.is_empty() {
        let output = format!("{left_out}{}", scenario.output);
        let _ = writeln!(xml, "    <system-out>{}</system-out>", escaped(&output));
    }
    xml.push_str("  </testsuite>\n");
}

/// The name of the case about the command itself.
const COMMAND: &str = "command";

/// The cases of a scenario: the command, and the rules that the scenario proves or that a request tested.
fn cases(scenario: &ExaminedScenario, fail_on: FailOn) -> Vec<Case<'_>> {
    let of_command = match error_of(scenario) {
        Some(why) => CaseResult::Error(why),
        None if scenario.end.is_success() => CaseResult::Passed,
        None if scenario.end == CommandEnd::Interrupted => {
            CaseResult::Skipped(format!("the command {}", scenario.end_text()))
        }
        None => {
            CaseResult::Skipped(format!("the command {}, which this scenario permits", scenario.end_text()))
        }
    };
    let is_case =
        |rule: &&ExaminedRule| rule.verdict != RuleVerdict::Untested || scenario.proves.contains(&rule.name);
    let of_rules = scenario.rules.iter().filter(is_case);
    let of_rules = of_rules.map(|rule| Case { name: &rule.name, result: result(scenario, rule, fail_on) });
    std::iter::once(Case { name: COMMAND, result: of_command }).chain(of_rules).collect()
}

fn result(scenario: &ExaminedScenario, rule: &ExaminedRule, fail_on: FailOn) -> CaseResult {
    let findings = || rule.findings.iter().map(sentence).collect::<Vec<_>>().join("\n");
    let untested = || format!("no request tested whether the client {}", rule.summary);
    let message = || match rule.verdict {
        RuleVerdict::Untested => untested(),
        verdict => format!("{}: the client {}", verdict.as_str(), rule.summary),
    };
    if fail_on.counts(scenario, rule) {
        return CaseResult::Failed { message: message(), text: with_advice(rule) };
    }
    match rule.verdict {
        RuleVerdict::Untested => CaseResult::Skipped(untested()),
        RuleVerdict::Hint => CaseResult::Skipped(format!("a hint: {}", findings())),
        RuleVerdict::Kept | RuleVerdict::Broken => CaseResult::Passed,
    }
}

/// The findings of a rule, each with its advice, unless it is that of the finding before.
fn with_advice(rule: &ExaminedRule) -> String {
    let mut lines = Vec::new();
    let mut advised = "";
    for finding in &rule.findings {
        lines.push(sentence(finding));
        if finding.advice != std::mem::replace(&mut advised, &finding.advice) {
            lines.push(format!("  {}", finding.advice));
        }
    }
    lines.join("\n")
}

/// The numbers of cases by their results, as attributes.
fn counts(cases: &[&Case<'_>]) -> String {
    let count = |is: fn(&CaseResult) -> bool| cases.iter().filter(|case| is(&case.result)).count();
    format!(
        " tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        cases.len(),
        count(|result| matches!(result, CaseResult::Failed { .. })),
        count(|result| matches!(result, CaseResult::Error(_)))
    )
}

fn secs(millis: u64) -> String {
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

/// Escapes a text for an attribute or an element. Characters that XML 1.0 cannot have become the replacement character.
fn escaped(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| is_of_xml(c) && !matches!(c, '<' | '>' | '&' | '"' | '\'' | '\n' | '\t' | '\r');
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            // Attributes would have spaces instead.
            '\n' | '\t' | '\r' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            _ if is_of_xml(c) => escaped.push(c),
            _ => escaped.push('\u{fffd}'),
        }
    }
    Cow::Owned(escaped)
}

/// Returns whether XML 1.0 can have a character.
const fn is_of_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exam::judgement::tests::{exam, scenario};

    #[test]
    fn what_counts_is_a_failure_and_other_findings_are_skipped() {
        let one = |verdict| exam(vec![scenario(CommandEnd::Exited(0), verdict)]);
        let broken = junit(&one(RuleVerdict::Broken), FailOn::Broken);
        assert!(
            broken.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"4.050\""),
            "{broken}"
        );
        let failure = "<failure message=\"broken: the client waits\" type=\"rule\">It came &lt;1 s&gt; too early. Requests #1<";
        assert!(broken.contains(failure), "{broken}");
        assert!(
            broken.contains("value=\"Busy &amp; full\"") && broken.contains("line\u{fffd}[31m&#10;"),
            "{broken}"
        );
        for (verdict, fail_on, counts) in [
            (RuleVerdict::Hint, FailOn::Broken, "failures=\"0\" errors=\"0\" skipped=\"1\""),
            (RuleVerdict::Hint, FailOn::Hint, "failures=\"1\" errors=\"0\" skipped=\"0\""),
            (RuleVerdict::Untested, FailOn::Hint, "failures=\"0\" errors=\"0\" skipped=\"1\""),
            (RuleVerdict::Untested, FailOn::Untested, "failures=\"1\" errors=\"0\" skipped=\"0\""),
            (RuleVerdict::Kept, FailOn::Untested, "failures=\"0\" errors=\"0\" skipped=\"0\""),
        ] {
            let xml = junit(&one(verdict), fail_on);
            assert!(xml.contains(counts), "{verdict:?}: {xml}");
        }
    }

    #[test]
    fn a_command_that_fails_is_an_error_where_it_must_not() {
        let failed = scenario(CommandEnd::Exited(7), RuleVerdict::Kept);
        let may = ExaminedScenario { must_pass: false, ..failed.clone() };
        let xml = junit(&exam(vec![failed, may]), FailOn::Broken);
        assert!(
            xml.contains(
                "<testsuites name=\"petstore exam\" tests=\"4\" failures=\"0\" errors=\"1\" time=\"8.100\">"
            ),
            "{xml}"
        );
        assert!(xml.contains(", which this scenario permits"), "{xml}");
        let interrupted = scenario(CommandEnd::Interrupted, RuleVerdict::Kept);
        let xml = junit(&exam(vec![interrupted]), FailOn::Broken);
        assert!(xml.contains("<skipped message=\"the command was interrupted after 4.0 s\""), "{xml}");
    }
}
