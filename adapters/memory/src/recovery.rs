//! The states of the writer, and the changes of state when the journal fails and when it is asked to recover.
//!
//! After an error it is unknown which data is on disk, so no further operation is decided. Requests are refused, and
//! reads return the committed data. The journal is asked to recover until it succeeds. It then names its last batch. If
//! this is the write in doubt, the write is published; otherwise the write is dropped.

use std::time::Duration;

use petstore_ports::{BatchNumber, LastIds, StoreError, StoreErrorKind};

use crate::new_shop::NewShop;

/// Time after which the callers of a write in doubt are told that its outcome is unknown.
pub(crate) const IN_DOUBT_MAX: Duration = Duration::from_secs(1);

/// The reason of all refusals once the writer has panicked.
const PANICKED: &str = "the writer panicked: nothing is written until a restart";

/// The state of the writer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WriterState {
    /// The outcome of each call of the journal is known.
    Healthy,
    /// A call of the journal has failed, and its outcome is unknown.
    InDoubt {
        /// The write that was to be committed; none if the call was housekeeping.
        pending: Option<PendingWrite>,
        /// The last error of the journal.
        error: StoreError,
        /// The sum of the pauses between the attempts to recover.
        waited: Duration,
    },
    /// The writer has panicked. It does not recover before a restart.
    Dead,
}

/// A write that the journal was asked to commit under the next batch number, and that is not visible yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PendingWrite {
    /// The decisions of the open batch.
    Batch,
    /// An import. Its rows are in the tables already, and hidden.
    Import {
        /// The last ids issued before it.
        before: LastIds,
    },
    /// A reset. It is boxed, because the other writes are small and far more frequent.
    Reset(Box<NewShop>),
}

/// The outcome of an attempt to recover.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// The journal holds the write, so the write must be published.
    Committed(PendingWrite),
    /// The journal does not hold the write, so the write must be dropped.
    Lost {
        /// The write; none if the failed call was housekeeping.
        pending: Option<PendingWrite>,
        /// The last error of the journal.
        cause: StoreError,
    },
    /// The outcome is still unknown, because of this error.
    Failing(StoreError),
}

impl WriterState {
    /// Returns the state after a call of the journal has failed, and the error for later requests.
    pub(crate) fn after_failure(error: StoreError, pending: Option<PendingWrite>) -> (Self, StoreError) {
        let error = as_unavailable(error);
        (Self::InDoubt { pending, error: error.clone(), waited: Duration::ZERO }, error)
    }

    /// Returns the state after the journal was asked to recover, and the outcome. The outcome is none if nothing is in
    /// doubt or if the writer is dead. `last` is the last batch that was published.
    pub(crate) fn after_recovery(
        self,
        last: BatchNumber,
        answer: Result<BatchNumber, StoreError>,
    ) -> (Self, Option<Recovery>) {
        let Self::InDoubt { pending, error: cause, waited } = self else { return (self, None) };
        let (pending, error) = match (answer, pending) {
            (Ok(held), pending) if held == last => {
                return (Self::Healthy, Some(Recovery::Lost { pending, cause }));
            }
            (Ok(held), Some(write)) if held == last.next() => {
                return (Self::Healthy, Some(Recovery::Committed(write)));
            }
            (Ok(held), pending) => {
                let text = format!("the journal was at batch {} and is now at batch {}", last.0, held.0);
                (pending, StoreError::corrupt(text))
            }
            (Err(error), pending) => (pending, as_unavailable(error)),
        };
        (Self::InDoubt { pending, error: error.clone(), waited }, Some(Recovery::Failing(error)))
    }

    /// Adds a pause between two attempts to recover. Returns the error for the callers of the write in doubt, once
    /// they have waited for [`IN_DOUBT_MAX`].
    pub(crate) fn add_pause(&mut self, pause: Duration) -> Option<StoreError> {
        let Self::InDoubt { error, waited, .. } = self else { return None };
        *waited = waited.saturating_add(pause);
        (*waited >= IN_DOUBT_MAX).then(|| outcome_unknown(error))
    }

    pub(crate) const fn is_healthy(&self) -> bool {
        matches!(self, Self::Healthy)
    }

    /// The error with which writes are refused; none while writes are accepted.
    pub(crate) fn error(&self) -> Option<StoreError> {
        match self {
            Self::Healthy => None,
            Self::InDoubt { error, .. } => Some(error.clone()),
            Self::Dead => Some(panicked()),
        }
    }
}

/// The error for callers whose change may or may not be on disk.
pub(crate) fn outcome_unknown(cause: &StoreError) -> StoreError {
    StoreError::indeterminate("the journal failed").with_source(cause.clone())
}

/// The error for callers whose change is not on disk. The cause is for the log.
pub(crate) fn not_written(cause: StoreError) -> StoreError {
    StoreError::unavailable("the journal failed, and nothing was written").with_source(cause)
}

/// The error for requests that come after the writer has panicked.
pub(crate) fn panicked() -> StoreError {
    StoreError::unavailable(PANICKED)
}

/// The error for callers whose change was in progress when the writer panicked.
pub(crate) fn panicked_in_doubt() -> StoreError {
    StoreError::indeterminate(PANICKED)
}

/// The journal's error as it is reported to later requests, which have had no effect.
fn as_unavailable(error: StoreError) -> StoreError {
    match error.kind() {
        StoreErrorKind::Busy | StoreErrorKind::Indeterminate => error.with_kind(StoreErrorKind::Unavailable),
        StoreErrorKind::Unavailable | StoreErrorKind::Corrupt => error,
    }
}

#[cfg(test)]
mod tests;
