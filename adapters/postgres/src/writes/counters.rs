//! Counts of the lane, for monitoring.

use std::sync::atomic::{AtomicU64, Ordering};

use super::failure::Failure;

/// The causes of failed attempts to run a batch, in the order of the counts.
const CAUSES: [&str; 9] =
    ["conflict", "locked", "duplicate", "refused", "exhausted", "lost", "away", "late", "unknown"];

/// The outcomes of commits whose answer was lost, in the order of the counts.
const OUTCOMES: [&str; 3] = ["committed", "not_committed", "unsettled"];

/// Counts since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct WriteCounters {
    failures: [AtomicU64; CAUSES.len()],
    unknown: [AtomicU64; OUTCOMES.len()],
    held_back: AtomicU64,
}

/// The outcome of a commit whose answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    Committed,
    NotCommitted,
    /// It could not be found out.
    Unsettled,
}

impl WriteCounters {
    /// The number of failed attempts to run a batch or a single operation, by cause.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (&'static str, u64)> {
        read(CAUSES, &self.failures)
    }

    /// The number of commits whose answer was lost, by outcome.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = (&'static str, u64)> {
        read(OUTCOMES, &self.unknown)
    }

    /// The number of events that were left out because an older node did not know their kind.
    pub(crate) fn held_back(&self) -> u64 {
        self.held_back.load(Ordering::Relaxed)
    }

    pub(super) fn failed(&self, failure: &Failure) {
        self.failures[cause(failure)].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn settled(&self, outcome: Settled) {
        self.unknown[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn left_out(&self, events: u64) {
        self.held_back.fetch_add(events, Ordering::Relaxed);
    }
}

fn read<const N: usize>(
    names: [&'static str; N],
    counts: &[AtomicU64; N],
) -> impl Iterator<Item = (&'static str, u64)> {
    names.into_iter().zip(counts.iter().map(|count| count.load(Ordering::Relaxed)))
}

/// The position of the cause in [`CAUSES`].
fn cause(failure: &Failure) -> usize {
    match failure {
        Failure::Conflict(_) => 0,
        Failure::Locked(_) => 1,
        Failure::Duplicate(_) => 2,
        Failure::Refused(_) => 3,
        Failure::Exhausted(_) => 4,
        Failure::Lost(_) => 5,
        Failure::Away(_) => 6,
        Failure::Late(_) => 7,
        Failure::Unsettled(_) => 8,
    }
}

#[cfg(test)]
mod tests {
    use petstore_ports::StoreError;

    use super::*;

    #[test]
    fn each_failure_and_each_outcome_has_its_name() {
        let (counters, error) = (WriteCounters::default(), StoreError::busy("planted"));
        for failure in
            [Failure::Locked(error.clone()), Failure::Unsettled(error.clone()), Failure::Away(error)]
        {
            counters.failed(&failure);
        }
        let counted: Vec<_> = counters.failures().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [("locked", 1), ("away", 1), ("unknown", 1)]);
        counters.settled(Settled::NotCommitted);
        let counted: Vec<_> = counters.unknown().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [("not_committed", 1)]);
    }
}
