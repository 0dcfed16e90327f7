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
    /// The last commit; none before the first one.
    last_commit: Mutex<Option<Instant>>,
    /// The damaged data that calls of any kind have met.
    pub(crate) damage: Arc<StoreDamage>,
}

impl Default for Calls {
    fn default() -> Self {
        let damage = Arc::<StoreDamage>::default();
        let kind = || Outcomes { damage: Arc::clone(&damage), ..Outcomes::default() };
        let last_commit = Mutex::default();
        Self { lookups: kind(), pages: kind(), events: kind(), writes: kind(), last_commit, damage }
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
    /// False as long as only single records may be concerned.
    is_general: bool,
    /// True if the last failure may concern single records only.
    is_doubtful: bool,
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
        if matches!(error.kind(), StoreErrorKind::Unavailable | StoreErrorKind::Indeterminate) {
            self.add(error, true);
        }
    }

    /// Takes note of a failed batch of writes. A wait for a lock or a conflict may concern a record or a whole table, so it
    /// counts once a call without a request has failed, too.
    pub(crate) fn failed_batch(&self, error: &StoreError) {
        if error.kind() == StoreErrorKind::Busy {
            self.add(error, false);
        } else {
            self.failed(error);
        }
    }

    fn add(&self, error: &StoreError, is_general: bool) {
        let now = Instant::now();
        let mut failing = self.failing.lock();
        let first =
            || Failing { since: now, last: now, error: error.clone(), is_general, is_doubtful: !is_general };
        let failing = failing.get_or_insert_with(first);
        failing.last = now;
        failing.is_general |= is_general;
        failing.is_doubtful = !is_general;
        self.is_failing.store(true, Ordering::Relaxed);
    }

    /// Takes note of the outcome of a call without a request. Its failure is only a further one of calls that fail.
    pub(crate) fn tried<T>(&self, outcome: &Result<T, StoreError>) {
        if outcome.is_ok() {
            return self.succeeded();
        }
        if let Some(failing) = self.failing.lock().as_mut() {
            failing.last = Instant::now();
            (failing.is_general, failing.is_doubtful) = (true, false);
        }
    }

    /// The first failure, if all calls have failed for too long.
    fn fault(&self, now: Instant) -> Option<StoreError> {
        if !self.is_failing.load(Ordering::Relaxed) {
            return None;
        }
        let failing = self.failing.lock().clone()?;
        let is_fault = failing.is_general && now.saturating_duration_since(failing.since) >= FAILING_MAX;
        is_fault.then_some(failing.error)
    }

    /// Returns whether calls have failed, and none was made lately or it is unknown whether all fail.
    pub(crate) fn should_be_tried(&self, now: Instant) -> bool {
        self.is_failing.load(Ordering::Relaxed)
            && self.failing.lock().as_ref().is_some_and(|failing| {
                failing.is_doubtful || now.saturating_duration_since(failing.last) >= QUIET
            })
    }
}

impl Calls {
    /// Takes note of a commit.
    pub(crate) fn committed(&self) {
        *self.last_commit.lock() = Some(Instant::now());
        self.writes.succeeded();
    }

    /// Returns whether a change was committed within this time.
    pub(crate) fn has_committed_within(&self, time: Duration, now: Instant) -> bool {
        self.last_commit.lock().is_some_and(|at| now.saturating_duration_since(at) <= time)
    }

    /// Returns whether all changes have failed for a second.
    pub(crate) fn changes_fail(&self, now: Instant) -> bool {
        self.writes.fault(now).is_some()
    }

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
    async fn a_wait_for_a_lock_counts_once_a_call_without_a_request_has_failed_too() {
        let calls = Calls::default();
        let start = Instant::now();
        let fails = || calls.check(start + FAILING_MAX).is_err();
        let busy = StoreError::busy("a lock was not free in time");
        calls.writes.failed_batch(&busy);
        assert!(calls.writes.should_be_tried(start) && !fails(), "it may concern one record");
        calls.writes.tried(&Ok(()));
        assert!(!calls.writes.should_be_tried(start + QUIET), "it did");
        calls.writes.tried::<()>(&Err(busy.clone()));
        assert!(!fails(), "no request has failed");
        calls.writes.failed_batch(&busy);
        calls.writes.tried::<()>(&Err(busy.clone()));
        assert!(!calls.writes.should_be_tried(start) && fails());
        calls.writes.failed_batch(&busy);
        assert!(calls.writes.should_be_tried(start) && fails(), "the lock may be free for other records");
        calls.committed();
        assert!(!fails() && calls.has_committed_within(QUIET, start));
        assert!(!calls.has_committed_within(QUIET, start + QUIET * 2));
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
