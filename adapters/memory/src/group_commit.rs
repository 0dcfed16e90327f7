//! Group commit: how many requests a batch waits for, and for how long.
//!
//! A batch has a fixed cost: the calls, the sync and the thread switches. If the CPU is saturated, sharing that cost
//! is worth a delay. Otherwise a delay pays off only if many callers write at once, because the callers of the
//! previous batch are then about to write again. A few callers with an idle CPU are not delayed.

use std::time::Duration;

/// Target batch size while the CPU is saturated. With this many requests, the fixed cost of a batch is small compared
/// with the cost of the requests.
pub(crate) const SATURATED_TARGET: usize = 32;

/// Longest delay while the CPU is saturated.
const SATURATED_DELAY_MAX: Duration = Duration::from_millis(8);

/// Minimum number of concurrent callers for which a batch waits, although the CPU has idle time.
const CONCURRENT_MIN: usize = 16;

/// Largest target for concurrent callers. A larger one would leave the disk idle for longer than it saves.
const CONCURRENT_TARGET_MAX: usize = 48;

/// Longest delay for concurrent callers. A batch waits at most as long as the previous batch took, because callers of
/// the previous batch that write again do so within this time. If the previous batch took long, this constant bounds
/// the delay.
pub(crate) const CONCURRENT_DELAY_MAX: Duration = Duration::from_millis(2);

/// The size that a batch waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    /// Number of requests; with 1 the batch does not wait.
    pub(crate) requests: usize,
    /// Longest delay.
    pub(crate) delay: Duration,
}

impl Target {
    /// The target for the next batch. `concurrent` is the number of callers of the previous batch plus the number of
    /// callers that wait already. `last_batch` is the duration of the previous batch.
    pub(crate) fn of(is_cpu_saturated: bool, concurrent: usize, last_batch: Duration) -> Self {
        match concurrent {
            _ if is_cpu_saturated => Self { requests: SATURATED_TARGET, delay: SATURATED_DELAY_MAX },
            CONCURRENT_MIN.. => Self {
                requests: (concurrent * 3 / 4).min(CONCURRENT_TARGET_MAX),
                delay: last_batch.min(CONCURRENT_DELAY_MAX),
            },
            _ => Self { requests: 1, delay: Duration::ZERO },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_of_many_concurrent_callers_are_waited_for_and_few_are_not() {
        const MILLISECOND: Duration = Duration::from_millis(1);
        let target = |requests, delay| Target { requests, delay };
        for (saturated, concurrent, last_batch, expected) in [
            (false, 0, MILLISECOND, target(1, Duration::ZERO)),
            (false, 15, MILLISECOND, target(1, Duration::ZERO)),
            (false, 16, MILLISECOND, target(12, MILLISECOND)),
            (false, 64, MILLISECOND, target(48, MILLISECOND)),
            (false, 512, MILLISECOND, target(48, MILLISECOND)),
            (false, 16, MILLISECOND * 9, target(12, MILLISECOND * 2)),
            (true, 1, Duration::ZERO, target(32, MILLISECOND * 8)),
            (true, 512, MILLISECOND, target(32, MILLISECOND * 8)),
        ] {
            let found = Target::of(saturated, concurrent, last_batch);
            assert_eq!(found, expected, "saturated: {saturated}, {concurrent} callers, {last_batch:?}");
        }
    }
}
