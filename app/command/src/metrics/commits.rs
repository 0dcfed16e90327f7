//! How long commits take and how much they hold: a journal that is watched.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petstore_domain::Timestamp;
use petstore_ports::{Batch, BatchNumber, BulkLoad, Header, Journal, Row, StoreError, UsageCount};

use crate::environment::Stopwatch;

/// Upper bounds of the times of commits.
const TIME_BOUNDS: [Duration; 12] = [
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2_500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::MAX,
];

/// Upper bounds of the operations of a commit.
const SIZE_BOUNDS: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, u64::MAX];

/// What was committed.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    /// How many commits took up to so long, and longer than the bound before.
    pub(super) durations: [(Duration, u64); TIME_BOUNDS.len()],
    /// All of them together.
    pub(super) time: Duration,
    /// How many commits held up to so many operations, and more than the bound before.
    pub(super) sizes: [(u64, u64); SIZE_BOUNDS.len()],
    /// All of them together.
    pub(super) operations: u64,
    pub(super) failures: u64,
}

/// Counts commits. The writer adds to it once a batch.
pub(crate) struct Commits(Mutex<Figures>);

impl Default for Commits {
    fn default() -> Self {
        Self(Mutex::new(Figures {
            durations: TIME_BOUNDS.map(|bound| (bound, 0)),
            time: Duration::ZERO,
            sizes: SIZE_BOUNDS.map(|bound| (bound, 0)),
            operations: 0,
            failures: 0,
        }))
    }
}

impl Commits {
    pub(super) fn figures(&self) -> Figures {
        self.0.lock().clone()
    }

    fn add(&self, operations: usize, took: Duration, is_done: bool) {
        let mut figures = self.0.lock();
        if !is_done {
            figures.failures += 1;
            return;
        }
        let operations = operations as u64;
        figures.time += took;
        figures.operations += operations;
        if let Some((_, count)) = figures.durations.iter_mut().find(|(bound, _)| took <= *bound) {
            *count += 1;
        }
        if let Some((_, count)) = figures.sizes.iter_mut().find(|(bound, _)| operations <= *bound) {
            *count += 1;
        }
    }
}

/// A journal that tells of its commits.
pub(crate) struct Timed<J> {
    pub(crate) journal: J,
    pub(crate) commits: Arc<Commits>,
}

impl<J: Journal> Journal for Timed<J> {
    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let watch = Stopwatch::start();
        let appended = self.journal.append(batch);
        self.commits.add(batch.changes.len(), watch.elapsed(), appended.is_ok());
        appended
    }

    fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError> {
        self.journal.load(into)
    }

    fn recover(&mut self) -> Result<BatchNumber, StoreError> {
        self.journal.recover()
    }

    fn note_usage(&mut self, counts: &[UsageCount]) -> Result<(), StoreError> {
        self.journal.note_usage(counts)
    }

    fn prune(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        self.journal.prune(now)
    }

    fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError> {
        self.journal.bulk(bulk, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_commit_has_one_place_in_each_histogram() {
        let commits = Commits::default();
        commits.add(1, Duration::from_micros(100), true);
        commits.add(200, Duration::from_mins(1), true);
        commits.add(5, Duration::ZERO, false);
        let figures = commits.figures();
        assert_eq!((figures.durations[0].1, figures.durations[11].1), (1, 1));
        assert_eq!((figures.sizes[0].1, figures.sizes[8].1), (1, 1));
        assert_eq!((figures.operations, figures.failures), (201, 1));
    }
}
