//! The client waits longer while it is refused again.

use std::time::Duration;

use super::{Evidence, seconds};
use crate::judgement::{Finding, Judgement, Severity};
use crate::request::{ClientRequest, TIMER_TOLERANCE};

/// A pause is a hint if this factor makes it still shorter than the pause before. On a busy machine equal pauses differ.
const SHORTENING: u32 = 2;

/// Finds requests that follow a second 429 in a row after a pause that is shorter than `Retry-After`, or shorter than half
/// of the pause before. A request that overlaps the last attempt does not count as an attempt.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    let mut last: Option<&ClientRequest<'a>> = None;
    // The pause before the last request, if that one and the one before it got 429.
    let mut pause_before: Option<Duration> = None;
    for request in evidence.requests.iter().copied() {
        let Some(previous) = last else {
            last = Some(request);
            continue;
        };
        if !previous.ended_before(request) {
            if !request.is_limited() {
                (last, pause_before) = (Some(request), None);
            }
            continue;
        }
        let pause = previous.pause_until(request).filter(|_| previous.is_limited());
        if let (Some(pause), Some(before)) = (pause, pause_before) {
            judgement.cases += 1;
            let is_early =
                previous.binds_until().is_some_and(|until| request.at.plus(TIMER_TOLERANCE) < until);
            if is_early {
                let reason = format!("It came {} after a second 429, before Retry-After.", seconds(pause));
                judgement.findings.push(Finding::new(Severity::Breach, reason, &[previous], request));
            } else if pause < before / SHORTENING {
                let reason = format!(
                    "It came {} after a second 429; the pause before was {}.",
                    seconds(pause),
                    seconds(before)
                );
                judgement.findings.push(Finding::new(Severity::Hint, reason, &[previous], request));
            }
        }
        pause_before = pause.filter(|_| request.is_limited());
        last = Some(request);
    }
    judgement
}

#[cfg(test)]
mod tests {
    use crate::tests::{get, verdict};

    #[test]
    fn pauses_do_not_become_shorter_than_the_server_asks() {
        for (name, requests, expected) in [
            ("one refusal", vec![get(0).limited(1), get(1_000)], "untested"),
            ("short", vec![get(0).limited(1), get(1_000).limited(10), get(5_000)], "breach"),
            ("as asked", vec![get(0).limited(1), get(1_000).limited(10), get(11_000)], "kept"),
            ("shorter than before", vec![get(0).limited(1), get(9_000).limited(1), get(11_000)], "hint"),
            ("a little shorter", vec![get(0).limited(1), get(1_900).limited(1), get(2_950)], "kept"),
            ("equal", vec![get(0).limited(2), get(2_003).limited(2), get(4_004)], "kept"),
            (
                "a success between",
                vec![get(0).limited(1), get(9_000), get(9_001).limited(1), get(9_002)],
                "untested",
            ),
            ("concurrent", vec![get(0).limited(1).ended_after(2), get(1).limited(1), get(2)], "untested"),
            (
                "longer and longer",
                vec![get(0).limited(1), get(1_000).limited(1), get(3_000).limited(1), get(7_000)],
                "kept",
            ),
        ] {
            assert_eq!(verdict("backs-off", &requests), expected, "{name}");
        }
    }
}
