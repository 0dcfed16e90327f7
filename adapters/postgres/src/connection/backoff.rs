//! The waits between failed attempts to connect.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

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
    /// The state of the random number generator.
    random: u64,
}

impl Backoff {
    /// A backoff without failures. `seed` is a random number, from which the lengths of the waits are drawn.
    pub(super) fn new(seed: u64) -> Self {
        Self(Mutex::new(State { failures: 0, next: None, random: seed }))
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
        let wait = WAIT_MIN + Duration::from_millis(state.random() % (range + 1));
        state.failures = state.failures.saturating_add(1).min(30);
        state.next = Some(now + wait);
    }
}

impl State {
    /// The next number of SplitMix64, a generator whose state is a single word.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_grow_to_a_bound_and_differ_between_nodes() {
        let now = Instant::now();
        let waits = |seed| {
            let backoff = Backoff::new(seed);
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
        let backoff = Backoff::new(1);
        backoff.failed(Instant::now());
        backoff.succeeded();
        assert_eq!(backoff.next(), None);
    }
}
