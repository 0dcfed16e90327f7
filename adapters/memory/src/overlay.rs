//! What a batch has decided so far, while none of it is in the tables.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;
use petstore_domain::{
    AccountId, Ban, CategoryId, CategoryName, Change, Changes, FoldedName, IdempotencyRecord, KeyId,
    KeyRecord, RecordRef, View,
};
use petstore_ports::StoreError;

use crate::tables::Tables;

type Map<K, V> = HashMap<K, V, RandomState>;

/// Where a change is: of which decision, and which of its changes.
type Place = (usize, usize);

/// The decisions of one batch: later ones of the batch see them, readers do not.
#[derive(Default)]
pub(crate) struct Overlay {
    decided: Vec<Changes>,
    /// Where the last change of each record is.
    latest: Map<RecordRef, Place>,
    category_names: NameOwners<FoldedName, CategoryId>,
    account_names: NameOwners<FoldedName, AccountId>,
    /// The ban of each key as it was when the batch first looked at it.
    bans_seen: Map<KeyId, Option<Ban>>,
}

impl Overlay {
    /// What was decided, in that order.
    pub(crate) fn decided(&self) -> &[Changes] {
        &self.decided
    }

    /// Whether this ban of a key is newer than what the batch has decided on.
    pub(crate) fn is_news(&self, key: KeyId, ban: Option<Ban>) -> bool {
        self.bans_seen.get(&key).is_some_and(|seen| *seen != ban)
    }

    /// Hands over what was decided. The rest stays until [`Overlay::clear`].
    pub(crate) fn take_decided(&mut self) -> Vec<Changes> {
        std::mem::take(&mut self.decided)
    }

    /// Forgets everything: the next batch begins.
    pub(crate) fn clear(&mut self) {
        self.decided.clear();
        self.latest.clear();
        self.category_names.0.clear();
        self.account_names.0.clear();
        self.bans_seen.clear();
    }

    /// Loads what has this name: as the batch has decided, or else as it is in the tables.
    pub(crate) fn load(
        &mut self,
        tables: &Tables,
        name: &RecordRef,
        view: &mut View,
    ) -> Result<(), StoreError> {
        match name {
            RecordRef::CategoryName(name) => {
                let bearer = self.category_names.bearer(name, |name| tables.categories.named(name));
                view.load_category_name(name.clone(), bearer);
            }
            RecordRef::AccountName(name) => {
                let bearer = self.account_names.bearer(name, |name| tables.accounts.id_of(name));
                view.load_account_name(name.clone(), bearer);
            }
            RecordRef::Pet(_)
            | RecordRef::Category(_)
            | RecordRef::Order(_)
            | RecordRef::Account(_)
            | RecordRef::Key(_)
            | RecordRef::Idempotency(_) => match self.latest(name) {
                Some(change) => load_change(change, view),
                None => self.load_from_tables(tables, name, view)?,
            },
            RecordRef::NextPet
            | RecordRef::NextCategory
            | RecordRef::NextOrder
            | RecordRef::NextAccount
            | RecordRef::NextKey => {
                tables.load_one(name, view)?;
            }
        }
        Ok(())
    }

    /// Adds a decision. There must be room for it in the tables.
    pub(crate) fn add(&mut self, tables: &Tables, changes: Changes) {
        let decision = self.decided.len();
        self.decided.push(changes);
        for place in 0..self.decided[decision].as_slice().len() {
            self.follow(tables, (decision, place));
            let name = name_of(self.change((decision, place)));
            self.latest.insert(name, (decision, place));
        }
    }

    /// What follows from a change besides the record itself: which record has which name.
    fn follow(&mut self, tables: &Tables, place: Place) {
        match self.change(place) {
            Change::Category(record) => {
                let (id, after) = (record.category.id, record.category.name.clone());
                self.rename_category(tables, id, Some(after));
            }
            Change::CategoryDeleted(id) => self.rename_category(tables, *id, None),
            Change::Account(account) => {
                let (id, after) = (account.id, account.name.folded());
                let before = match self.latest(&RecordRef::Account(id)) {
                    Some(Change::Account(before)) => Some(before.name.folded()),
                    Some(_) => None,
                    None => tables.accounts.read(id, |before| before.name.folded()),
                };
                self.account_names.rename(id, before, Some(after), |name| tables.accounts.id_of(name));
            }
            Change::Pet(_)
            | Change::PetDeleted(_)
            | Change::Order(_)
            | Change::OrderDeleted(_)
            | Change::Key(_)
            | Change::Idempotency(_) => {}
        }
    }

    fn rename_category(&mut self, tables: &Tables, id: CategoryId, after: Option<CategoryName>) {
        let before = match self.latest(&RecordRef::Category(id)) {
            Some(Change::Category(before)) => Some(before.category.name.clone()),
            Some(_) => None,
            None => tables.categories.read(id, |before| before.category.name.clone()),
        };
        // A pet that comes or goes changes the category's count alone.
        if before != after {
            let (before, after) = (before.map(|name| name.folded()), after.map(|name| name.folded()));
            self.category_names.rename(id, before, after, |name| tables.categories.named(name));
        }
    }

    fn change(&self, (decision, place): Place) -> &Change {
        &self.decided[decision].as_slice()[place]
    }

    fn latest(&self, name: &RecordRef) -> Option<&Change> {
        self.latest.get(name).map(|place| self.change(*place))
    }

    fn load_from_tables(
        &mut self,
        tables: &Tables,
        name: &RecordRef,
        view: &mut View,
    ) -> Result<(), StoreError> {
        tables.load_one(name, view)?;
        if let RecordRef::Key(id) = name {
            self.bans_seen.insert(*id, view.key(*id).and_then(|key| key.ban));
        }
        Ok(())
    }
}

/// Which record has a name, for the names about which the batch has decided.
struct NameOwners<N, Id>(Map<N, Option<Id>>);

impl<N, Id> Default for NameOwners<N, Id> {
    fn default() -> Self {
        Self(Map::default())
    }
}

impl<N: Eq + Hash, Id: Copy + Eq> NameOwners<N, Id> {
    fn bearer(&self, name: &N, in_tables: impl FnOnce(&N) -> Option<Id>) -> Option<Id> {
        self.0.get(name).copied().unwrap_or_else(|| in_tables(name))
    }

    /// A record takes a name, and frees the one it had unless another record has taken it in the meantime.
    fn rename(
        &mut self,
        id: Id,
        before: Option<N>,
        after: Option<N>,
        in_tables: impl FnOnce(&N) -> Option<Id>,
    ) {
        if before == after {
            return;
        }
        if let Some(before) = before
            && self.bearer(&before, in_tables) == Some(id)
        {
            self.0.insert(before, None);
        }
        if let Some(after) = after {
            self.0.insert(after, Some(id));
        }
    }
}

/// What a change writes.
pub(crate) fn name_of(change: &Change) -> RecordRef {
    match change {
        Change::Pet(record) => RecordRef::Pet(record.pet.id),
        Change::PetDeleted(id) => RecordRef::Pet(*id),
        Change::Category(record) => RecordRef::Category(record.category.id),
        Change::CategoryDeleted(id) => RecordRef::Category(*id),
        Change::Order(record) => RecordRef::Order(record.order.id),
        Change::OrderDeleted(id) => RecordRef::Order(*id),
        Change::Account(account) => RecordRef::Account(account.id),
        Change::Key(record) => RecordRef::Key(record.id),
        Change::Idempotency(record) => RecordRef::Idempotency(record.name.clone()),
    }
}

fn load_change(change: &Change, view: &mut View) {
    match change {
        Change::Pet(record) => view.load_pet(record.pet.id, Some(record.clone())),
        Change::PetDeleted(id) => view.load_pet(*id, None),
        Change::Category(record) => view.load_category(record.category.id, Some(record.clone())),
        Change::CategoryDeleted(id) => view.load_category(*id, None),
        Change::Order(record) => view.load_order(record.order.id, Some(record.clone())),
        Change::OrderDeleted(id) => view.load_order(*id, None),
        Change::Account(account) => view.load_account(account.id, Some(account.clone())),
        Change::Key(record) => view.load_key(record.id, Some(KeyRecord::clone(record))),
        Change::Idempotency(record) => {
            view.load_idempotency(record.name.clone(), Some(IdempotencyRecord::clone(record)))
        }
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::{Category, CategoryRecord, Version};

    use super::*;

    fn category(id: u64, name: &str) -> CategoryRecord {
        let (id, name) = (CategoryId::new(id).unwrap(), CategoryName::parse(name).unwrap());
        CategoryRecord {
            category: Category { id, name, description: None },
            version: Version::FIRST,
            pets: 0,
        }
    }

    #[test]
    fn two_categories_may_exchange_their_names_in_one_decision() {
        let (tables, mut overlay) = (Tables::new(), Overlay::default());
        tables.categories.put(1, category(1, "Dogs"));
        tables.categories.put(2, category(2, "Cats"));
        let exchange = [Change::Category(category(2, "Dogs")), Change::Category(category(1, "Cats"))];
        overlay.add(&tables, Changes::from(exchange));
        for (name, bearer) in [("dogs", 2), ("cats", 1)] {
            let name = CategoryName::parse(name).unwrap().folded();
            let mut view = View::default();
            overlay.load(&tables, &RecordRef::CategoryName(name.clone()), &mut view).unwrap();
            assert_eq!(view.category_named(&name).map(CategoryId::get), Some(bearer));
        }
    }
}
