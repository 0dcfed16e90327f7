//! A batch of transitions that wait for one commit.

use std::collections::BTreeSet;
use std::sync::Arc;

use petstore_domain::{Footprint, RecordRef, View};
use petstore_ports::{StoreError, Transition};
use tokio::sync::oneshot;

use super::decide::Verdict;
use super::footprint::{Closure, closure, still_grows};
use super::wanted::Wanted;

/// The maximum number of batches in which one transition is decided. It is decided again if the records that it reads
/// have changed.
const ROUNDS_MAX: u32 = 8;

/// A transition, and the caller that waits for it.
pub(super) struct Pending {
    transition: Arc<dyn Transition>,
    sender: oneshot::Sender<Result<(), StoreError>>,
    /// Records that were read beforehand, and ids that were drawn for this transition.
    learnt: View,
    /// The footprint, once it is whole.
    footprint: Option<Footprint>,
    rounds: u32,
}

impl Pending {
    pub(super) fn new(
        transition: Arc<dyn Transition>,
        sender: oneshot::Sender<Result<(), StoreError>>,
    ) -> Self {
        Self { transition, sender, learnt: View::default(), footprint: None, rounds: 0 }
    }

    /// Returns whether the caller has gone. If its transition has not begun, it is left out.
    pub(super) fn is_abandoned(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) fn transition(&self) -> &dyn Transition {
        &*self.transition
    }

    /// The records that were read beforehand, and the ids that were drawn for this transition.
    pub(super) fn learnt(&self) -> &View {
        &self.learnt
    }

    /// The records and ids of [`Self::learnt`], to add further ones.
    pub(super) fn learnt_mut(&mut self) -> &mut View {
        &mut self.learnt
    }

    /// The rows of the footprint, as far as it is known.
    pub(super) fn rows(&self) -> impl Iterator<Item = &RecordRef> {
        let records = self.footprint.as_ref().map_or(&[][..], Footprint::records);
        records.iter().filter(|reference| reference.id_kind().is_none())
    }

    /// Computes the footprint if it is not whole yet. Returns the records to read first.
    pub(super) fn close(&mut self) -> Result<Vec<RecordRef>, StoreError> {
        if self.footprint.is_some() {
            return Ok(Vec::new());
        }
        match closure(&*self.transition, &self.learnt)? {
            Closure::Whole(footprint) => {
                self.footprint = Some(footprint);
                Ok(Vec::new())
            }
            Closure::GrowsWith(records) => Ok(records),
        }
    }

    /// Prepares the transition for a later batch. None if it has been decided too often; the caller is then answered.
    pub(super) fn later(mut self, learnt: Option<View>) -> Option<Self> {
        self.footprint = None;
        self.rounds += 1;
        if let Some(learnt) = learnt {
            self.learnt = learnt;
        }
        if self.rounds < ROUNDS_MAX {
            return Some(self);
        }
        self.answer(Err(still_grows()));
        None
    }

    /// Answers the caller, if it still waits.
    pub(super) fn answer(self, answer: Result<(), StoreError>) {
        let _: Result<(), _> = self.sender.send(answer);
    }
}

/// The records of all footprints, in the order in which they are locked.
pub(super) fn references(batch: &[Pending]) -> BTreeSet<&RecordRef> {
    batch.iter().filter_map(|one| one.footprint.as_ref()).flat_map(Footprint::records).collect()
}

/// The statements that lock the records of a batch and draw its ids.
pub(super) fn wanted(batch: &[Pending]) -> Wanted {
    let mut wanted = Wanted::of(references(batch).into_iter());
    for one in batch {
        let records = one.footprint.as_ref().map_or(&[][..], Footprint::records);
        for kind in records.iter().filter_map(RecordRef::id_kind) {
            if kind.held(&one.learnt).is_none() {
                wanted.draw(kind);
            }
        }
    }
    wanted
}

/// Answers the callers of a committed batch. Returns the transitions that are to be decided in a later one: those that
/// could not decide, and those that rest on the absence of a record that has appeared.
pub(super) fn conclude(
    batch: Vec<Pending>,
    verdicts: Vec<Verdict>,
    has_appeared: impl Fn(&RecordRef) -> bool,
) -> Vec<Pending> {
    let mut later = Vec::new();
    for (one, verdict) in batch.into_iter().zip(verdicts) {
        match verdict {
            Verdict::Decided { unguarded, .. } if unguarded.iter().any(&has_appeared) => {
                later.extend(one.later(None));
            }
            Verdict::Decided { .. } => one.answer(Ok(())),
            Verdict::Later(learnt) => later.extend(one.later(Some(*learnt))),
            Verdict::Failed(error) => one.answer(Err(error)),
        }
    }
    later
}
