//! The rules that name each request.

use petstore_request_journal::{Hints, RequestRecord};

use crate::report::Report;
use crate::rules::ATTEMPTS_MAX;

/// Returns the rules that a request did not follow, for each record of a journal, which are in the order of arrival.
pub fn hints(records: &[RequestRecord]) -> Hints {
    let mut hints = Hints::default();
    let report = Report::new(records, ATTEMPTS_MAX);
    for rule in report.clients.iter().flat_map(|client| &client.rules) {
        for finding in &rule.findings {
            if let Some(last) = finding.requests.last() {
                hints.add(last.sequence, rule.rule.name);
            }
        }
    }
    hints
}
