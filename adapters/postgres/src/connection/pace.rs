//! The bound of the number of connections that a store opens.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The number of connections that may be opened without a pause, such as those of a node that starts.
const BURST: u32 = 32;

/// The time after which one more connection may be opened. So a node opens at most 50 connections a second in the long
/// run, even if each of them succeeds and then fails at its first statement.
const INTERVAL: Duration = Duration::from_millis(20);

/// The maximum number of connections that a store opens within any second.
#[expect(clippy::cast_possible_truncation, reason = "a small number")]
pub const CONNECTIONS_A_SECOND_MAX: u32 = BURST + (1_000 / INTERVAL.as_millis()) as u32;

/// A bound of the rate of attempts to connect (a token bucket).
pub(super) struct Pace {
    /// The time at which the bucket would be full. It moves by [`INTERVAL`] with each attempt.
    full: Mutex<Instant>,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { full: Mutex::new(now) }
    }

    /// The time from which the next attempt may begin.
    pub(super) fn next(&self) -> Instant {
        let full = *self.full.lock();
        full.checked_sub(INTERVAL * (BURST - 1)).unwrap_or(full)
    }

    /// Records the beginning of an attempt.
    pub(super) fn begun(&self, now: Instant) {
        let mut full = self.full.lock();
        *full = (*full).max(now) + INTERVAL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_a_burst_connections_are_opened_at_a_bounded_rate() {
        let start = Instant::now();
        // Begins attempts as soon as they may, for a time. Returns their number.
        let attempts = |pace: &Pace, from: Instant, time: Duration| {
            let mut now = from;
            let mut count = 0;
            loop {
                now = now.max(pace.next());
                if now >= from + time {
                    return count;
                }
                pace.begun(now);
                count += 1;
            }
        };
        let second = Duration::from_secs(1);
        let pace = Pace::new(start);
        assert_eq!(attempts(&pace, start, INTERVAL), BURST);
        assert_eq!(attempts(&pace, start + INTERVAL, second), 50);
        // After a pause the burst is there again. The first attempt takes part of the second's pace.
        assert_eq!(attempts(&pace, start + 5 * second, second), CONNECTIONS_A_SECOND_MAX - 1);
    }
}
