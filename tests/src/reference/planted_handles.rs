//! Further handles of the reference store, and the planted bugs of stores that have several.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use petstore_domain::{Changes, Footprint, PetId, RecordRef, View};
use petstore_ports::{StoreError, Transition};

use super::{Bug, ReferenceStore};
use crate::subject::{AnotherHandle, Subject};

/// The number of ids that a handle reserves at once with [`Bug::IdsDrawnAhead`].
const BLOCK: u64 = 32;

/// The ids that one handle assigns to pets without asking the store.
#[derive(Debug, Default)]
pub(super) struct OwnIds(Mutex<Block>);

#[derive(Debug, Default)]
struct Block {
    last: u64,
    left: u64,
}

impl ReferenceStore {
    /// Returns another handle of the same store. It corresponds to the handle that another process would have.
    #[must_use]
    pub fn another_handle(&self) -> Self {
        let (state, turn) = (Arc::clone(&self.state), Arc::clone(&self.turn));
        Self { state, bug: self.bug, own_ids: OwnIds::default(), turn }
    }

    /// The ports of this store as a subject, which can also open further handles.
    pub fn subject(self: &Arc<Self>) -> Subject {
        Subject { another: Some(Arc::clone(self) as _), ..Subject::of(self) }
    }

    /// Runs a transition with a pet id that this handle has chosen without asking the store.
    pub(super) fn transact_with_own_ids(
        &self,
        bug: Bug,
        transition: &dyn Transition,
    ) -> Result<(), StoreError> {
        let mut state = self.lock();
        let mut block = self.own_ids.0.lock().unwrap_or_else(PoisonError::into_inner);
        if block.left == 0 {
            let first =
                if bug == Bug::IdsDrawnAhead { state.tables.draw_pets(BLOCK) } else { block.last + 1 };
            *block = Block { last: first - 1, left: BLOCK };
        }
        let next = PetId::new(block.last + 1).expect("a case makes few pets");
        let changes = state.tables.decide(&WithOwnId { transition, next })?;
        if transition.footprint(&View::default()).records().contains(&RecordRef::NextPet) {
            *block = Block { last: block.last + 1, left: block.left - 1 };
        }
        if let Some(changes) = changes {
            state.apply(changes);
        }
        Ok(())
    }
}

#[async_trait]
impl AnotherHandle for ReferenceStore {
    async fn open(&self) -> Subject {
        Arc::new(self.another_handle()).subject()
    }
}

/// A transition that gets this id for a new pet, whatever id the view has.
struct WithOwnId<'t> {
    transition: &'t dyn Transition,
    next: PetId,
}

impl Transition for WithOwnId<'_> {
    fn footprint(&self, seen: &View) -> Footprint {
        self.transition.footprint(seen)
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        let mut view = view.clone();
        if view.holds(&RecordRef::NextPet) {
            view.load_next_pet(self.next);
        }
        self.transition.decide(&view)
    }
}
