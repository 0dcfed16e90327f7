//! The pause between two calls of a failing journal's `recover`.

use std::time::Duration;

/// Shortest pause.
pub(crate) const PAUSE_MIN: Duration = Duration::from_millis(100);

/// Longest pause. It is half of the ten seconds within which a store should recover after the cause of the failure has
/// gone.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Backoff factor: the pause is ten times as long as the last `recover` took. While a disk is full, each call may copy
/// all data that is not checkpointed. Because of the factor, the calls use less than a tenth of the time of the disk
/// and of a CPU.
const PAUSE_FACTOR: u32 = 10;

/// The pause after a `recover` that failed after `took`.
pub(crate) fn pause_after(took: Duration) -> Duration {
    took.saturating_mul(PAUSE_FACTOR).clamp(PAUSE_MIN, PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expensive_recovery_is_tried_less_often() {
        const MINUTE: Duration = Duration::from_mins(1);
        for (took_ms, tries) in [(0, 600), (1, 595), (10, 546), (30, 182), (200, 28), (400, 14), (2_000, 9)] {
            let took = Duration::from_millis(took_ms);
            let each = took + pause_after(took);
            assert_eq!(MINUTE.as_millis().div_ceil(each.as_millis()), tries, "{took_ms} ms");
        }
        let longest = pause_after(Duration::MAX);
        assert!(longest * 2 <= Duration::from_secs(10), "the store recovers within ten seconds");
    }
}
