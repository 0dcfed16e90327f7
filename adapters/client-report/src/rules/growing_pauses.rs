//! The client makes its pauses longer while attempts fail and no answer says how long to wait. A part of the rule `backs-off`.

use std::collections::HashMap;
use std::time::Duration;

use super::{Evidence, seconds};
use crate::judgement::{Finding, Judgement, Severity};
use crate::request::{ClientRequest, TIMER_TOLERANCE};

/// The number of pauses that do not grow from which on they are a hint.
const PAUSES: u32 = 3;

/// The number of pauses that do not grow from which on they are a breach. With random pauses whose limit doubles, which is good
/// practice, the first of four is rarely the longest.
const PAUSES_MAX: u32 = 4;

/// The number of pauses after which even short ones that double have become long: 1 ms is 256 ms by then.
const MANY: u32 = 8;

/// A pause after many others that is no longer than the start of a process on a busy machine may take.
const SHORT_AFTER_MANY: Duration = Duration::from_millis(250);

/// A pause that is long enough to be constant.
const LONG: Duration = Duration::from_secs(10);

/// Attempts that failed in a row without a `Retry-After`.
struct Row<'b, 'a> {
    last: &'b ClientRequest<'a>,
    attempts: u32,
    pauses: Pauses,
}

/// The pauses between attempts since the last long one. They grow if at least half of them are longer than the first one: of a
/// client whose pauses are equal, a busy machine makes some late, and of one whose pauses are random, some are short.
#[derive(Default)]
struct Pauses {
    count: u32,
    first: Duration,
    /// The number of those that are not longer than the first one, which is one of them.
    equal: u32,
    /// Set if the last one is not longer than the first one.
    is_equal: bool,
}

impl Pauses {
    /// Adds a pause. A quarter more counts as equal, and a pause that a timer may take for none as none.
    fn add(&mut self, pause: Duration) {
        if pause >= LONG {
            *self = Self::default();
            return;
        }
        if self.count == 0 {
            self.first = pause;
        }
        let none = if self.count < MANY { TIMER_TOLERANCE } else { SHORT_AFTER_MANY };
        self.count = self.count.saturating_add(1);
        self.is_equal = pause <= (self.first * 5 / 4).max(none);
        self.equal = self.equal.saturating_add(self.is_equal.into());
    }

    /// Returns how much it matters that the pauses do not grow; none if they do, or if the last one may be the begin of it.
    const fn severity(&self) -> Option<Severity> {
        match self.equal {
            _ if !self.is_equal || self.equal <= self.count / 2 => None,
            PAUSES_MAX.. => Some(Severity::Breach),
            PAUSES.. => Some(Severity::Hint),
            _ => None,
        }
    }
}

/// Finds identical attempts with pauses that do not grow, although no answer says how long to wait. Requests that overlap the last
/// attempt are no attempts of their own.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    let mut rows: HashMap<_, Row<'_, 'a>> = HashMap::new();
    for request in evidence.requests.iter().copied() {
        let identity = request.identity();
        let mut row = rows.remove(&identity);
        let has_failed = request.failed_without_a_wait();
        if let Some(row) = &mut row {
            match row.last.pause_until(request) {
                Some(pause) => {
                    row.pauses.add(pause);
                    if let Some(severity) = row.pauses.severity() {
                        judgement.findings.push(finding(severity, row, pause, request));
                    }
                }
                None if !row.last.ended_before(request) => {}
                // The clock was turned back.
                None => row.pauses = Pauses::default(),
            }
        }
        if !has_failed {
            continue;
        }
        let row = match row {
            Some(row) if !row.last.ended_before(request) => row,
            Some(row) => Row { last: request, attempts: row.attempts.saturating_add(1), ..row },
            None => {
                judgement.cases += 1;
                Row { last: request, attempts: 1, pauses: Pauses::default() }
            }
        };
        rows.insert(identity, row);
    }
    judgement
}

fn finding<'a>(
    severity: Severity,
    row: &Row<'_, 'a>,
    pause: Duration,
    request: &ClientRequest<'a>,
) -> Finding<'a> {
    let (first, pause) = (seconds(row.pauses.first), seconds(pause));
    let reason = format!(
        "It is identical attempt {} in a row, and {} of {} pauses did not grow: the first was {first}, and this one {pause}.",
        row.attempts.saturating_add(1),
        row.pauses.equal,
        row.pauses.count
    );
    let advice = format!(
        "Double the pause with each attempt while answers fail without `Retry-After`, here {first} at first, and add a random part."
    );
    Finding::new(severity, reason, advice, &[row.last], request)
}

#[cfg(test)]
mod tests {
    use crate::tests::{Sent, findings, get, verdict};

    /// Attempts at these times, in milliseconds. All but the last one fail.
    fn attempts(times: &[i64], fail: fn(Sent) -> Sent) -> Vec<Sent> {
        let last = times.len() - 1;
        let sent = |(place, at): (usize, &i64)| if place == last { get(*at) } else { fail(get(*at)) };
        times.iter().enumerate().map(sent).collect()
    }

    fn overloaded(sent: Sent) -> Sent {
        sent.error(503, "unavailable")
    }

    #[test]
    fn pauses_grow_while_no_answer_says_how_long_to_wait() {
        let judged: [(&str, &[i64], &str); 15] = [
            ("one attempt", &[0], "untested"),
            ("one repetition", &[0, 1], "kept"),
            ("three attempts", &[0, 500, 1_000], "kept"),
            ("four with equal pauses", &[0, 500, 1_000, 1_500], "hint"),
            ("five with equal pauses", &[0, 500, 1_000, 1_500, 2_000], "breach"),
            ("five without a pause", &[0, 1, 2, 3, 90], "breach"),
            ("pauses that become shorter", &[0, 800, 1_200, 1_400, 1_500], "breach"),
            ("a timer that is late", &[0, 500, 1_000, 1_620, 2_130], "breach"),
            ("one long pause among short ones", &[0, 5, 10, 400, 405, 410, 415, 420], "breach"),
            ("doubled pauses", &[0, 500, 1_500, 3_500, 7_500], "kept"),
            ("at once, then with pauses", &[0, 1, 200, 600, 1_400], "kept"),
            ("up to a limit", &[0, 500, 1_500, 2_500, 3_500, 4_500], "kept"),
            ("random ones", &[0, 300, 500, 1_200, 2_600], "kept"),
            ("long ones", &[0, 10_000, 20_000, 30_000, 40_000], "kept"),
            ("a clock that is turned back", &[900, 901, 902, 903, 0], "hint"),
        ];
        for (name, times, expected) in judged {
            assert_eq!(verdict("backs-off", &attempts(times, overloaded)), expected, "{name}");
            let lost = attempts(times, Sent::lost);
            assert_eq!(verdict("backs-off", &lost), expected, "{name}, without an answer");
        }
    }

    /// Attempts with these pauses, in milliseconds.
    fn paused(pauses: &[i64]) -> Vec<Sent> {
        let mut at = 0;
        let later = pauses.iter().map(|pause| {
            at += pause;
            at
        });
        let times: Vec<_> = std::iter::once(0).chain(later).collect();
        attempts(&times, overloaded)
    }

    #[test]
    fn a_late_attempt_is_no_growth_and_a_short_random_pause_is_no_lack_of_it() {
        let judged: [(&str, &[i64], &str); 21] = [
            ("the second of five is late", &[100, 400, 100, 100, 100], "breach"),
            ("the third", &[100, 100, 400, 100, 100], "breach"),
            ("the fourth", &[100, 100, 100, 400, 100], "breach"),
            ("the last one, which may be growth", &[100, 100, 100, 100, 400], "breach"),
            ("the first one", &[400, 100, 100, 100], "breach"),
            ("the third of four", &[100, 100, 400, 100], "hint"),
            ("two of seven in a row", &[100, 400, 350, 100, 110, 105, 100], "breach"),
            ("a loop without a pause, with late starts", &[0, 1, 130, 0, 180, 1, 0], "breach"),
            (
                "processes of a busy machine",
                &[60, 190, 70, 110, 240, 80, 160, 140, 230, 150, 210, 90],
                "breach",
            ),
            ("as many after a longer pause", &[60, 190, 220, 410, 640, 880, 960, 940, 930, 950, 910], "kept"),
            ("doubled from 50 ms", &[50, 100, 200, 400], "kept"),
            ("half more", &[100, 150, 225, 338], "kept"),
            ("up to a quarter of a second", &[100, 200, 260, 260, 260, 260, 260, 260, 260, 260], "kept"),
            (
                "doubled three times, again and again",
                &[500, 1_000, 2_000, 500, 1_000, 2_000, 500, 1_000],
                "kept",
            ),
            ("doubled after a rest", &[60_000, 500, 1_000, 2_000, 4_000], "kept"),
            ("equal after a rest", &[60_000, 500, 500, 500, 500], "breach"),
            ("random up to a doubled limit", &[70, 130, 20, 610, 1_150], "kept"),
            ("random with two short ones", &[420, 390, 1_700, 310, 6_200], "hint"),
            ("random around a doubled one", &[750, 900, 1_300, 1_000, 2_400], "kept"),
            ("random up to three times the last one", &[180, 420, 230, 560, 300], "kept"),
            ("random below a limit", &[450, 800, 300, 950, 700, 200, 990, 610], "kept"),
        ];
        for (name, pauses, expected) in judged {
            assert_eq!(verdict("backs-off", &paused(pauses)), expected, "{name}");
        }
    }

    #[test]
    fn random_pauses_up_to_a_doubled_limit_are_rarely_broken() {
        // Knuth's generator: the test has the same numbers each time.
        let mut state = 1_u64;
        let mut below = |limit: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from(state >> 33).unwrap() % limit
        };
        let rows = (0..1_000).map(|_| [500, 1_000, 2_000, 4_000, 8_000].map(&mut below));
        let broken = rows.filter(|pauses| verdict("backs-off", &paused(pauses)) == "breach").count();
        assert!(broken <= 30, "{broken} of 1000");
    }

    #[test]
    fn a_client_that_does_as_it_is_told_is_not_found() {
        let equal = [0, 1_000, 2_000, 3_000, 4_000];
        for (name, requests, expected) in [
            ("Retry-After", attempts(&equal, |sent| sent.unavailable(1)), "untested"),
            (
                "errors of the client",
                attempts(&equal, |sent| sent.error(400, "invalid_parameter")),
                "untested",
            ),
            ("successes", attempts(&equal, |sent| sent), "untested"),
            (
                "a success between",
                [attempts(&equal[..4], overloaded), attempts(&equal[..3], overloaded)].concat(),
                "hint",
            ),
            (
                "different requests",
                (0..6).map(|n| overloaded(get(n).path(&format!("/pets/{n}")))).collect(),
                "kept",
            ),
            ("at the same time", (0..6).map(|n| overloaded(get(n)).ended_after(9)).collect(), "kept"),
            ("no JSON", attempts(&equal, Sent::malformed), "breach"),
        ] {
            assert_eq!(verdict("backs-off", &requests), expected, "{name}");
        }
    }

    #[test]
    fn the_proof_is_the_attempt_before() {
        let found = findings("backs-off", &attempts(&[0, 9, 18, 27, 36, 45], overloaded));
        assert_eq!(found, [vec![3, 4], vec![4, 5], vec![5, 6]]);
    }
}
