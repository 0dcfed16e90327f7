//! The outcomes of the calls that requests make, for readiness: a node whose connections of one kind all fail is not ready,
//! even if the regular check of the database has a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petstore_ports::{StoreDamage, StoreError, StoreErrorKind};
use tokio::time::Instant;

/// The time for which calls of a kind must have failed, and none have succeeded, until the node is not ready.
const FAILING_MAX: Duration = Duration::from_secs(1);

/// The time without a call after which a failing kind is tried without a request. Otherwise a node that gets no requests any
/// more would never be ready again.
const QUIET: Duration = Duration::from_millis(500);

/// The calls of a handle by their kinds. Each kind has its own connections.
#[derive(Debug)]
pub(crate) struct Calls {
    /// Reads of single records and keys.
    pub(crate) lookups: Outcomes,
    /// Reads of pages.
    pub(crate) pages: Outcomes,
    /// Reads of events.
    pub(crate) events: Outcomes,
    /// Batches of writes.
    pub(crate) writes: Outcomes,
    /// The damaged data that calls of any kind have met.
    pub(crate) damage: Arc<StoreDamage>,
}

impl Default for Calls {
    fn default() -> Self {
        let damage = Arc::<StoreDamage>::default();
        let kind = || Outcomes { damage: Arc::clone(&damage), ..Outcomes::default() };
        Self { lookups: kind(), pages: kind(), events: kind(), writes: kind(), damage }
    }
}

/// The latest outcomes of one kind of calls.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// Lets a success be noted without a lock.
    is_failing: AtomicBool,
    failing: Mutex<Option<Failing>>,
    damage: Arc<StoreDamage>,
}

/// A kind of calls that has failed since its last success.
#[derive(Debug, Clone)]
struct Failing {
    since: Instant,
    last: Instant,
    /// The first failure.
    error: StoreError,
}

impl Outcomes {
    /// Takes note of an outcome. Failures that say nothing about the database do not count.
    pub(crate) fn note<T>(&self, outcome: &Result<T, StoreError>) {
        match outcome {
            Ok(_) => self.succeeded(),
            Err(error) => self.failed(error),
        }
    }

    pub(crate) fn succeeded(&self) {
        if self.is_failing.swap(false, Ordering::Relaxed) {
            *self.failing.lock() = None;
        }
    }

    pub(crate) fn failed(&self, error: &StoreError) {
        self.damage.note(error);
        if !matches!(error.kind(), StoreErrorKind::Unavailable | StoreErrorKind::Indeterminate) {
            return;
        }
        let now = Instant::now();
        let mut failing = self.failing.lock();
        let first = || Failing { since: now, last: now, error: error.clone() };
        failing.get_or_insert_with(first).last = now;
        self.is_failing.store(true, Ordering::Relaxed);
    }

    /// The first failure, if all calls have failed for too long.
    fn fault(&self, now: Instant) -> Option<StoreError> {
        if !self.is_failing.load(Ordering::Relaxed) {
            return None;
        }
        let failing = self.failing.lock().clone()?;
        (now.saturating_duration_since(failing.since) >= FAILING_MAX).then_some(failing.error)
    }

    /// Returns whether calls have failed, and none was made lately.
    pub(crate) fn should_be_tried(&self, now: Instant) -> bool {
        self.is_failing.load(Ordering::Relaxed)
            && self
                .failing
                .lock()
                .as_ref()
                .is_some_and(|failing| now.saturating_duration_since(failing.last) >= QUIET)
    }
}

impl Calls {
    /// Fails if all calls of a kind have failed for a second. The message names reads and changes apart.
    pub(crate) fn check(&self, now: Instant) -> Result<(), StoreError> {
        let reads = [&self.lookups, &self.pages, &self.events];
        let reads = reads.into_iter().find_map(|kind| kind.fault(now));
        let error = match (reads, self.writes.fault(now)) {
            (None, None) => return Ok(()),
            (None, Some(writes)) => {
                StoreError::unavailable("changes fail, and reads do not").with_source(writes)
            }
            (Some(reads), None) => {
                StoreError::unavailable("reads fail, and changes do not").with_source(reads)
            }
            (Some(reads), Some(_)) => StoreError::unavailable("reads and changes fail").with_source(reads),
        };
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T>(kind: StoreErrorKind) -> Result<T, StoreError> {
        Err(StoreError::new(kind, "planted"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_of_calls_that_fails_for_a_second_is_a_fault_until_one_succeeds() {
        let calls = Calls::default();
        let start = Instant::now();
        calls.lookups.note(&Ok(()));
        calls.writes.note::<()>(&refused(StoreErrorKind::Unavailable));
        assert_eq!(calls.check(start + FAILING_MAX / 2), Ok(()));
        let report = calls.check(start + FAILING_MAX).expect_err("writes fail").report();
        assert_eq!(report, "the store is unavailable: changes fail, and reads do not: planted");
        calls.pages.note::<()>(&refused(StoreErrorKind::Indeterminate));
        let report = calls.check(start + FAILING_MAX).expect_err("both fail").report();
        assert!(report.contains("reads and changes fail"), "{report}");
        calls.writes.note(&Ok(()));
        let report = calls.check(start + FAILING_MAX).expect_err("pages fail").report();
        assert!(report.contains("reads fail, and changes do not"), "{report}");
        assert!(
            !calls.pages.should_be_tried(start + QUIET / 2) && calls.pages.should_be_tried(start + QUIET)
        );
        calls.pages.succeeded();
        assert_eq!(calls.check(start + FAILING_MAX), Ok(()));
        assert!(!calls.pages.should_be_tried(start + QUIET));
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_of_single_calls_do_not_count() {
        let calls = Calls::default();
        for kind in [StoreErrorKind::Busy, StoreErrorKind::Corrupt] {
            calls.writes.note::<()>(&refused(kind));
        }
        assert_eq!(calls.check(Instant::now() + FAILING_MAX), Ok(()));
        assert_eq!(calls.damage.contacts(), 1, "damage is noted");
    }
}
