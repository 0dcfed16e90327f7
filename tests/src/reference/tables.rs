//! The records, and the steps of a transition: load its footprint, let it decide, write its changes.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};

use petstore_domain::{
    Account, AccountId, AccountWebhooks, CategoryId, CategoryRecord, Change, Changes, FoldedName, IdKind,
    IdempotencyId, IdempotencyRecord, KeyId, KeyRecord, OrderId, OrderRecord, PetId, PetRecord, RecordRef,
    Source, View, complete,
};
use petstore_ports::{LastIds, StoreError, Transition};

use super::StoreState;
use super::planted_values::NameIndex;

/// All records, by their ids. Names are found by a scan, so that no index can be wrong.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) pets: BTreeMap<PetId, PetRecord>,
    pub(super) categories: BTreeMap<CategoryId, CategoryRecord>,
    pub(super) orders: BTreeMap<OrderId, OrderRecord>,
    pub(super) accounts: BTreeMap<AccountId, Account>,
    pub(super) keys: BTreeMap<KeyId, KeyRecord>,
    pub(super) retries: BTreeMap<IdempotencyId, IdempotencyRecord>,
    pub(super) webhooks: BTreeMap<AccountId, AccountWebhooks>,
    /// The number of changes of webhooks.
    pub(super) webhook_changes: u64,
    /// The index of [`super::Bug::NamesAsGiven`].
    pub(super) index: NameIndex,
    /// The last assigned id of each kind of record.
    given: LastIds,
}

impl Tables {
    /// The changes of the transition, if there are any. A panic of the transition fails only this transition.
    pub(super) fn decide(&mut self, transition: &dyn Transition) -> Result<Option<Changes>, StoreError> {
        let decided = catch_unwind(AssertUnwindSafe(|| {
            let mut view = View::default();
            self.complete(transition, &mut view);
            transition.decide(&view)
        }));
        decided.map_err(|_| StoreError::corrupt("the operation panicked"))
    }

    /// Loads the whole footprint.
    pub(super) fn complete(&mut self, transition: &dyn Transition, view: &mut View) {
        let load = |record: &RecordRef, view: &mut View| view.load(record, self);
        let Ok(_) = complete(view, usize::MAX, |view| Ok(transition.footprint(view)), load);
    }

    pub(super) fn load(&mut self, record: &RecordRef, view: &mut View) {
        let Ok(()) = view.load(record, self);
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Pet(record) => drop(self.pets.insert(record.pet.id, record)),
            Change::PetDeleted(id) => drop(self.pets.remove(&id)),
            Change::Category(record) => drop(self.categories.insert(record.category.id, record)),
            Change::CategoryDeleted(id) => drop(self.categories.remove(&id)),
            Change::Order(record) => drop(self.orders.insert(record.order.id, record)),
            Change::OrderDeleted(id) => drop(self.orders.remove(&id)),
            Change::Account(account) => drop(self.accounts.insert(account.id, account)),
            Change::Key(record) => drop(self.keys.insert(record.id, *record)),
            Change::Idempotency(record) => drop(self.retries.insert(record.id.clone(), *record)),
            Change::Webhooks(record) => {
                self.webhook_changes += 1;
                self.webhooks.insert(record.account, *record);
            }
            Change::WebhooksDeleted(account) => {
                self.webhook_changes += 1;
                self.webhooks.remove(&account);
            }
        }
    }

    /// Removes everything but accounts and keys. A bug may also keep the ids or the idempotency records.
    pub(super) fn clear_shop(&mut self, keeps_ids: bool, keeps_answers: bool) {
        self.pets.clear();
        self.categories.clear();
        self.orders.clear();
        self.webhooks.clear();
        self.webhook_changes += 1;
        if !keeps_answers {
            self.retries.clear();
        }
        if !keeps_ids {
            (self.given.pet, self.given.category, self.given.order) = (0, 0, 0);
        }
    }

    /// The last assigned ids.
    pub(super) const fn last_ids(&self) -> LastIds {
        self.given
    }

    /// Advances the last assigned ids to the highest ids of the records.
    pub(super) fn skip_given(&mut self) {
        let LastIds { pet, category, order, .. } = &mut self.given;
        *pet = (*pet).max(self.pets.keys().next_back().map_or(0, |id| id.get()));
        *category = (*category).max(self.categories.keys().next_back().map_or(0, |id| id.get()));
        *order = (*order).max(self.orders.keys().next_back().map_or(0, |id| id.get()));
        // A complete order may outlive its pet, so the highest id of a pet may occur in an order only.
        *pet = (*pet).max(self.orders.values().map(|record| record.order.pet_id.get()).max().unwrap_or(0));
    }

    /// The bug [`super::Bug::IdsDrawnAhead`]: reserves this many ids for pets, and returns the first.
    pub(super) fn draw_pets(&mut self, count: u64) -> u64 {
        let first = self.given.pet + 1;
        self.given.pet += count;
        first
    }

    /// The bug [`super::Bug::IdReused`]: sets the last assigned id to the highest id of an existing pet.
    pub(super) fn forget_the_deleted_pets(&mut self) {
        self.given.pet = self.pets.keys().next_back().map_or(0, |id| id.get());
    }
}

/// A record, if it is there. The store in memory can always look.
type Found<T> = Result<Option<T>, Infallible>;

impl Source for Tables {
    type Error = Infallible;

    fn pet(&mut self, id: &PetId) -> Found<PetRecord> {
        Ok(self.pets.get(id).cloned())
    }

    fn category(&mut self, id: &CategoryId) -> Found<CategoryRecord> {
        Ok(self.categories.get(id).cloned())
    }

    fn order(&mut self, id: &OrderId) -> Found<OrderRecord> {
        Ok(self.orders.get(id).cloned())
    }

    fn account(&mut self, id: &AccountId) -> Found<Account> {
        Ok(self.accounts.get(id).cloned())
    }

    fn key(&mut self, id: &KeyId) -> Found<KeyRecord> {
        Ok(self.keys.get(id).cloned())
    }

    fn idempotency(&mut self, id: &IdempotencyId) -> Found<IdempotencyRecord> {
        Ok(self.retries.get(id).cloned())
    }

    fn webhooks(&mut self, account: &AccountId) -> Found<AccountWebhooks> {
        Ok(self.webhooks.get(account).cloned())
    }

    fn category_named(&mut self, name: &FoldedName) -> Found<CategoryId> {
        let mut all = self.categories.values().map(|record| &record.category);
        Ok(all.find(|one| self.index.finds(name, one.name.as_str())).map(|one| one.id))
    }

    fn account_named(&mut self, name: &FoldedName) -> Found<AccountId> {
        Ok(self.accounts.values().find(|one| self.index.finds(name, one.name.as_str())).map(|one| one.id))
    }

    /// A number that is not used leaves a gap, and is never assigned again.
    fn next_id(&mut self, kind: IdKind, view: &mut View) -> Result<(), Infallible> {
        let last = match kind {
            IdKind::Pet => &mut self.given.pet,
            IdKind::Category => &mut self.given.category,
            IdKind::Order => &mut self.given.order,
            IdKind::Account => &mut self.given.account,
            IdKind::Key => &mut self.given.key,
        };
        *last += 1;
        kind.load(view, *last).expect("a store of 2^53 records is out of memory first");
        Ok(())
    }
}

impl StoreState {
    /// Writes the changes of a decision, and their events.
    pub(super) fn apply(&mut self, changes: Changes) {
        self.log.append(&changes);
        self.apply_records(changes);
    }

    /// Writes the changes of a decision without their events.
    pub(super) fn apply_records(&mut self, changes: Changes) {
        for change in changes {
            self.apply_one(change);
        }
    }

    /// Writes one change.
    pub(super) fn apply_one(&mut self, change: Change) {
        self.tables.apply(change);
    }
}
