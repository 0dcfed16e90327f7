//! The report as JSON.

use serde::Serialize;

use crate::judgement::{Finding, Proof};
use crate::report::{ClientReport, Report, RuleReport};

/// The number of findings of a rule that the JSON has. `found` counts all of them.
const FINDINGS_MAX: usize = 100;

#[derive(Serialize)]
struct ReportView<'r> {
    verdict: &'static str,
    clients: Vec<ClientView<'r>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClientView<'r> {
    key_prefix: Option<&'r str>,
    requests: usize,
    verdict: &'static str,
    rules: Vec<RuleView<'r>>,
}

#[derive(Serialize)]
struct RuleView<'r> {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    verdict: &'static str,
    cases: usize,
    found: usize,
    findings: Vec<FindingView<'r>>,
}

#[derive(Serialize)]
struct FindingView<'r> {
    severity: &'static str,
    reason: &'r str,
    advice: &'r str,
    requests: Vec<ProofView<'r>>,
}

#[derive(Serialize)]
struct ProofView<'r> {
    sequence: u64,
    id: &'r str,
}

impl Report<'_> {
    /// Returns the report as JSON.
    pub fn json(&self) -> String {
        let clients = self.clients.iter().map(ClientView::new).collect();
        let view = ReportView { verdict: self.summary(), clients };
        serde_json::to_string(&view).expect("texts and numbers can be written as JSON")
    }
}

impl<'r> ClientView<'r> {
    fn new(client: &'r ClientReport<'_>) -> Self {
        Self {
            key_prefix: client.key,
            requests: client.requests,
            verdict: client.verdict().as_str(),
            rules: client.rules.iter().map(RuleView::new).collect(),
        }
    }
}

impl<'r> RuleView<'r> {
    fn new(report: &'r RuleReport<'_>) -> Self {
        Self {
            name: report.rule.name,
            summary: report.rule.summary,
            source: report.rule.source,
            verdict: report.verdict().as_str(),
            cases: report.cases,
            found: report.findings.len(),
            findings: report.findings.iter().take(FINDINGS_MAX).map(FindingView::new).collect(),
        }
    }
}

impl<'r> FindingView<'r> {
    fn new(finding: &'r Finding<'_>) -> Self {
        let proof = |Proof { sequence, id }: &Proof<'r>| ProofView { sequence: *sequence, id };
        Self {
            severity: finding.severity.as_str(),
            reason: &finding.reason,
            advice: &finding.advice,
            requests: finding.requests.iter().map(proof).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::report::Report;
    use crate::rules::ATTEMPTS_MAX;
    use crate::tests::{get, numbered};

    #[test]
    fn each_finding_names_its_requests() {
        let requests = numbered(&[get(0).limited(30), get(1_000)]);
        let json = Report::of_requests(&requests, ATTEMPTS_MAX).json();
        let start = concat!(
            r#"{"verdict":"broken","clients":[{"keyPrefix":"pet_aaaaaaaa","requests":2,"verdict":"broken","rules":["#,
            r#"{"name":"waits","summary":"sends nothing before the Retry-After of a 429, a 503 or a ban has passed","#,
            r#""source":"the specification, Limits","verdict":"broken","cases":1,"found":1,"findings":["#,
            r#"{"severity":"breach","reason":"It came 29.0 s too early after a 429.","#,
            r#""advice":"Wait 30 s, as `Retry-After: 30` said, before the next request.","#,
            r#""requests":[{"sequence":1,"id":"r1"},{"sequence":2,"id":"r2"}]}]},"#,
        );
        assert!(json.starts_with(start), "{json}");
    }

    #[test]
    fn the_findings_of_a_rule_are_bounded() {
        let mut sent = vec![get(0).limited(60)];
        sent.extend((1..=150).map(get));
        let json = Report::of_requests(&numbered(&sent), ATTEMPTS_MAX).json();
        assert!(json.contains(r#""found":150,"#));
        assert_eq!(json.matches("too early").count(), super::FINDINGS_MAX);
    }
}
