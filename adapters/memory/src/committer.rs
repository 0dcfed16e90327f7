//! The one writer of a store with a journal. The writer decides a batch, commits it, and only then makes it visible.
//!
//! A step takes the waiting requests, up to [`BATCH_MAX`] of them. Each transition (one submitted operation) decides on
//! the basis of the tables and of the earlier decisions of the batch. All changes go to the journal in one commit.
//! After the commit the changes are written to the tables, which cannot fail, and the callers are answered. So a read
//! never waits for the disk, and never returns data that would be lost in a crash.

mod housekeeping;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{Changes, Timestamp};
use petstore_ports::{Batch, BatchNumber, BulkLoad, Journal, LastIds, StoreError};

use crate::batch::OpenBatch;
use crate::event_log::{Appended, EncodedBatch};
use crate::new_shop::NewShop;
use crate::older_events;
use crate::queue::{Queue, Request};
use crate::recovery::{self, PendingWrite, Recovery, WriterState};
use crate::stripes::Stripes;
use crate::tables::Tables;

/// Maximum number of requests in a batch. A larger batch would delay its first caller, and would hardly reduce the cost
/// of a commit per request.
const BATCH_MAX: usize = 256;

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// No request waited.
    Idle,
    /// Requests were processed; more may wait.
    Worked,
    /// The journal fails. Each step asks it once to recover.
    Failing,
}

/// Decides, commits and publishes batches.
pub(crate) struct Committer {
    tables: Arc<Tables>,
    stripes: Arc<Stripes>,
    queue: Arc<Queue>,
    journal: Box<dyn Journal>,
    /// The last batch that was published.
    last: BatchNumber,
    state: WriterState,
    batch: OpenBatch,
    /// The events of the batch.
    events: EncodedBatch,
    /// Present while more expired records and events may have to be dropped: the time of the housekeeping request,
    /// which decides if they have expired, and the maximum number of further passes.
    drops_left: Option<(Timestamp, u32)>,
    /// The maximum number of further passes that write usage to the journal; none if nothing is left to write.
    notes_left: Option<u32>,
    /// Buffer for the requests of a step; empty between two steps.
    requests: Vec<Request>,
    /// True once the journal was accepted, also by a write.
    is_accepted: bool,
}

impl Committer {
    /// Creates a committer for `journal`, in which `last` is the last batch.
    pub(crate) fn new(
        tables: Arc<Tables>,
        stripes: Arc<Stripes>,
        queue: Arc<Queue>,
        journal: Box<dyn Journal>,
        last: BatchNumber,
    ) -> Self {
        Self {
            tables,
            stripes,
            queue,
            journal,
            last,
            state: WriterState::Healthy,
            batch: OpenBatch::default(),
            events: EncodedBatch::default(),
            drops_left: None,
            notes_left: None,
            requests: Vec::new(),
            is_accepted: false,
        }
    }

    /// The last batch that was published.
    pub(crate) const fn last_batch(&self) -> BatchNumber {
        self.last
    }

    /// Accepts the content of the journal. If that changes the storage, the events are checked first.
    pub(crate) fn accept_unread(&mut self) -> Result<(), StoreError> {
        if self.journal.awaits_acceptance() {
            return self.accept();
        }
        self.is_accepted = true;
        Ok(())
    }

    /// Checks that the events of the journal can be read, and accepts its content.
    pub(crate) fn accept(&mut self) -> Result<(), StoreError> {
        let bounds = self.tables.events.bounds();
        older_events::check_all(|range, into| self.journal.read_events(range, into), &bounds)?;
        self.journal.accept()?;
        self.is_accepted = true;
        Ok(())
    }

    /// Processes one batch of waiting requests. While the journal fails, asks it to recover instead.
    pub(crate) fn step(&mut self) -> Step {
        if !self.state.is_healthy() {
            return self.recover();
        }
        let mut requests = std::mem::take(&mut self.requests);
        self.queue.take(BATCH_MAX, &mut requests);
        if requests.is_empty() && self.drops_left.is_none() && self.notes_left.is_none() {
            self.requests = requests;
            return Step::Idle;
        }
        let mut housekeeping = Vec::new();
        for request in requests.drain(..) {
            match request {
                Request::Write { transition, sender } => {
                    self.batch.decide(&self.tables, &*transition, sender);
                }
                Request::Housekeeping(part) => housekeeping.push(part),
            }
        }
        self.requests = requests;
        self.commit();
        self.keep_house(housekeeping);
        Step::Worked
    }

    /// Processes all waiting requests, and writes all changed usage to the journal. A failing journal is asked to
    /// recover once. A journal that was never accepted stays as it was.
    pub(crate) fn finish(&mut self) {
        while self.step() == Step::Worked {}
        while self.is_accepted && self.state.is_healthy() && self.write_behind() == Ok(true) {}
        if self.is_accepted && self.state.is_healthy() {
            // An error is kept in the state.
            let _ = self.note_deliveries();
        }
        self.batch.abandon();
    }

    /// Commits an import, whose rows are in the hidden tables, and makes it visible; or drops it. If the outcome is
    /// unknown, a later recovery does one of the two. `before` has the last ids issued before the import.
    pub(crate) fn commit_import(&mut self, before: LastIds) -> Result<(), StoreError> {
        self.guarded(|committer| {
            let (number, last_ids) = (committer.last.next(), committer.tables.last_ids());
            let event_epoch = committer.tables.events.next_epoch();
            let bulk = BulkLoad { number, last_ids, new_epoch: None, event_epoch };
            let written = committer.journal.bulk(&bulk, &mut committer.tables.rows());
            committer.conclude(PendingWrite::Import { before }, written)
        })
    }

    /// Commits a reset, and makes it visible. If the outcome is unknown, a later recovery publishes or drops it.
    pub(crate) fn commit_reset(&mut self, shop: NewShop, epoch: u64) -> Result<(), StoreError> {
        self.queue.check()?;
        self.guarded(|committer| {
            let number = committer.last.next();
            let last_ids = shop.last_ids();
            let bulk = BulkLoad { number, last_ids, new_epoch: Some(epoch), event_epoch: epoch };
            let written = committer.journal.bulk(&bulk, &mut shop.rows());
            committer.conclude(PendingWrite::Reset(Box::new(shop)), written)
        })
    }

    /// Commits changes that were decided while writes are blocked. If the outcome is unknown, a later recovery
    /// publishes or drops them.
    pub(crate) fn commit_changes(&mut self, changes: Changes) -> Result<(), StoreError> {
        self.queue.check()?;
        if changes.is_empty() {
            return Ok(());
        }
        self.guarded(|committer| {
            committer.batch.add(&committer.tables, changes);
            let written = committer.append();
            committer.conclude(PendingWrite::Batch, written)
        })
    }

    /// Runs `work` on the calling thread, which is not the writer's thread. If `work` panics, the writer ends, too.
    pub(crate) fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|_| {
            self.die();
            Err(recovery::panicked_in_doubt())
        })
    }

    /// Adds a pause between two attempts to recover a failing journal. Callers whose write is in doubt are answered
    /// once the pauses add up to [`recovery::IN_DOUBT_MAX`].
    pub(crate) fn add_pause(&mut self, pause: Duration) {
        if let Some(unknown) = self.state.add_pause(pause) {
            self.batch.answer(&Err(unknown));
        }
    }

    /// Ends the writer after a panic: nothing is written until the store is opened again.
    pub(crate) fn die(&mut self) {
        self.state = WriterState::Dead;
        self.queue.fail(&recovery::panicked());
        self.queue.close();
        self.batch.end(&Err(recovery::panicked_in_doubt()));
    }

    fn commit(&mut self) {
        if self.batch.decided().is_empty() {
            self.batch.end(&Ok(()));
            return;
        }
        match self.append() {
            Ok(()) => self.publish(PendingWrite::Batch),
            Err(error) => drop(self.fail(error, Some(PendingWrite::Batch))),
        }
    }

    /// Hands the decided changes and their events to the journal.
    fn append(&mut self) -> Result<(), StoreError> {
        let changes = self.batch.decided();
        self.events.encode(changes);
        let (number, last_ids) = (self.last.next(), self.tables.last_ids());
        let events = self.events.as_batch(self.tables.events.bounds().last);
        self.journal.append(&Batch { number, changes, last_ids, events })
    }

    /// Ends a write that another thread than the writer's has asked the journal to commit. If `written` is no error,
    /// publishes the write. Otherwise asks the journal once to recover, and then publishes the write if the journal
    /// holds it, or drops it. If the journal still fails, the write stays in doubt.
    fn conclude(&mut self, pending: PendingWrite, written: Result<(), StoreError>) -> Result<(), StoreError> {
        let Err(error) = written else {
            self.publish(pending);
            return Ok(());
        };
        let (number, cause) = (self.last.next(), self.fail(error, Some(pending)));
        self.recover();
        match self.state.error() {
            Some(error) => Err(recovery::outcome_unknown(&error)),
            None if self.last == number => Ok(()),
            None => Err(recovery::not_written(cause)),
        }
    }

    /// Makes a write that the journal holds visible, and answers its callers. Commits become visible only here, in the
    /// order of these calls.
    fn publish(&mut self, write: PendingWrite) {
        self.last = self.last.next();
        self.is_accepted = true;
        match write {
            PendingWrite::Batch => {
                let mut appended = Appended::default();
                for (changes, events) in self.batch.take_decided().into_iter().zip(self.events.decisions()) {
                    let write = |change| self.tables.apply_one(change);
                    appended.extend(self.tables.publish_encoded(changes, events, write));
                }
                // Readers are woken once for the whole batch, so that they find all of its events.
                self.tables.events.wake(&appended);
            }
            PendingWrite::Import { .. } => {
                self.tables.events.restart_next();
                self.tables.visibility.show();
            }
            PendingWrite::Reset(shop) => self.tables.replace_shop(&shop),
        }
        self.batch.end(&Ok(()));
    }

    /// Drops a write that the journal does not hold, and reports that to its callers.
    fn discard(&mut self, pending: Option<&PendingWrite>, cause: StoreError) {
        if let Some(PendingWrite::Import { before }) = pending {
            self.tables.clear_shop(*before);
            self.tables.visibility.show();
        }
        self.batch.end(&Err(recovery::not_written(cause)));
    }

    /// Refuses requests after a failed call of the journal. Returns the error that later callers get.
    fn fail(&mut self, error: StoreError, pending: Option<PendingWrite>) -> StoreError {
        let (state, error) = WriterState::after_failure(error, pending);
        self.state = state;
        self.queue.fail(&error);
        error
    }

    /// Asks the journal to recover. If the journal recovers, publishes the write in doubt if the journal holds it, and
    /// drops it otherwise.
    fn recover(&mut self) -> Step {
        if matches!(self.state, WriterState::Dead) {
            return Step::Failing;
        }
        let answer = self.journal.recover();
        let state = std::mem::replace(&mut self.state, WriterState::Healthy);
        let (state, recovery) = state.after_recovery(self.last, answer);
        self.state = state;
        match recovery {
            Some(Recovery::Committed(write)) => {
                self.queue.recover();
                self.publish(write);
            }
            Some(Recovery::Lost { pending, cause }) => {
                self.queue.recover();
                self.discard(pending.as_ref(), cause);
            }
            Some(Recovery::Failing(error)) => {
                self.queue.fail(&error);
                return Step::Failing;
            }
            None => {}
        }
        Step::Worked
    }
}
