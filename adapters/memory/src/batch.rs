//! The batch of transitions that the writer decides, and the callers that wait for its outcome. A transition is an
//! operation in the form in which it is submitted to the store. Each transition of the batch sees the results of the
//! earlier ones.

use foldhash::fast::RandomState;
use petstore_domain::{Changes, Overlay, RecordRef, View, complete};
use petstore_ports::{StoreError, Transition};

use crate::apply::check_room;
use crate::oneshot::Sender;
use crate::tables::Tables;
use crate::transact::{ROUNDS_MAX, ask};

/// A batch from its first decision until its outcome is known.
#[derive(Default)]
pub(crate) struct OpenBatch {
    overlay: Overlay<RandomState>,
    callers: Vec<Sender<()>>,
}

impl OpenBatch {
    /// Decides a transition, and adds its changes. The caller waits for the commit even if the operation is rejected,
    /// because an earlier decision of the batch may be the reason for the rejection.
    pub(crate) fn decide(&mut self, tables: &Tables, transition: &dyn Transition, caller: Sender<()>) {
        match self.changes_of(tables, transition) {
            Ok(changes) => {
                if !changes.is_empty() {
                    self.add(tables, changes);
                }
                self.callers.push(caller);
            }
            Err(error) => caller.send(Err(error)),
        }
    }

    /// Asks a transition for its changes. Each record is loaded only once, because no record changes during the call.
    fn changes_of(&self, tables: &Tables, transition: &dyn Transition) -> Result<Changes, StoreError> {
        let mut view = View::default();
        let footprint = |view: &View| ask(|| transition.footprint(view));
        let load = |record: &RecordRef, view: &mut View| {
            self.overlay.load(record, view, |record, view| view.load(record, &mut &*tables))
        };
        if complete(&mut view, ROUNDS_MAX, footprint, load)?.is_none() {
            let error = format!("the footprint of an operation still grew after {ROUNDS_MAX} rounds");
            return Err(StoreError::busy(error));
        }
        let changes = ask(|| transition.decide(&view))?.unwrap_or_default();
        tables.return_unused_ids(&view, &changes);
        check_room(&changes).map(|()| changes)
    }

    /// The changes of each decision, in the order of the decisions.
    pub(crate) fn decided(&self) -> &[Changes] {
        self.overlay.decided()
    }

    /// Removes and returns the changes. The caller writes them to the tables, and then calls [`OpenBatch::end`].
    pub(crate) fn take_decided(&mut self) -> Vec<Changes> {
        self.overlay.take_decided()
    }

    /// Adds changes that no caller waits for. The tables have room for them.
    pub(crate) fn add(&mut self, tables: &Tables, changes: Changes) {
        self.overlay.add(changes, |record, view| view.load(record, &mut &*tables));
    }

    /// Ends the batch, and reports its outcome to all callers.
    pub(crate) fn end(&mut self, outcome: &Result<(), StoreError>) {
        self.overlay.clear();
        self.answer(outcome);
    }

    /// Reports an outcome to all callers. The batch stays open, because it may still be committed after its callers
    /// were told that the outcome is unknown.
    pub(crate) fn answer(&mut self, outcome: &Result<(), StoreError>) {
        for caller in self.callers.drain(..) {
            caller.send(outcome.clone());
        }
    }

    /// Drops the channels of all callers, so that they are told that the outcome is unknown.
    pub(crate) fn abandon(&mut self) {
        self.callers.clear();
    }
}
