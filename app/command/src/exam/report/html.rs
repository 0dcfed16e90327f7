//! The report as a page.

use std::time::Duration;

use petstore_client_report::{
    PageAnswer, PageClient, PageFinding, PagePart, PageRequest, PageRule, ReportPage, Severity, wait_asked,
};
use petstore_domain::Timestamp;

use crate::exam::examined::{
    Exam, ExaminedAnswer, ExaminedFinding, ExaminedRequest, ExaminedRule, ExaminedScenario,
};
use crate::exam::judgement::error_of;

/// Returns the page, with a part for each scenario.
pub(super) fn html(exam: &Exam) -> String {
    let parts: Vec<_> = exam.scenarios.iter().map(part).collect();
    let title = format!("petstore exam {}", exam.command.join(" "));
    ReportPage { title: title.trim_end(), parts: &parts }.to_string()
}

fn part(scenario: &ExaminedScenario) -> PagePart<'_> {
    let client = PageClient {
        key: Some(&scenario.key_prefix),
        rules: scenario.rules.iter().map(rule).collect(),
        requests: scenario.requests.iter().filter_map(request).collect(),
    };
    let error = error_of(scenario);
    // The reason for which it could not start is its output.
    let has_more = !scenario.end.is_success() && error.as_deref() != Some(&*scenario.output);
    let has_failed = error.is_some();
    let ended = error.unwrap_or_else(|| format!("The command {}.", scenario.end_text()));
    let ended: Vec<_> = [Some(ended), scenario.left_out_text()].into_iter().flatten().collect();
    PagePart {
        title: Some(format!("{}: {}", scenario.name, scenario.title).into()),
        has_failed,
        ended: Some(ended.join(" ").into()),
        printed: (has_more && !scenario.output.trim().is_empty()).then(|| scenario.output.as_str().into()),
        clients: if scenario.requests.is_empty() { vec![] } else { vec![client] },
    }
}

fn rule(rule: &ExaminedRule) -> PageRule<'_> {
    PageRule {
        name: &rule.name,
        summary: &rule.summary,
        source: &rule.source,
        verdict: rule.verdict,
        cases: rule.cases,
        found: rule.found,
        findings: rule.findings.iter().map(finding).collect(),
    }
}

fn finding(finding: &ExaminedFinding) -> PageFinding<'_> {
    PageFinding {
        severity: if finding.severity == Severity::Breach.as_str() {
            Severity::Breach
        } else {
            Severity::Hint
        },
        reason: &finding.reason,
        advice: &finding.advice,
        requests: finding.requests.iter().map(|proof| proof.sequence).collect(),
    }
}

/// Returns a request, unless its time is not one.
fn request(request: &ExaminedRequest) -> Option<PageRequest<'_>> {
    let at = Timestamp::parse(&request.at).ok()?;
    let ended = request.answer.as_ref().filter(|answer| answer.outcome != "streaming");
    let ended = ended.and_then(|answer| Timestamp::parse(&answer.at).ok());
    Some(PageRequest {
        sequence: request.sequence,
        at,
        ended,
        method: &request.method,
        target: &request.target,
        answer: request.answer.as_ref().map_or(PageAnswer::Open, answer),
        wait_until: request.answer.as_ref().and_then(|answer| wait_until(answer, ended?)),
        fault: request.fault.as_deref(),
        tool: None,
    })
}

fn answer(answer: &ExaminedAnswer) -> PageAnswer<'_> {
    match (answer.outcome.as_str(), answer.status) {
        ("sent" | "streaming", Some(status)) => PageAnswer::Sent { status, code: answer.code.as_deref() },
        (_, made) => PageAnswer::Lost { made },
    }
}

/// Returns the time until which an answer asks the client to send nothing.
fn wait_until(answer: &ExaminedAnswer, ended: Timestamp) -> Option<Timestamp> {
    let retry_after = header(answer, "retry-after").filter(|_| answer.outcome == "sent")?;
    let secs = wait_asked(answer.status?, answer.code.as_deref(), retry_after, header(answer, "date"))?;
    Some(ended.plus(Duration::from_secs(secs)))
}

/// Returns the value of the first header with this name.
fn header<'a>(answer: &'a ExaminedAnswer, name: &str) -> Option<&'a str> {
    let found = answer.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use petstore_client_report::RuleVerdict;

    use super::*;
    use crate::exam::examined::CommandEnd;
    use crate::exam::judgement::tests::{exam, scenario};

    #[test]
    fn a_page_has_a_part_for_each_scenario() {
        let page = html(&exam(vec![scenario(CommandEnd::Exited(7), RuleVerdict::Broken)]));
        for part in [
            "petstore exam python",
            "busy: Busy &amp; full",
            "must succeed in this scenario",
            "It came &lt;1 s&gt; too early.",
            "The end of its output</summary><pre tabindex=\"0\">line\\u{1b}[31m\n</pre>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    #[test]
    fn the_end_of_a_wait_is_that_of_the_rule() {
        let ended = Timestamp::parse("2030-01-01T12:00:00Z").unwrap();
        let answer = |status, value: &str| ExaminedAnswer {
            at: ended.to_string(),
            outcome: "sent".to_owned(),
            status: Some(status),
            code: None,
            headers: vec![
                ("retry-after".to_owned(), value.to_owned()),
                ("date".to_owned(), "Sun, 06 Nov 1994 08:49:37 GMT".to_owned()),
            ],
        };
        for (status, value, secs) in [
            (429, "3", Some(3)),
            (503, "Sun, 06 Nov 1994 08:49:39 GMT", Some(1)),
            (503, "soon", Some(1)),
            (200, "3", None),
        ] {
            let expected = secs.map(|secs| ended.plus(Duration::from_secs(secs)));
            assert_eq!(wait_until(&answer(status, value), ended), expected, "{status} {value}");
        }
    }
}
