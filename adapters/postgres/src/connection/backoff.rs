//! The waits between failed attempts to connect.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::random::Random;

/// The shortest wait.
const WAIT_MIN: Duration = Duration::from_millis(50);

/// The longest wait. With the attempts before and after it, a node must write again within five seconds after its database
/// answers.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Exponential backoff with full jitter, shared by all connections of a store: nodes that lost the same server do not
/// return to it at the same moment, nor do the connections of one node.
pub(super) struct Backoff(Mutex<State>);

struct State {
    /// The number of failures since the last success.
    failures: u32,
    /// The time before which no attempt is made.
    next: Option<Instant>,
    /// The lengths of the waits are drawn from these numbers.
    random: Random,
}

impl Backoff {
    /// A backoff without failures.
    pub(super) fn new(random: Random) -> Self {
        Self(Mutex::new(State { failures: 0, next: None, random }))
    }

    /// The time before which no attempt should be made; none if the last attempt succeeded, or there was none.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.lock().next
    }

    /// Records a successful attempt.
    pub(super) fn succeeded(&self) {
        let mut state = self.0.lock();
        (state.failures, state.next) = (0, None);
    }

    /// Records a failed attempt.
    pub(super) fn failed(&self, now: Instant) {
        let mut state = self.0.lock();
        // In milliseconds.
        let longest = (WAIT_MIN.as_millis() << (state.failures + 1)).min(WAIT_MAX.as_millis());
        let range = u64::try_from(longest - WAIT_MIN.as_millis()).unwrap_or(u64::MAX);
        let wait = WAIT_MIN + Duration::from_millis(state.random.below(range + 1));
        state.failures = state.failures.saturating_add(1).min(30);
        state.next = Some(now + wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_grow_to_a_bound_and_differ_between_nodes() {
        let now = Instant::now();
        let waits = |seed| {
            let backoff = Backoff::new(Random::of_handle(seed));
            let wait = |_| {
                backoff.failed(now);
                backoff.next().unwrap().duration_since(now)
            };
            (0..40).map(wait).collect::<Vec<_>>()
        };
        let (one, other) = (waits(1), waits(2));
        assert!(one.iter().chain(&other).all(|wait| (WAIT_MIN..=WAIT_MAX).contains(wait)));
        assert!(one[0] <= 2 * WAIT_MIN && one.iter().any(|wait| *wait > WAIT_MAX / 2), "{one:?}");
        assert!(one.iter().zip(&other).filter(|(a, b)| a == b).count() < 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_success_ends_the_waits() {
        let backoff = Backoff::new(Random::of_handle(1));
        backoff.failed(Instant::now());
        backoff.succeeded();
        assert_eq!(backoff.next(), None);
    }
}
