//! The client pauses when its quota is used up, before it is refused.

use std::time::Duration;

use petstore_domain::Timestamp;

use super::{Evidence, seconds};
use crate::judgement::{Finding, Judgement, Severity};
use crate::request::{ClientRequest, Maker, TIMER_TOLERANCE};

/// Finds requests that arrived after an answer whose quota headers said that nothing is left, and before the window of that quota
/// ended. The last answer that had ended counts. If it has `Retry-After`, that says how long the client waits, and the rule `waits`
/// judges it. A client without a key may be several programs, and the caller of a tool sees no headers.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    // Answers with a quota that were not sent in full before the last request arrived.
    let mut unfinished: Vec<&ClientRequest<'a>> = Vec::new();
    let mut latest: Option<&ClientRequest<'a>> = None;
    for request in evidence.requests.iter().copied() {
        if request.made_by == Maker::Tool || request.client().is_none() {
            continue;
        }
        unfinished.retain(|answer| {
            let has_ended = answer.ended_before(request);
            if has_ended && latest.is_none_or(|latest| ended_at(latest) <= ended_at(answer)) {
                latest = Some(answer);
            }
            !has_ended
        });
        // If the clock was turned back, windows have begun again.
        latest = latest.filter(|answer| answer.pause_until(request).is_some());
        if let Some(answer) = latest
            && let Some(reset) = spent_until(answer)
            && request.at.plus(TIMER_TOLERANCE) < reset
            && !request.is_free()
        {
            let left = seconds(reset.since(request.at));
            let reason = format!("It came {left} before the end of a window in which no request was left.");
            let whole = answer.ended.map_or_else(String::new, |end| seconds(reset.since(end.at)));
            let advice = format!(
                "When nothing is left (`X-RateLimit-Remaining: 0`, or `r=0` in `RateLimit`), wait until the window ends, here {whole}, as \
                 `X-RateLimit-Reset` or `t` says."
            );
            judgement.findings.push(Finding::new(Severity::Hint, reason, advice, &[answer], request));
        }
        if request.answer.as_ref().is_some_and(|answer| answer.remaining.is_some()) {
            judgement.cases += usize::from(spent_until(request).is_some());
            unfinished.push(request);
        }
    }
    judgement
}

fn ended_at(request: &ClientRequest<'_>) -> Option<Duration> {
    request.ended.map(|end| end.uptime)
}

/// Returns the end of the window in which an answer leaves no request; `None` if it leaves some, or tells another wait.
fn spent_until(request: &ClientRequest<'_>) -> Option<Timestamp> {
    let answer = request.answer.as_ref()?;
    let is_spent = answer.remaining == Some(0) && answer.retry_after.is_none();
    let reset = answer.reset.filter(|_| is_spent)?;
    Some(Timestamp::EPOCH.plus(Duration::from_secs(reset)))
}

#[cfg(test)]
mod tests {
    use crate::tests::{findings, get, verdict};

    #[test]
    fn a_client_waits_for_the_end_of_a_window_that_is_used_up() {
        for (name, requests, expected) in [
            ("at once", vec![get(0).left(0, 60), get(5)], "hint"),
            ("a second too early", vec![get(0).left(0, 60), get(59_000)], "hint"),
            ("in time", vec![get(0).left(0, 60), get(60_000)], "kept"),
            ("a timer that is a little early", vec![get(0).left(0, 60), get(59_950)], "kept"),
            ("something is left", vec![get(0).left(1, 60), get(5)], "untested"),
            ("no headers", vec![get(0), get(5)], "untested"),
            ("a later answer", vec![get(0).left(0, 60), get(60_000).left(9, 120), get(60_005)], "kept"),
            ("an answer without headers between", vec![get(0).left(0, 60), get(60_000), get(60_005)], "kept"),
            ("concurrent", vec![get(0).left(0, 60).ended_after(2), get(5)], "kept"),
            ("the quota", vec![get(0).left(0, 60), get(5).path("/rate-limit")], "kept"),
            ("a preflight", vec![get(0).left(0, 60), get(5).method("OPTIONS")], "kept"),
            ("a refusal", vec![get(0).limited(30).left(0, 30), get(5)], "untested"),
            ("without a key", vec![get(0).left(0, 60).anonymous(), get(5).anonymous()], "untested"),
            ("a tool", vec![get(0).left(0, 60).by_tool(), get(5).by_tool()], "untested"),
            ("a clock that is turned back", vec![get(60_000).left(0, 120), get(50_000)], "kept"),
        ] {
            assert_eq!(verdict("spares-its-quota", &requests), expected, "{name}");
        }
    }

    #[test]
    fn each_request_too_early_is_proved_by_the_last_answer() {
        let requests = [get(0).left(5, 60), get(1).left(0, 60), get(2), get(3)];
        assert_eq!(findings("spares-its-quota", &requests), [vec![2, 3], vec![2, 4]]);
        // The first answer ends last, so it is the last one that the client has read.
        let requests = [get(0).left(0, 60).ended_after(3), get(1).left(5, 60), get(2), get(3)];
        assert_eq!(findings("spares-its-quota", &requests), [vec![1, 4]]);
    }
}
