//! The decisions of a batch, which are not in the tables yet.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;
use petstore_domain::{
    AccountId, AccountWebhooks, CategoryId, CategoryName, Change, Changes, FoldedName, IdempotencyRecord,
    KeyRecord, RecordRef, View,
};
use petstore_ports::StoreError;

use crate::tables::Tables;

type Map<K, V> = HashMap<K, V, RandomState>;

/// The position of a change: the number of its decision in the batch, and the number of the change in the decision.
type Position = (usize, usize);

/// The decisions of one batch. Later decisions of the batch see them, readers do not.
#[derive(Default)]
pub(crate) struct Overlay {
    decided: Vec<Changes>,
    /// The last change of each record.
    latest: Map<RecordRef, Position>,
    category_names: NameOwners<FoldedName, CategoryId>,
    account_names: NameOwners<FoldedName, AccountId>,
}

impl Overlay {
    /// The changes of each decision, in the order of the decisions.
    pub(crate) fn decided(&self) -> &[Changes] {
        &self.decided
    }

    /// Removes and returns the changes. The rest stays until [`Overlay::clear`].
    pub(crate) fn take_decided(&mut self) -> Vec<Changes> {
        std::mem::take(&mut self.decided)
    }

    /// Removes everything, for the next batch.
    pub(crate) fn clear(&mut self) {
        self.decided.clear();
        self.latest.clear();
        self.category_names.0.clear();
        self.account_names.0.clear();
    }

    /// Loads one record in the state that the decisions of the batch have given it. If the batch has not changed the
    /// record, loads it from the tables.
    pub(crate) fn load(
        &self,
        tables: &Tables,
        record: &RecordRef,
        view: &mut View,
    ) -> Result<(), StoreError> {
        match record {
            RecordRef::CategoryName(name) => {
                let owner = self.category_names.owner(name, |name| tables.categories.named(name));
                view.load_category_name(name.clone(), owner);
            }
            RecordRef::AccountName(name) => {
                let owner = self.account_names.owner(name, |name| tables.accounts.id_of(name));
                view.load_account_name(name.clone(), owner);
            }
            RecordRef::Pet(_)
            | RecordRef::Category(_)
            | RecordRef::Order(_)
            | RecordRef::Account(_)
            | RecordRef::Key(_)
            | RecordRef::Idempotency(_)
            | RecordRef::Webhooks(_) => match self.latest(record) {
                Some(change) => load_change(change, view),
                None => tables.load_one(record, view)?,
            },
            RecordRef::NextPet
            | RecordRef::NextCategory
            | RecordRef::NextOrder
            | RecordRef::NextAccount
            | RecordRef::NextKey => {
                tables.load_one(record, view)?;
            }
        }
        Ok(())
    }

    /// Adds a decision. The tables must have room for it.
    pub(crate) fn add(&mut self, tables: &Tables, changes: Changes) {
        let decision = self.decided.len();
        self.decided.push(changes);
        for number in 0..self.decided[decision].as_slice().len() {
            let position = (decision, number);
            self.track_names(tables, position);
            let record = record_of(self.change(position));
            self.latest.insert(record, position);
        }
    }

    /// Tracks the owners of the names that a change gives or releases.
    fn track_names(&mut self, tables: &Tables, position: Position) {
        match self.change(position) {
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
            | Change::Idempotency(_)
            | Change::Webhooks(_) => {}
        }
    }

    fn rename_category(&mut self, tables: &Tables, id: CategoryId, after: Option<CategoryName>) {
        let before = match self.latest(&RecordRef::Category(id)) {
            Some(Change::Category(before)) => Some(before.category.name.clone()),
            Some(_) => None,
            None => tables.categories.read(id, |before| before.category.name.clone()),
        };
        // A pet that is created or deleted changes only the category's count.
        if before != after {
            let (before, after) = (before.map(|name| name.folded()), after.map(|name| name.folded()));
            self.category_names.rename(id, before, after, |name| tables.categories.named(name));
        }
    }

    fn change(&self, (decision, number): Position) -> &Change {
        &self.decided[decision].as_slice()[number]
    }

    fn latest(&self, record: &RecordRef) -> Option<&Change> {
        self.latest.get(record).map(|position| self.change(*position))
    }
}

/// The owners of the names that the batch has given or released.
struct NameOwners<N, Id>(Map<N, Option<Id>>);

impl<N, Id> Default for NameOwners<N, Id> {
    fn default() -> Self {
        Self(Map::default())
    }
}

impl<N: Eq + Hash, Id: Copy + Eq> NameOwners<N, Id> {
    fn owner(&self, name: &N, in_tables: impl FnOnce(&N) -> Option<Id>) -> Option<Id> {
        self.0.get(name).copied().unwrap_or_else(|| in_tables(name))
    }

    /// Gives a record another name. Releases the old name, unless another record of the batch has it now.
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
            && self.owner(&before, in_tables) == Some(id)
        {
            self.0.insert(before, None);
        }
        if let Some(after) = after {
            self.0.insert(after, Some(id));
        }
    }
}

/// The record that a change writes.
pub(crate) fn record_of(change: &Change) -> RecordRef {
    match change {
        Change::Pet(record) => RecordRef::Pet(record.pet.id),
        Change::PetDeleted(id) => RecordRef::Pet(*id),
        Change::Category(record) => RecordRef::Category(record.category.id),
        Change::CategoryDeleted(id) => RecordRef::Category(*id),
        Change::Order(record) => RecordRef::Order(record.order.id),
        Change::OrderDeleted(id) => RecordRef::Order(*id),
        Change::Account(account) => RecordRef::Account(account.id),
        Change::Key(record) => RecordRef::Key(record.id),
        Change::Idempotency(record) => RecordRef::Idempotency(record.id.clone()),
        Change::Webhooks(record) => RecordRef::Webhooks(record.account),
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
            view.load_idempotency(record.id.clone(), Some(IdempotencyRecord::clone(record)));
        }
        Change::Webhooks(record) => view.load_webhooks(
            record.account,
            (!record.webhooks.is_empty()).then(|| AccountWebhooks::clone(record)),
        ),
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
        for (name, owner) in [("dogs", 2), ("cats", 1)] {
            let name = CategoryName::parse(name).unwrap().folded();
            let mut view = View::default();
            overlay.load(&tables, &RecordRef::CategoryName(name.clone()), &mut view).unwrap();
            assert_eq!(view.category_named(&name).map(CategoryId::get), Some(owner));
        }
    }
}
