//! Writes: the transitions of a handle, run in batches that share a commit.
//!
//! All transitions of a handle wait in one queue, and one task takes up to 256 of them at a time (group commit). A batch is
//! one transaction at READ COMMITTED: all rows that its transitions read are locked in one order, the transitions decide one
//! after another, each on the result of those before it, and the net change of each row is written in one statement.
//!
//! From the bottom up:
//! - [`loaded`], [`next_ids`]: the records and the ids of the batch, as the database has them.
//! - [`footprint`], [`samples`]: the records that a transition will read.
//! - [`decide`], [`absence`]: the decisions, and the absent records that they rest on.
//! - [`net_changes`], [`statement`]: the change of each row, and the statement that writes all.
//! - [`prior_reads`], [`first_flight`], [`second_flight`], [`attempt`]: the exchange with the server.
//! - [`failure`], [`settle`], [`reconnect`], [`counters`], [`lane`]: attempts until a batch is answered; [`trials`]: writes
//!   without a request, while batches fail.

mod absence;
mod attempt;
mod batch;
mod begin;
mod counters;
mod decide;
mod failure;
mod first_flight;
mod footprint;
mod lane;
mod loaded;
mod net_changes;
mod next_ids;
#[cfg(test)]
mod plans;
mod prior_reads;
mod reconnect;
mod samples;
mod second_flight;
mod settle;
mod statement;
mod tokens;
mod trials;
mod wanted;

use std::sync::Arc;

use async_trait::async_trait;
use petstore_ports::{StoreError, Transactor, Transition};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::oneshot;

use self::batch::Pending;
use self::lane::Lane;
use crate::PostgresStore;

pub(crate) use self::counters::WriteCounters;
pub(crate) use self::lane::{AfterCommit, LaneParts};
pub(crate) use self::reconnect::Reconnecting;
pub(crate) use self::trials::Trials;

/// The maximum number of transitions that wait for a batch. Beyond it the store answers further callers at once that it
/// is busy.
const WAITING_MAX: usize = 4_096;

/// The queue of a handle's transitions.
pub(crate) struct Writes {
    queue: mpsc::Sender<Pending>,
    trials: Trials,
    counters: Arc<WriteCounters>,
}

impl Writes {
    /// Starts the lane on a runtime.
    pub(crate) fn start(runtime: &Handle, parts: LaneParts) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let counters = Arc::<WriteCounters>::default();
        let counted = Arc::clone(&counters);
        let (trials, asked) = Trials::new();
        runtime.spawn(Lane::new(waiting, asked, counted, parts).run());
        Self { queue, trials, counters }
    }

    /// The way to try the lane without a request.
    pub(crate) fn trials(&self) -> Trials {
        self.trials.clone()
    }

    /// Counts since the store was opened.
    pub(crate) fn counters(&self) -> &WriteCounters {
        &self.counters
    }

    /// The number of transitions that wait for a batch.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.max_capacity().saturating_sub(self.queue.capacity())
    }

    /// Runs a transition. If the caller stops waiting before the batch of the transition begins, the transition is left
    /// out. If it stops later, the transition is run nevertheless.
    async fn run(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        let (sender, answer) = oneshot::channel();
        self.queue.try_send(Pending::new(transition, sender)).map_err(|refused| match refused {
            TrySendError::Full(_) => StoreError::busy("too many writes wait"),
            TrySendError::Closed(_) => closed().with_kind(petstore_ports::StoreErrorKind::Unavailable),
        })?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }
}

fn closed() -> StoreError {
    StoreError::indeterminate("the store is closed")
}

#[async_trait]
impl Transactor for PostgresStore {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        self.node.check()?;
        self.writes.run(transition).await
    }
}
