//! What the writer does while the journal fails.
//!
//! After an error nobody knows what is on disk, so nothing more is decided: requests are refused at once, reads go on
//! with what was committed. The journal is asked again and again how it stands. Once it answers, the batch in doubt is
//! shown or forgotten, as the disk has it, and the store takes requests again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use petstore_ports::{BatchNumber, BulkLoad, LastIds, StoreError, StoreErrorKind};

use crate::committer::{Committer, Step};

/// How long is waited at least before a journal that fails is asked again.
pub(crate) const PAUSE_MIN: Duration = Duration::from_millis(100);

/// How long at most: half of the ten seconds in which a store should heal.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// How many times what the last question took. The answer may cost a copy of all that is not in its place yet, again and
/// again for as long as a disk is full: so it has the disk and a processor for less than a tenth of the time.
const PAUSE_TIMES: u32 = 10;

/// After how much of that those whose batch is in doubt are told that it is.
pub(crate) const HELD_TIME: Duration = Duration::from_secs(1);

/// How long the writer waits before it asks a journal again that took so long to fail.
pub(crate) fn pause_after(took: Duration) -> Duration {
    took.saturating_mul(PAUSE_TIMES).clamp(PAUSE_MIN, PAUSE_MAX)
}

/// What is said once the writer has given up.
const PANICKED: &str = "the writer panicked, and nothing is written until a restart";

/// A journal that fails.
pub(crate) struct Trouble {
    /// What is wrong.
    pub(crate) error: StoreError,
    /// How long has been waited before it was asked again how it stands.
    waited: Duration,
}

impl Trouble {
    /// Waits once more. True if whoever is in doubt has waited for long enough.
    fn wait(&mut self, pause: Duration) -> bool {
        self.waited += pause;
        self.waited >= HELD_TIME
    }

    /// The error for a change that may or may not be on disk.
    fn in_doubt(&self) -> StoreError {
        StoreError::indeterminate("the journal failed").with_source(self.error.clone())
    }
}

impl Committer {
    /// Commits what an import has put into the tables, out of the readers' sight, and shows it; or drops it, and sets the
    /// last ids to what they were before. If the journal cannot say which, that is settled once it can.
    pub(crate) fn commit_import(&mut self, before: LastIds) -> Result<(), StoreError> {
        self.import = Some(before);
        self.guarded(|committer| {
            let number = committer.last.next();
            let bulk = BulkLoad { number, last_ids: committer.tables.last_ids(), anew: None };
            let written = committer.journal.bulk(&bulk, &mut committer.tables.rows());
            committer.settle(number, written)
        })
    }

    /// Does this on a thread that is not the writer's: a journal that panics there, too, is the end of the store.
    pub(crate) fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|_| {
            self.give_up();
            Err(StoreError::indeterminate(PANICKED))
        })
    }

    /// Shows a bulk load that was written under this number, or drops it.
    pub(crate) fn settle(
        &mut self,
        number: BatchNumber,
        written: Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match written {
            Ok(()) => self.publish(),
            Err(error) => {
                let cause = self.fail(error);
                self.heal();
                if self.trouble.is_none() && self.last != number {
                    return Err(not_written(cause));
                }
            }
        }
        self.trouble.as_ref().map_or(Ok(()), |trouble| Err(trouble.in_doubt()))
    }

    /// The journal has failed: what was asked of it is in doubt from now on. Returns what others are told.
    pub(crate) fn fail(&mut self, error: StoreError) -> StoreError {
        let error = unavailable(error);
        self.queue.fail(&error);
        self.trouble = Some(Trouble { error: error.clone(), waited: Duration::ZERO });
        error
    }

    /// Asks the journal how it stands, and settles the batch in doubt accordingly.
    pub(crate) fn heal(&mut self) -> Step {
        if self.is_over {
            return Step::Failing;
        }
        match self.journal.recover() {
            Ok(held) if held == self.last => {
                let trouble = self.trouble.take();
                self.queue.heal();
                self.forget(trouble.map(|trouble| trouble.error));
                Step::Worked
            }
            Ok(held) if held == self.last.next() && self.is_in_doubt() => {
                self.trouble = None;
                self.queue.heal();
                self.publish();
                Step::Worked
            }
            Ok(held) => self.ail(StoreError::corrupt(format!(
                "the journal was at batch {} and is now at batch {}",
                self.last.0, held.0
            ))),
            Err(error) => self.ail(unavailable(error)),
        }
    }

    /// Nothing was asked of a journal that fails for so long.
    pub(crate) fn rest(&mut self, pause: Duration) {
        let Some(trouble) = &mut self.trouble else { return };
        if trouble.wait(pause) {
            let unknown = trouble.in_doubt();
            self.answer(&Err(unknown));
        }
    }

    /// The writer itself has failed: nothing is written any more until the store is opened anew.
    pub(crate) fn give_up(&mut self) {
        self.fail(StoreError::unavailable(PANICKED));
        self.queue.close();
        self.is_over = true;
        self.overlay.clear();
        self.answer(&Err(StoreError::indeterminate(PANICKED)));
    }

    fn is_in_doubt(&self) -> bool {
        !self.overlay.decided().is_empty() || self.import.is_some() || self.beginning.is_some()
    }

    /// The batch in doubt is not on disk, for this reason: nothing of it has happened.
    fn forget(&mut self, cause: Option<StoreError>) {
        self.overlay.clear();
        self.beginning = None;
        if let Some(before) = self.import.take() {
            self.tables.clear_shop(before);
            self.tables.visibility.show();
        }
        let cause = cause.unwrap_or_else(|| StoreError::unavailable("its outcome was unknown"));
        self.answer(&Err(not_written(cause)));
    }

    /// The journal still fails.
    fn ail(&mut self, error: StoreError) -> Step {
        let waited = self.trouble.as_ref().map_or(Duration::ZERO, |trouble| trouble.waited);
        self.queue.fail(&error);
        self.trouble = Some(Trouble { error, waited });
        Step::Failing
    }
}

/// What is told of a batch that is not on disk. The cause is for the log, like the rest of it.
fn not_written(cause: StoreError) -> StoreError {
    StoreError::unavailable("the journal failed, and nothing was written").with_source(cause)
}

/// What a journal's failure is to those who ask for a write now: nothing of it is done.
fn unavailable(error: StoreError) -> StoreError {
    match error.kind() {
        StoreErrorKind::Busy | StoreErrorKind::Indeterminate => error.with_kind(StoreErrorKind::Unavailable),
        StoreErrorKind::Unavailable | StoreErrorKind::Corrupt => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_costs_much_is_asked_less_often() {
        const MINUTE: Duration = Duration::from_mins(1);
        for (took_ms, questions) in
            [(0, 600), (1, 595), (10, 546), (30, 182), (200, 28), (400, 14), (2_000, 9)]
        {
            let took = Duration::from_millis(took_ms);
            let each = took + pause_after(took);
            assert_eq!(MINUTE.as_millis().div_ceil(each.as_millis()), questions, "{took_ms} ms");
        }
        let longest = pause_after(Duration::MAX);
        assert!(longest * 2 <= Duration::from_secs(10), "it heals within ten seconds");
    }

    #[test]
    fn who_is_in_doubt_is_told_after_a_second_however_few_questions_that_is() {
        for (took_ms, pauses) in [(0, 10), (30, 4), (100, 1), (1_000, 1)] {
            let mut trouble = Trouble { error: StoreError::busy(""), waited: Duration::ZERO };
            let pause = pause_after(Duration::from_millis(took_ms));
            let needed = (1..100).find(|_| trouble.wait(pause));
            assert_eq!(needed, Some(pauses), "{took_ms} ms");
        }
    }
}
