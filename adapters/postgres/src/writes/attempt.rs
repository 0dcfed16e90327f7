//! One attempt to run a batch: two flights of pipelined statements.
//!
//! The first flight begins the transaction, locks the rows of the batch and draws its ids. Then the transitions decide. The
//! second flight reads absent records again, writes all changes in one statement, and commits.

use std::collections::BTreeSet;

use petstore_domain::RecordRef;
use petstore_ports::StoreError;
use tokio::time::Instant;

use super::absence::{Absent, Identity};
use super::batch::{Pending, conclude, references, wanted};
use super::begin::Begin;
use super::decide::{Decisions, Verdict};
use super::failure::Failure;
use super::first_flight;
use super::net_changes::NetChanges;
use super::prior_reads::read_beforehand;
use super::reconnect::Open;
use super::second_flight::{self, Answer};
use crate::event_forms::Writable;

/// The parts of a commit that belong to its handle and not to its transitions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Commit {
    /// The token under which its outcome can be found out.
    pub(super) token: [u8; 16],
    /// The slot of the handle in the counts of idempotency records.
    pub(super) slot: i16,
    /// The start of the transaction.
    pub(super) begin: Begin,
    /// The kinds of events that may be written.
    pub(super) writable: Writable,
}

/// A batch that was committed, or that had nothing to commit.
pub(super) struct Done {
    /// True if there was something to commit.
    pub(super) is_committed: bool,
    /// True if events were committed.
    pub(super) has_events: bool,
    /// True if accounts or keys were changed.
    pub(super) changes_keys: bool,
    /// The number of events that were left out because their kind is not in force yet.
    pub(super) held_back: u64,
    verdicts: Vec<Verdict>,
    /// The absent records that have appeared.
    appeared: Vec<Identity>,
}

impl Done {
    /// Answers the callers. Returns the transitions that are to be decided in a later batch.
    pub(super) fn conclude(self, batch: Vec<Pending>) -> Vec<Pending> {
        conclude(batch, self.verdicts, |reference| Absent::has_appeared(&self.appeared, reference))
    }
}

/// The end of an attempt.
pub(super) enum End {
    /// It was committed, or there was nothing to commit. The connection can be used again.
    Done(Done, Box<Open>),
    /// Nothing was done. The connection, if it is there, can be used again.
    Failed(Failure, Option<Box<Open>>),
    /// The commit was sent, and not answered; or the server has warned, and the connection can be used again.
    Unknown(Done, Option<Box<Open>>),
}

/// Runs a batch on a connection. Transitions that fail before anything is locked are answered and removed.
pub(super) async fn attempt(mut open: Box<Open>, batch: &mut Vec<Pending>, commit: Commit) -> End {
    match run(&mut open, batch, commit).await {
        Ok((done, Outcome::Known)) => End::Done(done, open),
        Ok((done, Outcome::Doubtful)) => End::Unknown(done, Some(open)),
        Ok((done, Outcome::Unknown)) => End::Unknown(done, None),
        Err(failure) => {
            let open = if failure.spares_connection() && first_flight::roll_back(&open).await {
                Some(open)
            } else {
                None
            };
            End::Failed(failure, open)
        }
    }
}

/// The outcome of a batch that was sent as a whole.
enum Outcome {
    /// It was committed, or no commit was needed.
    Known,
    /// The commit was answered, and the server has warned.
    Doubtful,
    /// The commit was not answered.
    Unknown,
}

/// Runs a batch up to its commit.
async fn run(open: &mut Open, batch: &mut Vec<Pending>, commit: Commit) -> Result<(Done, Outcome), Failure> {
    read_beforehand(open, batch).await?;
    let begin = commit.begin.sql(&open.session, &mut open.plans, Instant::now());
    let (loaded, mut ids) = first_flight::lock(open, &references(batch), &wanted(batch), &begin).await?;
    let mut decisions = Decisions::new(commit.writable);
    let ask = |one: &Pending| decisions.ask(one.transition(), one.learnt(), &loaded, &mut ids);
    let verdicts: Vec<_> = batch.iter().map(ask).collect();
    let net = NetChanges::of(&loaded, &decisions.overlay);
    let absent = Absent::of(unguarded(&verdicts, |_| true));
    let of_writers = unguarded(&verdicts, |writes| writes);
    let mut done = Done {
        is_committed: false,
        has_events: decisions.events.events() > 0,
        changes_keys: decisions.changes_keys,
        held_back: decisions.held_back,
        verdicts: Vec::new(),
        appeared: Vec::new(),
    };
    let is_read_first = !of_writers.is_empty();
    if is_read_first {
        // A decision with changes rests on absent records, and later decisions may rest on it. So the absence is
        // checked before anything is written.
        done.appeared = second_flight::read_again(open, &absent).await?;
        if of_writers.iter().any(|reference| Absent::has_appeared(&done.appeared, reference)) {
            return Err(Failure::Conflict(StoreError::busy("a record appeared meanwhile")));
        }
    }
    let rest = (!is_read_first && !absent.is_empty()).then_some(&absent);
    done.is_committed = !net.is_empty() || done.has_events;
    let answer = if done.is_committed {
        let statement = open.texts.statement(&net, &decisions, commit.token, commit.slot);
        second_flight::commit(open, statement, rest).await?
    } else {
        second_flight::release(open, rest).await?
    };
    done.verdicts = verdicts;
    let outcome = match answer {
        Answer::Committed(appeared) => {
            done.appeared.extend(appeared);
            return Ok((done, Outcome::Known));
        }
        Answer::Doubtful => Outcome::Doubtful,
        Answer::Unknown => Outcome::Unknown,
    };
    // The second read of absent records does not count, so transitions that rest on them are asked again in a later
    // batch.
    if let Some(rest) = rest {
        done.appeared = rest.all();
    }
    Ok((done, outcome))
}

fn unguarded(verdicts: &[Verdict], of: impl Fn(bool) -> bool) -> BTreeSet<RecordRef> {
    let records = verdicts.iter().filter_map(|verdict| match verdict {
        Verdict::Decided { writes, unguarded } if of(*writes) => Some(unguarded),
        _ => None,
    });
    records.flatten().cloned().collect()
}
