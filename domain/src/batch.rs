//! The steps that every store takes with an operation: loading its footprint, and keeping the decisions of a batch that are not
//! stored yet.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::record::{Change, RecordRef, View};
use crate::state::{Changes, Footprint};

/// Loads records into a view until the footprint names no further one. Returns the whole footprint; none if it still grew
/// after so many rounds.
///
/// `load` loads one record, and is called once for each. No record may change meanwhile, or the store has to check
/// afterwards that none has.
///
/// ```
/// use petstore_domain::*;
///
/// let cancel = CancelOrder { id: OrderId::FIRST, precondition: Precondition::None };
/// let (mut view, ask) = (View::default(), |view: &View| Ok::<_, IdError>(cancel.footprint(view)));
/// // A store that has no record.
/// let whole = complete(&mut view, 3, ask, |record, view| Ok(view.load_absence(record))).unwrap();
/// assert_eq!(whole.unwrap().records(), [RecordRef::Order(OrderId::FIRST)]);
/// assert_eq!(cancel.decide(&view), Err(CancelOrderRejection::NotFound));
/// ```
pub fn complete<E>(
    view: &mut View,
    rounds: usize,
    mut footprint: impl FnMut(&View) -> Result<Footprint, E>,
    mut load: impl FnMut(&RecordRef, &mut View) -> Result<(), E>,
) -> Result<Option<Footprint>, E> {
    for _ in 0..rounds {
        let named = footprint(view)?;
        let mut is_complete = true;
        for record in named.records() {
            if !view.holds(record) {
                load(record, view)?;
                is_complete = false;
            }
        }
        if is_complete {
            return Ok(Some(named));
        }
    }
    Ok(None)
}

/// The position of a change: the number of its decision in the batch, and the number of the change in the decision.
type Position = (usize, usize);

/// The decisions of one batch. Later decisions of the batch see them, readers do not.
#[derive(Debug)]
pub struct Overlay<S = RandomState> {
    decided: Vec<Changes>,
    /// The last change of each record.
    latest: HashMap<RecordRef, Position, S>,
    /// The records that have the names which the batch has given or released, by the index entries of the names.
    owners: HashMap<RecordRef, Option<RecordRef>, S>,
}

impl<S: Default> Default for Overlay<S> {
    fn default() -> Self {
        Self { decided: Vec::new(), latest: HashMap::default(), owners: HashMap::default() }
    }
}

impl<S: BuildHasher> Overlay<S> {
    /// The changes of each decision, in the order of the decisions.
    pub fn decided(&self) -> &[Changes] {
        &self.decided
    }

    /// Removes and returns the changes. The rest stays until [`Overlay::clear`].
    pub fn take_decided(&mut self) -> Vec<Changes> {
        std::mem::take(&mut self.decided)
    }

    /// Removes everything, for the next batch.
    pub fn clear(&mut self) {
        self.decided.clear();
        self.latest.clear();
        self.owners.clear();
    }

    /// Returns whether a decision of the batch determines a record.
    pub fn holds(&self, record: &RecordRef) -> bool {
        self.latest.contains_key(record) || self.owners.contains_key(record)
    }

    /// Loads a record as the decisions of the batch have left it; a record that they have not changed from the store.
    pub fn load<E>(
        &self,
        record: &RecordRef,
        view: &mut View,
        from_store: impl FnOnce(&RecordRef, &mut View) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(position) = self.latest.get(record) {
            self.change(*position).show(view);
        } else if let Some(owner) = self.owners.get(record) {
            view.load_owner(record, owner.as_ref());
        } else {
            from_store(record, view)?;
        }
        Ok(())
    }

    /// Adds a decision. Each record of it, and each name, is read from the store only if the decision depends on it; a
    /// record that cannot be read counts as absent, because no decision can be about it.
    pub fn add<E>(
        &mut self,
        changes: Changes,
        mut from_store: impl FnMut(&RecordRef, &mut View) -> Result<(), E>,
    ) {
        let decision = self.decided.len();
        self.decided.push(changes);
        for number in 0..self.decided[decision].as_slice().len() {
            let record = self.change((decision, number)).record();
            if record.is_named() {
                self.track_name((decision, number), &record, &mut from_store);
            }
            self.latest.insert(record, (decision, number));
        }
    }

    /// Tracks the owners of the names that a change gives or releases. The old name becomes free, unless the batch has given
    /// it to another record meanwhile.
    fn track_name<E>(
        &mut self,
        position: Position,
        record: &RecordRef,
        from_store: &mut impl FnMut(&RecordRef, &mut View) -> Result<(), E>,
    ) {
        let mut before = View::default();
        let _: Result<(), E> = self.load(record, &mut before, &mut *from_store);
        let Some(renaming) = self.change(position).renaming(&before) else { return };
        if let Some(released) = renaming.released {
            let _: Result<(), E> = self.load(&released, &mut before, from_store);
            if before.owner(&released).as_ref() == Some(record) {
                self.owners.insert(released, None);
            }
        }
        if let Some(given) = renaming.given {
            self.owners.insert(given, Some(record.clone()));
        }
    }

    /// The last change of each record, in the order of the references.
    pub fn latest(&self) -> Vec<&Change> {
        let mut latest: Vec<_> = self.latest.iter().collect();
        latest.sort_unstable_by_key(|(record, _)| *record);
        latest.into_iter().map(|(_, position)| self.change(*position)).collect()
    }

    fn change(&self, (decision, number): Position) -> &Change {
        &self.decided[decision].as_slice()[number]
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::{
        CancelOrder, Category, CategoryId, CategoryName, CategoryRecord, FoldedName, Operation, OrderId,
        Precondition, Version,
    };

    fn category(id: u64, name: &str) -> CategoryRecord {
        let (id, name) = (CategoryId::new(id).unwrap(), CategoryName::parse(name).unwrap());
        CategoryRecord { category: Category::new(id, name), version: Version::FIRST, pets: 0 }
    }

    fn folded(name: &str) -> FoldedName {
        CategoryName::parse(name).unwrap().folded()
    }

    /// A store with two categories, and the decisions of a batch on it.
    struct Batch {
        stored: View,
        overlay: Overlay,
    }

    impl Batch {
        fn new() -> Self {
            let mut stored = View::default();
            for record in [category(1, "Dogs"), category(2, "Cats")] {
                let id = record.category.id;
                stored.load_category_name(record.category.name.folded(), Some(id));
                stored.load_category(id, Some(record));
            }
            Self { stored, overlay: Overlay::default() }
        }

        fn add(&mut self, changes: impl Into<Changes>) {
            let Self { stored, overlay } = self;
            overlay.add(changes.into(), |record, view| {
                view.copy(record, stored);
                Ok::<_, Infallible>(())
            });
        }

        #[track_caller]
        fn assert_owner(&self, name: &str, owner: Option<u64>, is_of_batch: bool) {
            let (record, mut view) = (RecordRef::CategoryName(folded(name)), View::default());
            let from_store = |record: &RecordRef, view: &mut View| {
                view.copy(record, &self.stored);
                Ok::<_, Infallible>(())
            };
            self.overlay.load(&record, &mut view, from_store).unwrap();
            assert_eq!(view.category_named(&folded(name)).map(CategoryId::get), owner, "{name}");
            assert_eq!(self.overlay.holds(&record), is_of_batch, "{name}");
        }
    }

    #[test]
    fn names_follow_the_changes_of_the_batch() {
        let mut batch = Batch::new();
        batch.assert_owner("dogs", Some(1), false);
        batch.assert_owner("birds", None, false);

        batch.add([Change::Category(category(1, "Birds"))]);
        batch.assert_owner("dogs", None, true);
        batch.assert_owner("birds", Some(1), true);
        batch.assert_owner("cats", Some(2), false);

        batch.add([Change::Category(category(3, "Dogs"))]);
        batch.add([Change::CategoryDeleted(CategoryId::new(2).unwrap())]);
        batch.assert_owner("dogs", Some(3), true);
        batch.assert_owner("cats", None, true);
        batch.assert_owner("fish", None, false);

        batch.overlay.clear();
        batch.assert_owner("dogs", Some(1), false);
    }

    #[test]
    fn two_categories_may_exchange_their_names_in_one_decision() {
        let mut batch = Batch::new();
        batch.add([Change::Category(category(2, "Dogs")), Change::Category(category(1, "Cats"))]);
        batch.assert_owner("dogs", Some(2), true);
        batch.assert_owner("cats", Some(1), true);
    }

    #[test]
    fn the_last_change_of_a_record_counts_whether_it_writes_or_deletes() {
        let mut batch = Batch::new();
        let (one, two) = (category(1, "Dogs"), category(2, "Cats"));
        let deleted = Change::CategoryDeleted(two.category.id);
        let last = Change::Category(CategoryRecord { pets: 1, ..one.clone() });
        batch.add([Change::Category(two), Change::Category(one)]);
        batch.add([deleted.clone()]);
        batch.add([last.clone()]);
        assert_eq!(batch.overlay.latest(), [&last, &deleted], "in the order of the ids");
    }

    #[test]
    fn a_record_is_loaded_once_and_a_footprint_that_still_grows_is_none() {
        let cancel = CancelOrder { id: OrderId::FIRST, precondition: Precondition::None };
        let mut loaded = Vec::new();
        let mut run = |rounds| {
            complete(
                &mut View::default(),
                rounds,
                |view| Ok::<_, Infallible>(cancel.footprint(view)),
                |record, view| {
                    loaded.push(record.clone());
                    view.load_absence(record);
                    Ok(())
                },
            )
            .unwrap()
        };
        assert_eq!(run(1), None, "it may grow with the order");
        assert_eq!(run(2), Some([RecordRef::Order(OrderId::FIRST)].into()));
        assert_eq!(loaded, [RecordRef::Order(OrderId::FIRST), RecordRef::Order(OrderId::FIRST)]);
    }
}
