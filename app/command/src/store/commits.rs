//! Statistics of commits: their duration and size.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petstore_domain::Timestamp;
use petstore_ports::{
    Batch, BatchNumber, BulkLoad, DeliveryNote, EventBatch, EventBatchReader, EventBounds, EventLimits,
    EventRange, EventsPruned, Header, Journal, LastIds, Row, StoreError, UsageCount, WorkPhase, WorkProgress,
    WorkUnit,
};

use crate::environment::Stopwatch;

/// Upper bounds of the histogram of durations.
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

/// Upper bounds of the histogram of sizes.
const SIZE_BOUNDS: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, u64::MAX];

/// Statistics of commits.
#[derive(Debug, Clone)]
pub(crate) struct CommitStats {
    /// The number of commits in each bucket of durations, with the upper bound of the bucket.
    pub(crate) durations: [(Duration, u64); TIME_BOUNDS.len()],
    /// The sum of the durations.
    pub(crate) time: Duration,
    /// The number of commits in each bucket of sizes, with the upper bound of the bucket. The size of a commit is its
    /// number of operations.
    pub(crate) sizes: [(u64, u64); SIZE_BOUNDS.len()],
    /// The sum of the sizes.
    pub(crate) operations: u64,
    pub(crate) failures: u64,
}

/// The counters of commits. The writer updates them once for each batch.
pub(crate) struct CommitCounters(Mutex<CommitStats>);

impl Default for CommitCounters {
    fn default() -> Self {
        Self(Mutex::new(CommitStats {
            durations: TIME_BOUNDS.map(|bound| (bound, 0)),
            time: Duration::ZERO,
            sizes: SIZE_BOUNDS.map(|bound| (bound, 0)),
            operations: 0,
            failures: 0,
        }))
    }
}

impl CommitCounters {
    pub(crate) fn stats(&self) -> CommitStats {
        self.0.lock().clone()
    }

    pub(super) fn add(&self, operations: usize, took: Duration, is_done: bool) {
        let mut stats = self.0.lock();
        if !is_done {
            stats.failures += 1;
            return;
        }
        let operations = operations as u64;
        stats.time += took;
        stats.operations += operations;
        if let Some((_, count)) = stats.durations.iter_mut().find(|(bound, _)| took <= *bound) {
            *count += 1;
        }
        if let Some((_, count)) = stats.sizes.iter_mut().find(|(bound, _)| operations <= *bound) {
            *count += 1;
        }
    }
}

/// A journal that measures its commits, and shows how far its long work is.
pub(crate) struct TimedJournal<J> {
    pub(crate) journal: J,
    pub(crate) commits: Arc<CommitCounters>,
    pub(crate) progress: Arc<dyn WorkProgress>,
    /// An upper bound of the rows that are read at the start.
    pub(crate) rows_at_most: u64,
}

impl<J: Journal> Journal for TimedJournal<J> {
    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let watch = Stopwatch::start();
        let appended = self.journal.append(batch);
        self.commits.add(batch.changes.len(), watch.elapsed(), appended.is_ok());
        appended
    }

    fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError> {
        let total = Some(self.rows_at_most);
        self.progress.begin(WorkPhase { name: "reading the data file", unit: WorkUnit::Rows, total });
        let (progress, mut rows) = (&self.progress, 0);
        let loaded = self.journal.load(&mut |row| {
            rows += 1;
            progress.reached(rows);
            into(row)
        });
        self.progress.end();
        loaded
    }

    fn read_events(
        &mut self,
        range: &EventRange,
        into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
    ) -> Result<EventBounds, StoreError> {
        self.journal.read_events(range, into)
    }

    fn accept(&mut self) -> Result<(), StoreError> {
        self.journal.accept()
    }

    fn recover(&mut self) -> Result<BatchNumber, StoreError> {
        self.journal.recover()
    }

    fn check(&mut self) -> Result<(), StoreError> {
        self.journal.check()
    }

    fn note_usage(&mut self, counts: &[UsageCount]) -> Result<(), StoreError> {
        self.journal.note_usage(counts)
    }

    fn note_deliveries(&mut self, notes: &[DeliveryNote]) -> Result<(), StoreError> {
        self.journal.note_deliveries(notes)
    }

    fn prune(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        self.journal.prune(now)
    }

    fn prune_events(&mut self, limits: &EventLimits) -> Result<EventsPruned, StoreError> {
        self.journal.prune_events(limits)
    }

    fn event_reader(&self) -> Box<dyn EventBatchReader> {
        self.journal.event_reader()
    }

    fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError> {
        // The ids of a bulk load nearly always begin with 1, so the last ids are about the number of rows.
        let LastIds { pet, category, order, .. } = bulk.last_ids;
        let total = Some(pet.saturating_add(category).saturating_add(order));
        self.progress.begin(WorkPhase { name: "writing to the data file", unit: WorkUnit::Rows, total });
        let (progress, mut written) = (&self.progress, 0);
        let mut counted = rows.inspect(|_| {
            written += 1;
            progress.reached(written);
        });
        let loaded = self.journal.bulk(bulk, &mut counted);
        self.progress.end();
        loaded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_commit_is_in_one_bucket_of_each_histogram() {
        let commits = CommitCounters::default();
        commits.add(1, Duration::from_micros(100), true);
        commits.add(200, Duration::from_mins(1), true);
        commits.add(5, Duration::ZERO, false);
        let stats = commits.stats();
        assert_eq!((stats.durations[0].1, stats.durations[11].1), (1, 1));
        assert_eq!((stats.sizes[0].1, stats.sizes[8].1), (1, 1));
        assert_eq!((stats.operations, stats.failures), (201, 1));
    }
}
