//! The failures of a batch.

use petstore_ports::{StoreError, StoreErrorKind};

use crate::error::{Driver, Fate, fate, is_lock_timeout};

/// A failed attempt to run a batch. Except for [`Failure::Unsettled`], nothing was done.
#[derive(Debug)]
pub(super) enum Failure {
    /// The transaction was rolled back because of another one, or for a row that appeared meanwhile.
    Conflict(StoreError),
    /// It waited too long for a lock.
    Locked(StoreError),
    /// A unique index found a row that the batch had not seen.
    Duplicate(StoreError),
    /// The server refuses a statement, and would refuse it again.
    Refused(StoreError),
    /// The server lacks disk space or another resource.
    Exhausted(StoreError),
    /// The connection was lost.
    Lost(StoreError),
    /// No connection could be opened.
    Away(StoreError),
    /// The database did not answer in time.
    Late(StoreError),
    /// It is unknown whether the batch was committed.
    Unsettled(StoreError),
}

impl Failure {
    /// The failure of a statement before the commit.
    pub(super) fn of(what: &'static str, error: tokio_postgres::Error) -> Self {
        let is_locked = is_lock_timeout(&error);
        let fate = fate(&error);
        let error = |kind| StoreError::new(kind, what).with_source(Driver(error));
        match fate {
            Fate::Conflict if is_locked => Self::Locked(error(StoreErrorKind::Busy)),
            Fate::Conflict => Self::Conflict(error(StoreErrorKind::Busy)),
            Fate::Duplicate => Self::Duplicate(error(StoreErrorKind::Busy)),
            Fate::Refused => Self::Refused(error(StoreErrorKind::Corrupt)),
            Fate::Denied => Self::Refused(error(StoreErrorKind::Unavailable)),
            Fate::Exhausted => Self::Exhausted(error(StoreErrorKind::Unavailable)),
            Fate::Disconnected | Fate::ServerLost => Self::Lost(error(StoreErrorKind::Unavailable)),
        }
    }

    /// Returns `true` if a lock was not free in time, and `false` after any other failure.
    pub(super) fn is_locked(&self) -> bool {
        matches!(self, Self::Locked(_))
    }

    /// Returns `true` if the failure is one of the connection or of the whole database, so that the connection is not
    /// used again. Returns `false` if it concerns only the transitions.
    pub(super) fn concerns_database(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Away(_) | Self::Late(_) | Self::Unsettled(_))
    }

    /// Returns whether the connection can be used again, once the transaction is rolled back.
    pub(super) fn spares_connection(&self) -> bool {
        !self.concerns_database()
    }

    /// The answer to the callers if it is the last attempt.
    pub(super) fn error(&self) -> StoreError {
        match self {
            Self::Conflict(error)
            | Self::Locked(error)
            | Self::Duplicate(error)
            | Self::Refused(error)
            | Self::Exhausted(error)
            | Self::Lost(error)
            | Self::Away(error)
            | Self::Late(error)
            | Self::Unsettled(error) => error.clone(),
        }
    }
}

/// The next step after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The batch once more, at once.
    Again,
    /// Each transition on its own.
    Singly,
    /// The callers get the failure.
    Answer,
}

/// The attempts of a batch of several transitions.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    conflicts: u32,
    locks: u32,
    losses: u32,
}

/// The maximum number of attempts of one transition that conflicts with others.
pub(super) const CONFLICTS_MAX: u32 = 5;

/// The maximum number of attempts of one transition that waits for a lock in vain. All other transitions of the lane
/// wait meanwhile.
const LOCKS_MAX: u32 = 3;

/// The maximum number of attempts if connections are lost. A lost attempt has done nothing, and another connection may
/// work.
const LOSSES_MAX: u32 = 2;

impl Attempts {
    /// The next step of a batch of several transitions.
    pub(super) fn next_of_batch(&mut self, failure: &Failure) -> Next {
        match failure {
            Failure::Conflict(_) => {
                self.conflicts += 1;
                if self.conflicts == 1 { Next::Again } else { Next::Singly }
            }
            Failure::Locked(_) | Failure::Duplicate(_) | Failure::Refused(_) => Next::Singly,
            Failure::Lost(_) => self.lost(),
            Failure::Exhausted(_) | Failure::Away(_) | Failure::Late(_) | Failure::Unsettled(_) => {
                Next::Answer
            }
        }
    }

    /// The next step of a single transition.
    pub(super) fn next_of_one(&mut self, failure: &Failure) -> Next {
        match failure {
            Failure::Locked(_) => {
                self.locks += 1;
                if self.locks < LOCKS_MAX { Next::Again } else { Next::Answer }
            }
            Failure::Conflict(_) | Failure::Duplicate(_) => {
                self.conflicts += 1;
                if self.conflicts < CONFLICTS_MAX { Next::Again } else { Next::Answer }
            }
            Failure::Lost(_) => self.lost(),
            Failure::Refused(_)
            | Failure::Exhausted(_)
            | Failure::Away(_)
            | Failure::Late(_)
            | Failure::Unsettled(_) => Next::Answer,
        }
    }

    /// The number of conflicts so far.
    pub(super) fn conflicts(&self) -> u32 {
        self.conflicts + self.locks
    }

    fn lost(&mut self) -> Next {
        self.losses += 1;
        if self.losses < LOSSES_MAX { Next::Again } else { Next::Answer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error() -> StoreError {
        StoreError::busy("planted")
    }

    #[test]
    fn a_batch_that_conflicts_runs_once_more_and_then_singly() {
        let mut attempts = Attempts::default();
        assert_eq!(attempts.next_of_batch(&Failure::Conflict(error())), Next::Again);
        assert_eq!(attempts.next_of_batch(&Failure::Conflict(error())), Next::Singly);
        for failure in [Failure::Duplicate(error()), Failure::Refused(error()), Failure::Locked(error())] {
            assert_eq!(Attempts::default().next_of_batch(&failure), Next::Singly, "{failure:?}");
        }
    }

    #[test]
    fn a_single_transition_has_a_bounded_number_of_attempts() {
        let mut attempts = Attempts::default();
        let steps: Vec<_> = (0..5).map(|_| attempts.next_of_one(&Failure::Duplicate(error()))).collect();
        assert_eq!(steps, [Next::Again, Next::Again, Next::Again, Next::Again, Next::Answer]);
        let mut attempts = Attempts::default();
        let steps: Vec<_> = (0..3).map(|_| attempts.next_of_one(&Failure::Locked(error()))).collect();
        assert_eq!(steps, [Next::Again, Next::Again, Next::Answer]);
        assert_eq!(Attempts::default().next_of_one(&Failure::Refused(error())), Next::Answer);
    }

    #[test]
    fn a_lost_connection_is_replaced_once() {
        let mut attempts = Attempts::default();
        let steps: Vec<_> = (0..2).map(|_| attempts.next_of_batch(&Failure::Lost(error()))).collect();
        assert_eq!(steps, [Next::Again, Next::Answer]);
        for failure in [Failure::Unsettled(error()), Failure::Away(error()), Failure::Late(error())] {
            assert_eq!(Attempts::default().next_of_batch(&failure), Next::Answer, "{failure:?}");
            assert_eq!(Attempts::default().next_of_one(&failure), Next::Answer, "{failure:?}");
        }
    }
}
