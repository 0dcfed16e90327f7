//! The client waits as long as the server asks it to.

use petstore_domain::Timestamp;

use super::{Evidence, seconds};
use crate::advice::{sentence, wait_after};
use crate::judgement::{Finding, Judgement, Severity};
use crate::request::{ClientRequest, TIMER_TOLERANCE};

/// Finds requests whose head arrived after an answer with `Retry-After` was sent in full, and before that time has passed.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    // Answers that ask the client to wait, and that were not sent in full before the last request arrived.
    let mut unfinished: Vec<&ClientRequest<'a>> = Vec::new();
    // The answer whose wait ends last.
    let mut binding: Option<(Timestamp, &ClientRequest<'a>)> = None;
    for request in evidence.requests.iter().copied() {
        unfinished.retain(|answer| {
            let has_ended = answer.ended_before(request);
            let end = answer.binds_until().filter(|_| has_ended);
            if let Some(end) = end.filter(|end| binding.is_none_or(|(until, _)| *end > until)) {
                binding = Some((end, answer));
            }
            !has_ended
        });
        // If the clock was turned back, windows and bans have begun again.
        binding = binding.filter(|(_, answer)| answer.pause_until(request).is_some());
        if let Some((until, answer)) = binding
            && request.at.plus(TIMER_TOLERANCE) < until
            && !request.is_free()
        {
            let status = answer.status().unwrap_or_default();
            let reason = format!("It came {} too early after a {status}.", seconds(until.since(request.at)));
            let advice = sentence(&format!("{}, before the next request.", wait_after(answer)));
            judgement.findings.push(Finding::new(Severity::Breach, reason, advice, &[answer], request));
        }
        if request.binds_until().is_some() {
            judgement.cases += 1;
            unfinished.push(request);
        }
    }
    judgement
}

#[cfg(test)]
mod tests {
    use crate::tests::{findings, get, verdict};

    #[test]
    fn a_request_waits_for_retry_after() {
        for (name, requests, expected) in [
            ("too early", vec![get(0).limited(30), get(10_000)], "breach"),
            ("at once", vec![get(0).limited(30), get(5)], "breach"),
            ("in time", vec![get(0).limited(30), get(30_000)], "kept"),
            ("a timer that is a little early", vec![get(0).limited(30), get(29_950)], "kept"),
            ("a 503", vec![get(0).unavailable(3), get(1_000)], "breach"),
            ("a 503 in time", vec![get(0).unavailable(3), get(3_010)], "kept"),
            ("a ban", vec![get(0).banned(120), get(60_000)], "breach"),
            ("a ban in time", vec![get(0).banned(120), get(120_001)], "kept"),
            ("the end of the window", vec![get(0).limited(30).reset(29), get(29_000)], "kept"),
            ("concurrent", vec![get(0).limited(30).ended_after(2), get(5)], "kept"),
            ("the quota", vec![get(0).limited(30), get(5).path("/rate-limit")], "kept"),
            ("a preflight", vec![get(0).limited(30), get(5).method("OPTIONS")], "kept"),
            ("no refusal", vec![get(0), get(5)], "untested"),
            ("a 403 of another kind", vec![get(0).error(403, "insufficient_scope"), get(5)], "untested"),
            ("a clock that is turned back", vec![get(60_000).limited(30), get(50_000)], "kept"),
            ("too many at once", vec![get(0).concurrent(), get(500)], "breach"),
            ("too many at once, in time", vec![get(0).concurrent(), get(1_000)], "kept"),
        ] {
            assert_eq!(verdict("waits", &requests), expected, "{name}");
        }
    }

    #[test]
    fn the_proof_is_the_answer_that_binds_for_the_longest_time() {
        let requests = [get(0).unavailable(1), get(1_500).limited(30), get(2_000).unavailable(1), get(3_500)];
        let found = findings("waits", &requests);
        assert_eq!(found, [vec![2, 3], vec![2, 4]]);
    }

    #[test]
    fn an_answer_binds_from_its_end_on() {
        // Three requests in flight at once: the third arrives after the first answer.
        let requests = [get(0).limited(30).ended_after(2), get(1).limited(30), get(2)];
        assert_eq!(findings("waits", &requests), [vec![2, 3]]);
    }
}
