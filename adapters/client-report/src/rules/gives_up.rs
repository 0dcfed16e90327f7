//! The client ends attempts that fail.

use std::collections::HashMap;

use super::Evidence;
use crate::judgement::{Finding, Judgement, Severity};
use crate::request::ClientRequest;

/// Attempts that failed in a row.
struct Row<'b, 'a> {
    first: &'b ClientRequest<'a>,
    last: &'b ClientRequest<'a>,
    attempts: u32,
}

/// Finds identical attempts beyond the number that may fail in a row. It is a hint if they fail for a reason that another
/// attempt cannot remove, because a test may send them on purpose.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    let mut rows: HashMap<_, Row<'_, 'a>> = HashMap::new();
    for request in evidence.requests.iter().copied() {
        let severity = match request.status() {
            _ if request.failed_temporarily() => Severity::Breach,
            // The answer may change at any time because of other clients.
            Some(404 | 409 | 412) => continue,
            Some(400..) => Severity::Hint,
            // It is neither a failure nor a success.
            _ if request.has_left_wait => continue,
            _ => {
                rows.remove(&request.identity());
                continue;
            }
        };
        let row = rows.entry(request.identity()).or_insert_with(|| {
            judgement.cases += 1;
            Row { first: request, last: request, attempts: 0 }
        });
        // A request that overlaps the last attempt is not a further attempt.
        if row.attempts > 0 && !row.last.ended_before(request) {
            continue;
        }
        row.attempts = row.attempts.saturating_add(1);
        row.last = request;
        if row.attempts > evidence.attempts_max {
            let reason = format!("It is identical attempt {} in a row that fails.", row.attempts);
            judgement.findings.push(Finding::new(severity, reason, &[row.first], request));
        }
    }
    judgement
}

#[cfg(test)]
mod tests {
    use crate::tests::{Sent, findings, get, post, verdict};

    fn attempts(count: i64, fail: fn(Sent) -> Sent) -> Vec<Sent> {
        (0..count).map(|number| fail(get(number * 10_000))).collect()
    }

    #[test]
    fn identical_attempts_come_to_an_end() {
        let unavailable: fn(Sent) -> Sent = |sent| sent.unavailable(1);
        let invalid: fn(Sent) -> Sent = |sent| sent.error(400, "invalid_parameter");
        let missing: fn(Sent) -> Sent = |sent| sent.error(404, "not_found");
        for (name, requests, expected) in [
            ("five", attempts(5, unavailable), "kept"),
            ("six", attempts(6, unavailable), "breach"),
            ("six lost answers", attempts(6, Sent::lost), "breach"),
            ("six refusals", attempts(6, |sent| sent.limited(1)), "breach"),
            ("six wrong requests", attempts(6, invalid), "hint"),
            ("six looks for a pet", attempts(6, missing), "untested"),
            ("six that succeed", attempts(6, |sent| sent), "untested"),
            ("six waits that the client ended", attempts(6, Sent::left_wait), "untested"),
            (
                "a wait that the client ended between failures",
                [attempts(5, unavailable), vec![get(50_000).left_wait()], attempts(1, unavailable)].concat(),
                "breach",
            ),
            (
                "a success between",
                [attempts(4, unavailable), vec![get(50_000)], attempts(4, unavailable)].concat(),
                "kept",
            ),
            (
                "other requests between",
                attempts(6, unavailable).into_iter().flat_map(|sent| [sent, post(0)]).collect(),
                "breach",
            ),
            ("six at once", attempts(6, |sent| sent.unavailable(1).ended_after(9)), "kept"),
            (
                "different ones",
                (0..6).map(|n| get(n).path(&format!("/pets/{n}")).unavailable(1)).collect(),
                "kept",
            ),
        ] {
            assert_eq!(verdict("gives-up", &requests), expected, "{name}");
        }
    }

    #[test]
    fn each_attempt_too_many_is_a_finding() {
        let found = findings("gives-up", &attempts(7, Sent::lost));
        assert_eq!(found, [vec![1, 6], vec![1, 7]]);
    }
}
