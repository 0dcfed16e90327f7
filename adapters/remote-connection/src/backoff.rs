//! The waits between attempts to reach a server that failed.

use std::time::Duration;

use tokio::time::Instant;

use crate::random::Random;

/// The number of failures after which the longest wait no longer doubles.
const DOUBLINGS_MAX: u32 = 16;

/// The lengths of the waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// The shortest wait, also after the first failure.
    pub min: Duration,
    /// The longest wait after the first failure. Each further failure doubles it, up to `max`.
    pub first_max: Duration,
    /// The longest wait after any number of failures.
    pub max: Duration,
}

/// Exponential backoff with full jitter: clients that lost the same server do not return to it at the same moment.
#[derive(Debug)]
pub struct Backoff {
    waits: Waits,
    /// The number of failures since the last success.
    failures: u32,
    /// The lengths of the waits are drawn from these numbers.
    random: Random,
}

impl Backoff {
    /// A backoff without failures.
    pub const fn new(waits: Waits, random: Random) -> Self {
        Self { waits, failures: 0, random }
    }

    /// Records a failed attempt. Returns the length of the wait before the next one.
    pub fn failed(&mut self) -> Duration {
        let Waits { min, first_max, max } = self.waits;
        let longest = first_max.saturating_mul(1 << self.failures).min(max);
        let range = u64::try_from(longest.saturating_sub(min).as_millis()).unwrap_or(u64::MAX - 1);
        self.failures = (self.failures + 1).min(DOUBLINGS_MAX);
        min + Duration::from_millis(self.random.below(range + 1))
    }

    /// Records a successful attempt.
    pub const fn succeeded(&mut self) {
        self.failures = 0;
    }
}

/// Returns the time for one of several addresses, of which `left` are still to be tried until `until`. One that does not
/// answer leaves time for the others.
pub fn share(until: Instant, left: usize) -> Duration {
    let rest = until.saturating_duration_since(Instant::now());
    rest / u32::try_from(left.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn waits(waits: Waits, seed: u64) -> Vec<Duration> {
        let mut backoff = Backoff::new(waits, Random::of_handle(seed));
        (0..40).map(|_| backoff.failed()).collect()
    }

    #[test]
    fn waits_grow_to_a_bound_and_differ_between_nodes() {
        let growing = Waits { min: MS(50), first_max: MS(100), max: MS(2_000) };
        let (one, other) = (waits(growing, 1), waits(growing, 2));
        assert!(one.iter().chain(&other).all(|wait| (MS(50)..=MS(2_000)).contains(wait)));
        assert!(one[0] <= MS(100) && one.iter().any(|wait| *wait > MS(1_000)), "{one:?}");
        assert!(one.iter().zip(&other).filter(|(a, b)| a == b).count() < 3);
    }

    #[test]
    fn waits_of_one_range_stay_in_it() {
        let steady = Waits { min: MS(50), first_max: MS(150), max: MS(150) };
        let (one, other) = (waits(steady, 1), waits(steady, 2));
        assert!(one.iter().chain(&other).all(|wait| (MS(50)..=MS(150)).contains(wait)), "{one:?}");
        assert!(one.iter().zip(&other).filter(|(a, b)| a == b).count() < 5, "{one:?} {other:?}");
    }

    #[test]
    fn a_success_ends_the_growth() {
        let mut backoff =
            Backoff::new(Waits { min: MS(1), first_max: MS(2), max: MS(2_000) }, Random::of_handle(1));
        assert!((0..40).any(|_| backoff.failed() > MS(2)));
        backoff.succeeded();
        assert!(backoff.failed() <= MS(2));
    }

    #[tokio::test(start_paused = true)]
    async fn each_address_has_an_equal_share_of_the_rest() {
        let until = Instant::now() + MS(900);
        assert_eq!((share(until, 3), share(until, 1)), (MS(300), MS(900)));
        tokio::time::advance(MS(300)).await;
        assert_eq!(share(until, 2), MS(300));
        tokio::time::advance(MS(900)).await;
        assert_eq!(share(until, 1), Duration::ZERO);
    }
}
