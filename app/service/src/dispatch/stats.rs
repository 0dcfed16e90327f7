//! Counts of the dispatcher, for monitoring and for tests that wait until nothing is due.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use petstore_domain::{AttemptError, AttemptOutcome};

/// Counts of a dispatcher since its start.
#[derive(Debug, Default)]
pub struct DispatchStats {
    delivered: AtomicU64,
    failed: [AtomicU64; AttemptError::ALL.len()],
    in_flight: AtomicUsize,
    round: AtomicU64,
    settled_round: AtomicU64,
}

impl DispatchStats {
    /// The number of attempts that succeeded.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// The number of attempts that failed for each reason.
    pub fn failed(&self) -> impl Iterator<Item = (AttemptError, u64)> {
        let counts = self.failed.iter().map(|count| count.load(Ordering::Relaxed));
        AttemptError::ALL.into_iter().zip(counts)
    }

    /// The number of attempts in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// The number of the dispatcher's current round. A round takes at most a fifth of a second.
    pub fn round(&self) -> u64 {
        self.round.load(Ordering::Acquire)
    }

    /// Returns whether nothing was due, in flight or unsaved at some time since a round. The dispatcher sees the changes of
    /// webhooks two rounds later at the latest, so a caller that has changed one compares with the round after those.
    pub fn was_settled_since(&self, round: u64) -> bool {
        self.settled_round.load(Ordering::Acquire) >= round
    }

    pub(super) fn count(&self, outcome: &AttemptOutcome) {
        let counter = match outcome.error {
            None => &self.delivered,
            Some(error) => {
                let index = AttemptError::ALL.iter().position(|other| *other == error).unwrap_or_default();
                &self.failed[index]
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn set_in_flight(&self, attempts: usize) {
        self.in_flight.store(attempts, Ordering::Relaxed);
    }

    pub(super) fn end_round(&self, is_settled: bool) {
        let round = self.round.load(Ordering::Relaxed) + 1;
        if is_settled {
            self.settled_round.store(round, Ordering::Release);
        }
        self.round.store(round, Ordering::Release);
    }
}
