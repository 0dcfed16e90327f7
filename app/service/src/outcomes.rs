//! Counts of the outcomes of operations.

use std::sync::atomic::{AtomicU64, Ordering};

use petstore_domain::Answered;

use crate::pending_bans::PendingBans;

/// Counts of the service since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutcomeCounts {
    /// Operations that succeeded, since the start.
    pub done: u64,
    /// Operations that a rule rejected.
    pub rejected: u64,
    /// Operations that the store could not run.
    pub failed: u64,
    /// Calls of the quota store that failed.
    pub quota_failures: u64,
    /// Requests for which the quota store was not called, since it had failed repeatedly.
    pub quota_unasked: u64,
    /// Requests that other quotas have counted while the quota store was down.
    pub quota_stand_ins: u64,
    /// Bans that are in force and wait to be recorded.
    pub bans_waiting: u64,
    /// The number of times that a ban was not queued because the queue was full.
    pub bans_dropped: u64,
}

/// Counts outcomes of writes. Shared counters suffice, since each write takes a lock or a commit anyway.
#[derive(Default)]
pub(crate) struct Outcomes {
    done: AtomicU64,
    rejected: AtomicU64,
    failed: AtomicU64,
}

impl Outcomes {
    pub(crate) fn count<T, R, E>(&self, outcome: &Result<Result<T, R>, E>) {
        let counter = match outcome {
            Ok(Ok(_)) => &self.done,
            Ok(Err(_)) => &self.rejected,
            Err(_) => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the outcome of an operation under an idempotency key. A rejection may then be the answer that is stored
    /// under the key.
    pub(crate) fn count_once<T, R, X, E>(&self, outcome: &Result<Result<Answered<T, R>, X>, E>) {
        let decided = outcome.as_ref().map(|decided| match decided {
            Ok(Answered { result: Ok(_), .. }) => Ok(()),
            Ok(Answered { result: Err(_), .. }) | Err(_) => Err(()),
        });
        self.count(&decided);
    }

    pub(crate) fn figures(&self, bans: &PendingBans) -> OutcomeCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (bans_waiting, bans_dropped) = bans.counts();
        OutcomeCounts {
            done: read(&self.done),
            rejected: read(&self.rejected),
            failed: read(&self.failed),
            quota_failures: 0,
            quota_unasked: 0,
            quota_stand_ins: 0,
            bans_waiting,
            bans_dropped,
        }
    }
}
