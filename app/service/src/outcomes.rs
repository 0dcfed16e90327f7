//! What became of the operations that the store was asked to run.

use std::sync::atomic::{AtomicU64, Ordering};

use petstore_domain::Answered;

use crate::bans::PendingBans;

/// What the service has counted since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Operations that were done.
    pub done: u64,
    /// Operations that a rule refused.
    pub rejected: u64,
    /// Operations that the store could not run.
    pub failed: u64,
    /// Bans that are in force and wait to be recorded.
    pub bans_waiting: u64,
    /// How many times a ban was not queued to be recorded, because the queue was full.
    pub bans_dropped: u64,
}

/// Counts outcomes. Only changes are counted here, and each of them takes a lock or a commit anyway.
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

    /// The same under an idempotency key, where a refusal may be an answer that is kept.
    pub(crate) fn count_once<T, R, X, E>(&self, outcome: &Result<Result<Answered<T, R>, X>, E>) {
        let decided = outcome.as_ref().map(|decided| match decided {
            Ok(Answered { result: Ok(_), .. }) => Ok(()),
            Ok(Answered { result: Err(_), .. }) | Err(_) => Err(()),
        });
        self.count(&decided);
    }

    pub(crate) fn figures(&self, bans: &PendingBans) -> Figures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (bans_waiting, bans_dropped) = bans.counts();
        Figures {
            done: read(&self.done),
            rejected: read(&self.rejected),
            failed: read(&self.failed),
            bans_waiting,
            bans_dropped,
        }
    }
}
