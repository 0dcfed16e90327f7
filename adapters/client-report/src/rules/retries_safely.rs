//! The client repeats a POST only in a form that cannot take effect twice.

use std::collections::HashMap;

use super::{Evidence, REPETITION};
use crate::advice::header;
use crate::judgement::{Finding, Judgement, Severity};

/// Finds repetitions of a POST whose result the client does not know, without `Idempotency-Key` or with another one.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    let mut last_of = HashMap::new();
    for request in evidence.requests.iter().copied().filter(|request| request.method == "POST") {
        let Some(first) = last_of.insert(request.identity(), request) else { continue };
        let is_repetition = first.pause_until(request).is_some_and(|pause| pause <= REPETITION);
        if !is_repetition || !first.is_without_result() {
            continue;
        }
        judgement.cases += 1;
        let reason = match (&first.idempotency_key, &request.idempotency_key) {
            (Some(one), Some(other)) if one == other => continue,
            (Some(_), Some(_)) => "It repeats a POST with another Idempotency-Key.",
            (Some(_), None) => "It repeats a POST without the Idempotency-Key of the first attempt.",
            (None, _) => "It repeats a POST whose first attempt had no Idempotency-Key.",
        };
        let advice = match first.idempotency_key {
            Some(key) => format!(
                "Repeat the POST with {}, the key of the first attempt, so that the server acts once and returns the first answer.",
                header("Idempotency-Key", Some(key))
            ),
            None => "Send a new `Idempotency-Key`, such as a UUID, with the first attempt and the same one with each repetition, so that \
                     the server acts once."
                .to_owned(),
        };
        judgement.findings.push(Finding::new(Severity::Breach, reason.to_owned(), advice, &[first], request));
    }
    judgement
}

#[cfg(test)]
mod tests {
    use crate::tests::{post, verdict};

    #[test]
    fn a_repeated_post_has_the_same_idempotency_key() {
        for (name, requests, expected) in [
            ("no key", vec![post(0).lost(), post(10)], "breach"),
            ("the same key", vec![post(0).lost().key("a"), post(10).key("a")], "kept"),
            ("another key", vec![post(0).lost().key("a"), post(10).key("b")], "breach"),
            ("a key on the repetition only", vec![post(0).lost(), post(10).key("a")], "breach"),
            ("a key on the first only", vec![post(0).lost().key("a"), post(10)], "breach"),
            ("after a 500", vec![post(0).error(500, "internal_error"), post(10)], "breach"),
            ("after a body that is no JSON", vec![post(0).malformed(), post(10)], "breach"),
            ("after a 503", vec![post(0).unavailable(1), post(1_000)], "breach"),
            ("after a 429, which has no effect", vec![post(0).limited(1), post(1_000)], "untested"),
            ("after a success: a second order", vec![post(0), post(10)], "untested"),
            ("another body", vec![post(0).lost(), post(10).body("{}")], "untested"),
            ("another path", vec![post(0).lost(), post(10).path("/pets")], "untested"),
            ("a minute later", vec![post(0).lost(), post(60_001)], "untested"),
            ("concurrent: two orders", vec![post(0).lost().ended_after(2), post(10)], "untested"),
            ("no retry at all", vec![post(0).lost()], "untested"),
            (
                "a method that may be repeated",
                vec![post(0).method("PUT").lost(), post(10).method("PUT")],
                "untested",
            ),
            (
                "the second repetition",
                vec![post(0).lost().key("a"), post(9).lost().key("a"), post(19)],
                "breach",
            ),
        ] {
            assert_eq!(verdict("retries-safely", &requests), expected, "{name}");
        }
    }
}
