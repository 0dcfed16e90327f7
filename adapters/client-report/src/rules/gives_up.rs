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

impl<'a> Row<'_, 'a> {
    /// Judges a request whose key has ended. One that was sent before the first such answer ended is none too many.
    /// A few are a hint, because a program may do several independent things.
    fn goes_on(&mut self, request: &ClientRequest<'a>, attempts_max: u32) -> Option<Finding<'a>> {
        if !self.first.ended_before(request) {
            return None;
        }
        self.attempts = self.attempts.saturating_add(1);
        let severity = if self.attempts > attempts_max { Severity::Breach } else { Severity::Hint };
        let code = self.first.answer.as_ref().and_then(|answer| answer.code).unwrap_or_default();
        let reason = format!("It is request {} after the answer {code}.", self.attempts);
        let advice = format!(
            "Stop when an answer is 401 with the code `{code}`: no request with this key will succeed. Show the error to the user, and \
             go on with a new key only."
        );
        Some(Finding::new(severity, reason, advice, &[self.first], request))
    }
}

/// Finds identical attempts beyond the number that may fail in a row. It is a hint if they fail for a reason that another
/// attempt cannot remove, because a test may send them on purpose. Finds also requests with a key that was revoked or has
/// expired, as an answer before told.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    let mut rows: HashMap<_, Row<'_, 'a>> = HashMap::new();
    let mut without_key: Option<Row<'_, 'a>> = None;
    for request in evidence.requests.iter().copied() {
        if request.has_lost_its_key() {
            let row = without_key.get_or_insert_with(|| {
                judgement.cases += 1;
                Row { first: request, last: request, attempts: 0 }
            });
            judgement.findings.extend(row.goes_on(request, evidence.attempts_max));
            continue;
        }
        if request.status().is_some_and(|status| status < 400) {
            // The refusal was planned for some requests only.
            without_key = None;
        }
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
            let advice = advice(severity, request, evidence.attempts_max);
            judgement.findings.push(Finding::new(severity, reason, advice, &[row.first], request));
        }
    }
    judgement
}

/// Returns what the client should have done instead of a further attempt.
fn advice(severity: Severity, request: &ClientRequest<'_>, attempts_max: u32) -> String {
    match (severity, request.status()) {
        (Severity::Hint, Some(status)) => format!(
            "Do not repeat a request that is answered with {status}: change it as `code` and `message` of the answer say, or show them to \
             the user."
        ),
        (_, Some(status)) if status < 400 => format!(
            "Do not repeat a request whose body is no JSON again and again: after {attempts_max} attempts at most return an error, although \
             the answer is {status} with `Content-Type: application/json`."
        ),
        (_, Some(status)) => format!(
            "Stop after {attempts_max} failed attempts and return the error to the caller; after a {status} a later run may try again when \
             `Retry-After` has passed."
        ),
        (_, None) => format!(
            "Stop after {attempts_max} attempts without an answer, with pauses that grow or are as long as the last `Retry-After`, and return the error to the caller."
        ),
    }
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
            ("six bodies that are no JSON", attempts(6, Sent::malformed), "breach"),
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
    fn no_request_follows_the_end_of_the_key() {
        let revoked = |sent: Sent| sent.error(401, "api_key_revoked");
        let pets = |count: i64| (0..count).map(move |n| revoked(get(n).path(&format!("/pets/{n}"))));
        for (name, requests, expected) in [
            ("stops", pets(1).collect::<Vec<_>>(), "kept"),
            ("one more", pets(2).collect(), "hint"),
            ("five more", pets(6).collect(), "hint"),
            ("six more", pets(7).collect(), "breach"),
            ("six equal ones more", (0..7).map(|n| revoked(get(n))).collect(), "breach"),
            (
                "six of an expired key",
                (0..7).map(|n| get(n).error(401, "api_key_expired")).collect(),
                "breach",
            ),
            ("seven at once", pets(7).map(|sent| sent.ended_after(9)).collect(), "kept"),
            ("a success between", pets(4).chain([get(9)]).chain(pets(4)).collect(), "hint"),
            ("another 401", (0..5).map(|n| get(n).error(401, "invalid_api_key")).collect(), "kept"),
        ] {
            assert_eq!(verdict("gives-up", &requests), expected, "{name}");
        }
        assert_eq!(findings("gives-up", &pets(3).collect::<Vec<_>>()), [vec![1, 2], vec![1, 3]]);
    }

    #[test]
    fn each_attempt_too_many_is_a_finding() {
        let found = findings("gives-up", &attempts(7, Sent::lost));
        assert_eq!(found, [vec![1, 6], vec![1, 7]]);
    }
}
