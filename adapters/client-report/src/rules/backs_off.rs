//! The client waits longer while it is refused again.

use std::time::Duration;

use super::{Evidence, growing_pauses, seconds};
use crate::advice::wait_after;
use crate::judgement::{Finding, Judgement, Severity};
use crate::request::{ClientRequest, TIMER_TOLERANCE};

/// The time after the end of `Retry-After` within which a request counts as sent when the server asked for it. The header
/// has whole seconds.
const FOLLOWING: Duration = Duration::from_secs(1);

/// The part of `Retry-After` that a client may add at random, so that not all clients come back at once: one half. axios-retry
/// adds up to a fifth.
const SPREAD: u32 = 2;

/// The pause before a request that follows a 429.
#[derive(Clone, Copy)]
struct Pause {
    length: Duration,
    /// `true` if the request came soon after the time that `Retry-After` names.
    is_as_asked: bool,
}

/// Finds pauses that are too short after refusals, and pauses that do not grow while no answer says how long to wait.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = after_refusals(evidence);
    let untold = growing_pauses::judge(evidence);
    judgement.cases += untold.cases;
    judgement.findings.extend(untold.findings);
    // Stable, so that the findings about one request stay together in this order.
    judgement.findings.sort_by_key(|finding| finding.requests.last().map(|last| last.sequence));
    judgement
}

/// Finds requests that follow a second 429 in a row after a pause that is shorter than `Retry-After`. A pause that is
/// shorter than the one before is a hint, unless the client waited each time as long as the server asked: then the server
/// has set the pauses. Longer delays on top of `Retry-After` may get the hint, because a client that is refused again
/// should reduce its rate. Requests that overlap the last attempt are no attempts of their own.
fn after_refusals<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    let mut last: Option<&ClientRequest<'a>> = None;
    // The pause before the last request, if that one and the one before it got 429.
    let mut pause_before: Option<Pause> = None;
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
        let pause = previous.is_limited().then(|| pause_between(previous, request)).flatten();
        if let (Some(pause), Some(before)) = (pause, pause_before) {
            judgement.cases += 1;
            if let Some((severity, reason, advice)) = fault_of(pause, before, previous, request) {
                judgement.findings.push(Finding::new(severity, reason, advice, &[previous], request));
            }
        }
        pause_before = pause.filter(|_| request.is_limited());
        last = Some(request);
    }
    judgement
}

fn pause_between(refused: &ClientRequest<'_>, next: &ClientRequest<'_>) -> Option<Pause> {
    let length = refused.pause_until(next)?;
    // Not from the end of the window, which may be up to a second earlier and which a client need not know.
    let is_as_asked = refused.wait_asked().is_some_and(|wait| length < wait + wait / SPREAD + FOLLOWING);
    Some(Pause { length, is_as_asked })
}

/// Returns what is wrong with a pause after a second refusal, and the advice.
fn fault_of(
    pause: Pause,
    before: Pause,
    refused: &ClientRequest<'_>,
    next: &ClientRequest<'_>,
) -> Option<(Severity, String, String)> {
    let length = seconds(pause.length);
    if refused.binds_until().is_some_and(|until| next.at.plus(TIMER_TOLERANCE) < until) {
        let advice =
            format!("After a second 429 in a row {}, and send less from then on.", wait_after(refused));
        let reason = format!("It came {length} after a second 429, before Retry-After.");
        return Some((Severity::Breach, reason, advice));
    }
    let is_shorter = pause.length + TIMER_TOLERANCE < before.length;
    if is_shorter && !(pause.is_as_asked && before.is_as_asked) {
        let before = seconds(before.length);
        return Some((
            Severity::Hint,
            format!("It came {length} after a second 429; the pause before was {before}."),
            format!(
                "Make each pause at least as long as the one before, here {before}, while answers are 429; `Retry-After` is the \
                 shortest pause."
            ),
        ));
    }
    None
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
            ("not half as short", vec![get(0).limited(1), get(5_000).limited(1), get(9_000)], "hint"),
            ("as short as asked", vec![get(0).limited(9), get(9_000).limited(2), get(11_050)], "kept"),
            // The first pause is 3.6 s of 3 s, and the window ends after 2.5 s.
            ("a random part", vec![get(500).limited(3).reset(3), get(4_100).limited(2), get(6_150)], "kept"),
            ("as asked and half of it", vec![get(0).limited(8), get(12_900).limited(2), get(15_000)], "kept"),
            ("far more than asked", vec![get(0).limited(8), get(13_100).limited(2), get(15_200)], "hint"),
            ("the second as asked", vec![get(0).limited(1), get(9_000).limited(2), get(11_050)], "hint"),
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
