//! The decisions of a batch, which are not in the database yet.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use petstore_domain::{AccountId, CategoryId, Changes, FoldedName, RecordRef, View};
use petstore_ports::StoreError;

use super::any_record::{self, AnyRecord};
use super::loaded::Loaded;

/// The records that the batch has written, with their last values.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    latest: BTreeMap<RecordRef, Option<AnyRecord>>,
    category_names: HashMap<FoldedName, Option<CategoryId>>,
    account_names: HashMap<FoldedName, Option<AccountId>>,
}

/// The source of a record that was loaded into a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A decision of the batch.
    Batch,
    /// A row of the database, which is locked.
    Row,
    /// The absence of a row in the database, which nothing locks.
    Absence,
}

impl Overlay {
    /// Loads a record, or its absence: as the batch has decided it, or else as it is in the database. None if it was not
    /// read.
    pub(super) fn load(
        &self,
        loaded: &Loaded,
        reference: &RecordRef,
        view: &mut View,
    ) -> Result<Option<Source>, StoreError> {
        let decided = match reference {
            RecordRef::CategoryName(name) => {
                self.category_names.get(name).map(|owner| owner.map(AnyRecord::CategoryName))
            }
            RecordRef::AccountName(name) => {
                self.account_names.get(name).map(|owner| owner.map(AnyRecord::AccountName))
            }
            other => {
                if let Some(value) = self.latest.get(other) {
                    any_record::load(view, other, value.as_ref());
                    return Ok(Some(Source::Batch));
                }
                None
            }
        };
        if let Some(owner) = decided {
            any_record::load(view, reference, owner.as_ref());
            return Ok(Some(Source::Batch));
        }
        if !loaded.holds(reference) {
            return Ok(None);
        }
        let value = loaded.value(reference)?;
        any_record::load(view, reference, value);
        Ok(Some(if value.is_some() { Source::Row } else { Source::Absence }))
    }

    /// Adds a decision.
    pub(super) fn add(&mut self, loaded: &Loaded, changes: Changes) {
        for change in changes {
            let (reference, value) = any_record::written(change);
            self.track_names(loaded, &reference, value.as_ref());
            self.latest.insert(reference, value);
        }
    }

    /// The records that were written, in the order of their references.
    pub(super) fn latest(&self) -> &BTreeMap<RecordRef, Option<AnyRecord>> {
        &self.latest
    }

    /// Tracks the owners of the names that a change gives or releases.
    fn track_names(&mut self, loaded: &Loaded, reference: &RecordRef, after: Option<&AnyRecord>) {
        // A damaged record was not loaded, so no decision is about it.
        let in_database = || loaded.value(reference).ok().flatten();
        let before = self.latest.get(reference).map_or_else(in_database, Option::as_ref);
        match reference {
            RecordRef::Category(id) => {
                // A pet that is created or deleted changes only the category's count.
                let (before, after) = (category_name(before), category_name(after));
                rename(&mut self.category_names, *id, before, after, |name| {
                    match loaded.value(&RecordRef::CategoryName(name.clone())) {
                        Ok(Some(AnyRecord::CategoryName(owner))) => Some(*owner),
                        _ => None,
                    }
                });
            }
            RecordRef::Account(id) => {
                let (before, after) = (account_name(before), account_name(after));
                rename(&mut self.account_names, *id, before, after, |name| {
                    match loaded.value(&RecordRef::AccountName(name.clone())) {
                        Ok(Some(AnyRecord::AccountName(owner))) => Some(*owner),
                        _ => None,
                    }
                });
            }
            _ => {}
        }
    }
}

fn category_name(record: Option<&AnyRecord>) -> Option<FoldedName> {
    match record {
        Some(AnyRecord::Category(record)) => Some(record.category.name.folded()),
        _ => None,
    }
}

fn account_name(record: Option<&AnyRecord>) -> Option<FoldedName> {
    match record {
        Some(AnyRecord::Account(record)) => Some(record.name.folded()),
        _ => None,
    }
}

/// Gives a record another name, and releases the old one unless another record has it by now.
fn rename<Id: Copy + Eq, N: Eq + Hash>(
    names: &mut HashMap<N, Option<Id>>,
    id: Id,
    before: Option<N>,
    after: Option<N>,
    in_database: impl FnOnce(&N) -> Option<Id>,
) {
    if before == after {
        return;
    }
    if let Some(before) = before
        && names.get(&before).copied().unwrap_or_else(|| in_database(&before)) == Some(id)
    {
        names.insert(before, None);
    }
    if let Some(after) = after {
        names.insert(after, Some(id));
    }
}
