//! Planted bugs of optimistic concurrency control: the store decides without a lock, and then validates the
//! records that it has read.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use petstore_domain::{Change, Changes, Footprint, IdempotencyId, RecordRef, View};
use petstore_ports::{StoreError, Transition};

use super::planted_reads::pause_blocking;
use super::{Bug, ReferenceStore, StoreState};

/// The number of writes of each idempotency record's row.
pub(super) type RowVersions = BTreeMap<IdempotencyId, u64>;

/// The view of a transition.
struct Seen {
    footprint: Footprint,
    view: View,
    versions: RowVersions,
}

impl Bug {
    /// Returns whether this file implements the bug.
    pub(super) fn is_of_optimism(self) -> bool {
        use Bug::{
            EventsOfDiscarded, NamesOverlooked, RefusalsUnchecked, RenamesOverlooked, VersionsBeginAgain,
        };
        matches!(
            self,
            NamesOverlooked | RenamesOverlooked | VersionsBeginAgain | RefusalsUnchecked | EventsOfDiscarded
        )
    }
}

impl ReferenceStore {
    /// Runs a transition, and repeats it until its view is still valid at the time of writing. The bug decides which
    /// part of the view is checked.
    pub(super) fn transact_by_looking_again(
        &self,
        bug: Bug,
        transition: &dyn Transition,
    ) -> Result<(), StoreError> {
        loop {
            let seen = self.look(bug, transition);
            let decided = catch_unwind(AssertUnwindSafe(|| transition.decide(&seen.view)));
            let decided = decided.map_err(|_| StoreError::corrupt("the operation panicked"))?;
            if bug == Bug::EventsOfDiscarded
                && let Some(changes) = &decided
            {
                self.lock().log.append(changes);
            }
            pause_blocking();
            let mut state = self.lock();
            let unchecked = decided.is_none() && bug == Bug::RefusalsUnchecked;
            if unchecked || state.still_holds(bug, &seen) {
                let changes = decided.unwrap_or_default();
                if bug != Bug::EventsOfDiscarded {
                    state.log.append(&changes);
                }
                state.apply_and_count(changes);
                return Ok(());
            }
        }
    }

    /// Loads the footprint. With [`Bug::RefusalsUnchecked`] each record is loaded in a separate step, so that the view
    /// may be inconsistent.
    fn look(&self, bug: Bug, transition: &dyn Transition) -> Seen {
        let mut view = View::default();
        if bug == Bug::RefusalsUnchecked {
            for record in transition.footprint(&view).records() {
                self.lock().tables.load(record, &mut view);
                pause_blocking();
            }
        }
        let mut state = self.lock();
        state.tables.complete(transition, &mut view);
        Seen { footprint: transition.footprint(&view), view, versions: state.row_versions.clone() }
    }
}

impl StoreState {
    fn still_holds(&mut self, bug: Bug, seen: &Seen) -> bool {
        let records = seen.footprint.records();
        let makes_one = records.iter().any(|record| record.id_kind().is_some());
        let overlooks_names = bug == Bug::NamesOverlooked || (bug == Bug::RenamesOverlooked && !makes_one);
        let mut view = View::default();
        records.iter().filter(|record| record.id_kind().is_none()).all(|record| {
            self.tables.load(record, &mut view);
            match record {
                RecordRef::CategoryName(_) | RecordRef::AccountName(_) if overlooks_names => true,
                RecordRef::Idempotency(id) if bug == Bug::VersionsBeginAgain => {
                    self.row_versions.get(id) == seen.versions.get(id)
                }
                _ => view.agrees(&seen.view, record),
            }
        })
    }

    /// Writes the changes, and counts the writes of each idempotency record's row. The count of a pruned row starts
    /// again at one.
    fn apply_and_count(&mut self, changes: Changes) {
        for change in changes {
            if let Change::Idempotency(record) = &change {
                let is_there = self.tables.retries.contains_key(&record.id);
                let before = self.row_versions.get(&record.id).copied().filter(|_| is_there);
                self.row_versions.insert(record.id.clone(), before.unwrap_or(0) + 1);
            }
            self.apply_one(change);
        }
    }
}
