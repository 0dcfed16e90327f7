//! The client leaves operations that are about to end.

use std::collections::HashMap;

use super::Evidence;
use crate::advice::header;
use crate::judgement::{Finding, Judgement, Severity};
use crate::request::ClientRequest;

/// Finds calls of an operation after the answer that announced its end. After the sunset each call is a breach.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    let mut announced: HashMap<_, &ClientRequest<'a>> = HashMap::new();
    for request in evidence.requests.iter().copied() {
        let Some(answer) = request.answer.as_ref().filter(|answer| answer.is_deprecated) else { continue };
        judgement.cases += 1;
        let operation = (request.method, request.route.unwrap_or_else(|| request.path()));
        if !request.failed_temporarily() {
            announced.entry(operation).or_insert(request);
        }
        // The repetition of a request that was refused for a moment is no other call.
        let first = announced.get(&operation).copied().unwrap_or(request);
        let is_over =
            answer.has_code("operation_sunset") || answer.sunset.is_some_and(|end| request.at >= end);
        let advice = || {
            format!(
                "Call the operation that `Link` with `rel=\"successor-version\"` names instead; {} says when this one ends.",
                header("Sunset", answer.sunset_text)
            )
        };
        let told: &[_] = if first.ended_before(request) { &[first] } else { &[] };
        if is_over {
            let reason = "It calls an operation after its sunset.".to_owned();
            judgement.findings.push(Finding::new(Severity::Breach, reason, advice(), told, request));
        } else if !told.is_empty() {
            let reason = "It calls an operation whose answer had the header Deprecation.".to_owned();
            judgement.findings.push(Finding::new(Severity::Hint, reason, advice(), told, request));
        }
    }
    judgement
}

#[cfg(test)]
mod tests {
    use crate::tests::{findings, get, verdict};

    #[test]
    fn a_deprecated_operation_is_left() {
        for (name, requests, expected) in [
            ("called once", vec![get(0).deprecated()], "kept"),
            ("called again", vec![get(0).deprecated(), get(9).deprecated()], "hint"),
            (
                "repeated after a refusal",
                vec![get(0).deprecated().limited(1), get(1_000).deprecated()],
                "kept",
            ),
            (
                "called again after a repetition",
                vec![get(0).deprecated().limited(1), get(1_000).deprecated(), get(2_000).deprecated()],
                "hint",
            ),
            ("concurrent", vec![get(0).deprecated().ended_after(2), get(9).deprecated()], "kept"),
            ("another operation", vec![get(0).deprecated(), get(9).path("/pets")], "kept"),
            ("after the sunset", vec![get(0).deprecated().error(410, "operation_sunset")], "breach"),
            ("after the date of the sunset", vec![get(1_000).deprecated().sunset(1_000)], "breach"),
            ("before the date", vec![get(999).deprecated().sunset(1_000)], "kept"),
            ("nothing deprecated", vec![get(0), get(9)], "untested"),
        ] {
            assert_eq!(verdict("heeds-deprecation", &requests), expected, "{name}");
        }
    }

    #[test]
    fn the_proof_begins_with_the_announcement() {
        let requests = [get(0).deprecated(), get(5), get(9).deprecated()];
        assert_eq!(findings("heeds-deprecation", &requests), [vec![1, 3]]);
    }
}
