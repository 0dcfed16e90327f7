//! The wait between attempts to reach a server.

use std::time::Duration;

/// The wait after the first failure.
const FIRST: Duration = Duration::from_secs(1);

/// The longest wait.
const MAX: Duration = Duration::from_secs(30);

/// Waits that double with each failure.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Returns the next wait. The noise selects a value between one half and the whole of the current step, so that the
    /// clients of one server do not reconnect together.
    pub(crate) fn next(&mut self, noise: u64) -> Duration {
        let step = FIRST.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX)).min(MAX);
        self.failures = self.failures.saturating_add(1);
        let half = step / 2;
        let millis = u64::try_from(half.as_millis()).unwrap_or(u64::MAX);
        half + Duration::from_millis(noise % millis.saturating_add(1))
    }

    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let mut backoff = Backoff::default();
        for step in [1, 2, 4, 8, 16, 30, 30] {
            let wait = backoff.next(u64::MAX);
            let step = Duration::from_secs(step);
            assert!((step / 2..=step).contains(&wait), "{wait:?} of {step:?}");
        }
        (0..100).for_each(|_| assert!(backoff.next(7) <= MAX));
        backoff.reset();
        assert_eq!(backoff.next(0), FIRST / 2);
        backoff.reset();
        assert_eq!(backoff.next(500), FIRST, "the noise selects the whole step");
    }
}
