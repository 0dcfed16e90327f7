//! The lane of a handle: it takes the waiting transitions and runs them in batches, one after another.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::RecordRef;
use petstore_ports::StoreError;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep, timeout};

use super::attempt::{Commit, Done, End, attempt};
use super::batch::Pending;
use super::begin::Begin;
use super::counters::{Settled, WriteCounters};
use super::failure::{Attempts, Failure, Next};
use super::reconnect::Reconnecting;
use super::settle::{Outcome, settle};
use super::tokens::Tokens;
use super::trials::{self, Asked, Late, Trying, try_write};
use crate::calls::Calls;
use crate::event_forms::EventForms;
use petstore_remote_connection::Random;

/// The maximum number of transitions of a batch. With a larger batch the first caller would wait longer, and the cost
/// of a commit would hardly be shared better.
const BATCH_MAX: usize = 256;

/// The time for which batches wait shorter for locks after a wait in vain. If a record is locked for long, for example
/// by a node that hangs, many transitions ask for it, and each wait delays all other writes of the lane.
const SHORT_WAITS: Duration = Duration::from_secs(1);

/// The maximum pause before the second attempt of a single transition. The maximum doubles before each further attempt.
const PAUSE: Duration = Duration::from_millis(2);

/// Called after a commit and before its callers are answered.
pub(crate) trait AfterCommit: Send + Sync {
    /// Events were committed.
    fn events_committed(&self);

    /// Accounts or keys were changed.
    fn keys_changed(&self);

    /// A commit with this token is in the database.
    fn committed(&self, token: [u8; 16]);

    /// A batch of this many operations was committed in this time.
    fn batch_committed(&self, operations: usize, took: Duration);

    /// An attempt to run a batch failed because of the connection or of the database.
    fn batch_failed(&self);
}

/// The parts of a handle that its lane uses.
pub(crate) struct LaneParts {
    pub(crate) connection: Reconnecting,
    pub(crate) random: Random,
    /// The slot of the handle in the counts of idempotency records.
    pub(crate) slot: i16,
    pub(crate) forms: Arc<EventForms>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) after: Arc<dyn AfterCommit>,
}

/// Runs transitions in batches.
pub(super) struct Lane {
    queue: Receiver<Pending>,
    trials: Receiver<Asked>,
    connection: Reconnecting,
    random: Random,
    tokens: Tokens,
    slot: i16,
    forms: Arc<EventForms>,
    calls: Arc<Calls>,
    counters: Arc<WriteCounters>,
    after: Arc<dyn AfterCommit>,
    /// Transitions that are to be decided again.
    later: Vec<Pending>,
    /// The time of the last wait for a lock in vain.
    locked: Option<Instant>,
    /// The trial whose answer is late; none if none is.
    late: Option<Late>,
    /// The time for which the answer of the next late trial is awaited.
    patience: Duration,
}

impl Lane {
    pub(super) fn new(
        queue: Receiver<Pending>,
        trials: Receiver<Asked>,
        counters: Arc<WriteCounters>,
        parts: LaneParts,
    ) -> Self {
        let LaneParts { connection, mut random, slot, forms, calls, after } = parts;
        let tokens = Tokens::new(random.draw());
        Self {
            queue,
            trials,
            connection,
            random,
            tokens,
            slot,
            forms,
            calls,
            counters,
            after,
            later: Vec::new(),
            locked: None,
            late: None,
            patience: trials::PATIENCE_MIN,
        }
    }

    /// Runs batches until the handle is closed.
    pub(super) async fn run(mut self) {
        loop {
            let mut batch = std::mem::take(&mut self.later);
            if batch.is_empty() {
                tokio::select! {
                    biased;
                    // First, because the queue need not get empty while all its batches wait for locks.
                    Some(asked) = self.trials.recv() => {
                        // A caller that has gone needs no answer.
                        let _: Result<(), _> = asked.send(self.try_write().await);
                        continue;
                    }
                    count = self.queue.recv_many(&mut batch, BATCH_MAX) => if count == 0 {
                        return;
                    },
                }
            } else {
                while batch.len() < BATCH_MAX
                    && let Ok(one) = self.queue.try_recv()
                {
                    batch.push(one);
                }
            }
            batch.retain(|one| !one.is_abandoned());
            self.run_batch(batch).await;
        }
    }

    async fn run_batch(&mut self, mut batch: Vec<Pending>) {
        // After this time, transitions that still conflict with others are not tried again.
        let end = Instant::now() + self.connection.answer_time();
        let mut attempts = Attempts::default();
        while !batch.is_empty() {
            let Err(failure) = self.attempt(&mut batch, self.begin()).await else { return };
            match attempts.next_of_batch(&failure) {
                Next::Again => {}
                Next::Singly => return self.run_singly(batch, end, &failure).await,
                Next::Answer => {
                    answer_all(batch, &failure.error());
                    return self.answer_waiting(&failure);
                }
            }
        }
    }

    /// The start of a batch.
    fn begin(&self) -> Begin {
        let is_short = self.locked.is_some_and(|time| time.elapsed() < SHORT_WAITS);
        if is_short { Begin::Short } else { Begin::Batch }
    }

    /// Runs each transition of a batch on its own. `before`: the failure of the batch.
    async fn run_singly(&mut self, batch: Vec<Pending>, end: Instant, before: &Failure) {
        let mut rest = batch.into_iter();
        // The records of the transitions that have waited for a lock in vain.
        let mut locked = BTreeSet::<RecordRef>::new();
        while let Some(one) = rest.next() {
            if Instant::now() >= end {
                let busy =
                    StoreError::busy("other transactions hold its records").with_source(before.error());
                one.answer(Err(busy));
                continue;
            }
            let rows: Vec<_> = one.rows().cloned().collect();
            let begin = if rows.iter().any(|row| locked.contains(row)) { Begin::Brief } else { Begin::Short };
            let Err(failure) = self.run_one(one, end, begin).await else { continue };
            if failure.concerns_database() {
                answer_all(rest, &failure.error());
                return self.answer_waiting(&failure);
            }
            if failure.is_locked() {
                locked.extend(rows);
            }
        }
    }

    /// Runs a transition on its own, and answers it. If the answer is a failure, returns that failure.
    async fn run_one(&mut self, one: Pending, end: Instant, begin: Begin) -> Result<(), Failure> {
        let mut attempts = Attempts::default();
        let mut batch = vec![one];
        while !batch.is_empty() {
            let Err(failure) = self.attempt(&mut batch, begin).await else { break };
            let is_last = begin == Begin::Brief && failure.is_locked();
            if is_last || attempts.next_of_one(&failure) == Next::Answer || Instant::now() >= end {
                answer_all(batch, &failure.error());
                return Err(failure);
            }
            self.pause(attempts.conflicts()).await;
        }
        Ok(())
    }

    /// If the failure concerns the whole database, answers all transitions that wait. Otherwise each would wait for its
    /// own failure.
    fn answer_waiting(&mut self, failure: &Failure) {
        if !failure.concerns_database() {
            return;
        }
        let error = StoreError::unavailable("nothing was done, because the write before failed");
        let error = error.with_source(failure.error());
        answer_all(std::mem::take(&mut self.later), &error);
        // The number is bounded by those that wait now, so that the loop ends even while others come.
        for _ in 0..self.queue.len() {
            let Ok(one) = self.queue.try_recv() else { return };
            one.answer(Err(error.clone()));
        }
    }

    async fn pause(&mut self, conflicts: u32) {
        let bound = PAUSE.saturating_mul(2_u32.saturating_pow(conflicts));
        let bound = u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
        sleep(Duration::from_micros(self.random.below(bound))).await;
    }

    /// Runs a batch once. After a success it is empty, and its callers are answered.
    async fn attempt(&mut self, batch: &mut Vec<Pending>, begin: Begin) -> Result<(), Failure> {
        let since = Instant::now();
        match self.commit(batch, begin).await {
            Ok(done) => {
                self.forget_late();
                // A batch of refused changes writes nothing, so it does not show that writes succeed.
                if done.is_committed {
                    self.calls.committed();
                    self.after.batch_committed(batch.len(), since.elapsed());
                }
                self.conclude(done, std::mem::take(batch));
                Ok(())
            }
            Err(failure) => {
                self.counters.failed(&failure);
                self.calls.writes.failed_batch(&failure.error());
                if failure.concerns_database() {
                    self.after.batch_failed();
                }
                Err(failure)
            }
        }
    }

    /// Writes without a request. While the answer of an earlier trial is late, it is awaited instead.
    async fn try_write(&mut self) -> Result<(), StoreError> {
        let mut trying: Trying = match self.late.take() {
            Some(late) if late.trying.is_finished() => late.trying,
            Some(late) if Instant::now() < late.until => {
                self.late = Some(late);
                return Err(trials::late());
            }
            given_up => {
                if let Some(late) = given_up {
                    late.trying.abort();
                }
                let open = self.connection.take().await?;
                let token = self.tokens.next();
                tokio::spawn(async move {
                    let tried = try_write(&open.session, token).await;
                    tried.map(|()| open)
                })
            }
        };
        let tried = timeout(self.connection.answer_time(), &mut trying).await;
        match tried {
            Ok(Ok(Ok(open))) => {
                self.connection.keep(open);
                self.forget_late();
                Ok(())
            }
            Ok(Ok(Err(error))) => Err(error),
            // The runtime shuts down.
            Ok(Err(_)) => Err(trials::late()),
            Err(_) => {
                self.late = Some(Late { trying, until: Instant::now() + self.patience });
                self.patience = trials::longer(self.patience);
                Err(trials::late())
            }
        }
    }

    /// Gives up a trial whose answer is late, after a success.
    fn forget_late(&mut self) {
        self.patience = trials::PATIENCE_MIN;
        if let Some(late) = self.late.take() {
            late.trying.abort();
        }
    }

    async fn commit(&mut self, batch: &mut Vec<Pending>, begin: Begin) -> Result<Done, Failure> {
        let open = self.connection.take().await.map_err(Failure::Away)?;
        let token = self.tokens.next();
        let commit = Commit { token, slot: self.slot, begin, writable: self.forms.writable() };
        let done = match attempt(open, batch, commit).await {
            End::Done(done, open) => {
                self.connection.keep(open);
                Ok(done)
            }
            End::Failed(failure, open) => {
                if failure.is_locked() {
                    self.locked = Some(Instant::now());
                }
                if let Some(open) = open {
                    self.connection.keep(open);
                }
                Err(failure)
            }
            End::Unknown(done, open) => {
                if let Some(open) = open {
                    self.connection.keep(open);
                }
                self.settle(done, token).await
            }
        };
        if done.as_ref().is_ok_and(|done| done.is_committed) {
            self.after.committed(token);
        }
        done
    }

    /// Finds out whether a batch is committed, and as durable as the server's settings ask for.
    async fn settle(&mut self, done: Done, token: [u8; 16]) -> Result<Done, Failure> {
        match settle(&mut self.connection, token).await {
            Ok(Outcome::Committed) => {
                self.counters.settled(Settled::Committed);
                Ok(done)
            }
            Ok(Outcome::NotCommitted) => {
                self.counters.settled(Settled::NotCommitted);
                let lost = StoreError::unavailable("the connection was lost during a commit");
                Err(Failure::Conflict(lost))
            }
            Err(error) => {
                self.counters.settled(Settled::Unsettled);
                Err(Failure::Unsettled(error))
            }
        }
    }

    fn conclude(&mut self, done: Done, batch: Vec<Pending>) {
        if done.held_back > 0 {
            self.counters.left_out(done.held_back);
        }
        if done.changes_keys {
            self.after.keys_changed();
        }
        if done.has_events {
            self.after.events_committed();
        }
        self.later.extend(done.conclude(batch));
    }
}

fn answer_all(batch: impl IntoIterator<Item = Pending>, error: &StoreError) {
    for one in batch {
        one.answer(Err(error.clone()));
    }
}
