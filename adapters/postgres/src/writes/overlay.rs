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
    /// Loads a record or its absence into a view: the batch's last decision on it, or else the value in the database.
    /// None if there is no decision on it and it was not read.
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
        // For a damaged record there is no value. But no decision is about such a record, because it was not loaded
        // into a view.
        let in_database = || loaded.value(reference).ok().flatten();
        let before = self.latest.get(reference).map_or_else(in_database, Option::as_ref);
        match reference {
            RecordRef::Category(id) => {
                // Most changes of a category leave its name: the creation and the deletion of a pet change only the
                // category's count.
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

/// Tracks the change of a record's name. The old name becomes free, unless the batch has given it to another record
/// meanwhile.
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

#[cfg(test)]
mod tests {
    use petstore_domain::{Category, CategoryName, CategoryRecord, Change, Version};

    use super::*;

    fn category(id: u64, name: &str) -> CategoryRecord {
        let (id, name) = (CategoryId::new(id).unwrap(), CategoryName::parse(name).unwrap());
        CategoryRecord {
            category: Category { id, name, description: None },
            version: Version::FIRST,
            pets: 0,
        }
    }

    fn folded(name: &str) -> FoldedName {
        CategoryName::parse(name).unwrap().folded()
    }

    /// Categories in the database, with the index entries of their names.
    fn loaded(categories: &[CategoryRecord], other_names: &[&str]) -> Loaded {
        let mut loaded = Loaded::default();
        for record in categories {
            let (id, name) = (record.category.id, record.category.name.folded());
            loaded.insert(RecordRef::Category(id), Some(AnyRecord::Category(record.clone())));
            loaded.insert(RecordRef::CategoryName(name), Some(AnyRecord::CategoryName(id)));
        }
        for name in other_names {
            loaded.insert(RecordRef::CategoryName(folded(name)), None);
        }
        loaded
    }

    #[track_caller]
    fn assert_owner(overlay: &Overlay, loaded: &Loaded, name: &str, owner: Option<u64>, source: Source) {
        let mut view = View::default();
        let reference = RecordRef::CategoryName(folded(name));
        assert_eq!(overlay.load(loaded, &reference, &mut view), Ok(Some(source)), "{name}");
        assert_eq!(view.category_named(&folded(name)).map(CategoryId::get), owner, "{name}");
    }

    #[test]
    fn names_follow_the_changes_of_the_batch() {
        let loaded = loaded(&[category(1, "Dogs"), category(2, "Cats")], &["Birds", "Fish"]);
        let mut overlay = Overlay::default();
        assert_owner(&overlay, &loaded, "dogs", Some(1), Source::Row);
        assert_owner(&overlay, &loaded, "birds", None, Source::Absence);

        overlay.add(&loaded, Changes::from([Change::Category(category(1, "Birds"))]));
        assert_owner(&overlay, &loaded, "dogs", None, Source::Batch);
        assert_owner(&overlay, &loaded, "birds", Some(1), Source::Batch);
        assert_owner(&overlay, &loaded, "cats", Some(2), Source::Row);

        overlay.add(&loaded, Changes::from([Change::Category(category(3, "Dogs"))]));
        overlay.add(&loaded, Changes::from([Change::CategoryDeleted(CategoryId::new(2).unwrap())]));
        assert_owner(&overlay, &loaded, "dogs", Some(3), Source::Batch);
        assert_owner(&overlay, &loaded, "cats", None, Source::Batch);
        assert_owner(&overlay, &loaded, "fish", None, Source::Absence);
    }

    #[test]
    fn two_categories_may_exchange_their_names_in_one_decision() {
        let loaded = loaded(&[category(1, "Dogs"), category(2, "Cats")], &[]);
        let mut overlay = Overlay::default();
        let exchange = [Change::Category(category(2, "Dogs")), Change::Category(category(1, "Cats"))];
        overlay.add(&loaded, Changes::from(exchange));
        assert_owner(&overlay, &loaded, "dogs", Some(2), Source::Batch);
        assert_owner(&overlay, &loaded, "cats", Some(1), Source::Batch);
    }

    #[test]
    fn a_record_that_was_not_read_is_not_taken_as_absent() {
        let reference = RecordRef::Category(CategoryId::FIRST);
        let mut view = View::default();
        assert_eq!(Overlay::default().load(&Loaded::default(), &reference, &mut view), Ok(None));
        assert!(!view.holds(&reference));
    }
}
