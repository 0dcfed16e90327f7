//! A minimal, strict store. It shows an operation only the records of its footprint, asks for each decision
//! twice, and checks the invariants after each change.

use std::collections::BTreeMap;
use std::fmt::Debug;

use petstore_domain::*;

use super::fold::assert_told;
use super::now;

/// All records, by their ids. Names are found by a scan, so that no index can hide a duplicate name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shop {
    pub(crate) pets: BTreeMap<PetId, PetRecord>,
    pub(crate) categories: BTreeMap<CategoryId, CategoryRecord>,
    pub(crate) orders: BTreeMap<OrderId, OrderRecord>,
    pub(crate) accounts: BTreeMap<AccountId, Account>,
    pub(crate) keys: BTreeMap<KeyId, KeyRecord>,
    pub(crate) retries: BTreeMap<IdempotencyId, IdempotencyRecord>,
    pub(crate) webhooks: BTreeMap<AccountId, AccountWebhooks>,
    /// The current time, by which idempotency records are live or expired.
    pub(crate) now: Timestamp,
    /// The last id that was given to a record, for each kind of record. The key of the map is the reference to the next
    /// id of the kind, such as [`RecordRef::NextPet`].
    given: BTreeMap<RecordRef, u64>,
}

impl Default for Shop {
    fn default() -> Self {
        Self {
            pets: BTreeMap::new(),
            categories: BTreeMap::new(),
            orders: BTreeMap::new(),
            accounts: BTreeMap::new(),
            keys: BTreeMap::new(),
            retries: BTreeMap::new(),
            webhooks: BTreeMap::new(),
            now: now(),
            given: BTreeMap::new(),
        }
    }
}

impl Shop {
    /// Adds a category without pets.
    pub(crate) fn with_category(mut self, record: CategoryRecord) -> Self {
        self.apply(Change::Category(record));
        self
    }

    /// Adds a pet, and counts it in its category.
    pub(crate) fn with_pet(mut self, record: PetRecord) -> Self {
        self.categories.get_mut(&record.pet.category_id).unwrap().pets += 1;
        self.apply(Change::Pet(record));
        self
    }

    /// Adds an order, and counts it at its pet if it is open.
    pub(crate) fn with_order(mut self, record: OrderRecord) -> Self {
        if !record.order.complete {
            self.pets.get_mut(&record.order.pet_id).unwrap().open_orders += 1;
        }
        self.apply(Change::Order(record));
        self
    }

    /// Adds an account.
    pub(crate) fn with_account(mut self, account: Account) -> Self {
        self.apply(Change::Account(account));
        self
    }

    /// Adds a key.
    pub(crate) fn with_key(mut self, record: KeyRecord) -> Self {
        self.apply(Change::Key(Box::new(record)));
        self
    }

    /// The pet with id 1, which most tests are about.
    pub(crate) fn rex(&self) -> &PetRecord {
        &self.pets[&PetId::FIRST]
    }

    /// Returns the complete footprint of the operation, after all its records are loaded.
    pub(crate) fn footprint(&self, operation: &impl Operation) -> Footprint {
        self.load(operation).1
    }

    /// Returns the decision of the operation in this shop, without applying it.
    pub(crate) fn decide<O>(&self, operation: &O) -> Result<(Changes, O::Output), O::Rejection>
    where
        O: Operation<Output: PartialEq + Debug, Rejection: PartialEq + Debug>,
    {
        let (view, footprint) = self.load(operation);
        let decided = operation.decide(&view);
        assert_eq!(operation.decide(&view), decided, "the same view, the same decision");
        assert_eq!(operation.footprint(&view), footprint, "the same view, the same footprint");
        decided
    }

    /// Decides, applies the changes, and returns the events that they cause.
    pub(crate) fn events<O>(&mut self, operation: &O) -> Vec<Happening>
    where
        O: Operation<Output: PartialEq + Debug, Rejection: PartialEq + Debug>,
    {
        let (view, _) = self.load(operation);
        let changes = self.decide(operation).map(|(changes, _)| changes).unwrap_or_default();
        self.run(operation).ok();
        happenings(&view, changes.as_slice())
    }

    /// Decides, and applies the changes.
    pub(crate) fn run<O>(&mut self, operation: &O) -> Result<O::Output, O::Rejection>
    where
        O: Operation<Output: PartialEq + Debug, Rejection: PartialEq + Debug>,
    {
        let (changes, output) = self.decide(operation)?;
        let (view, footprint) = self.load(operation);
        let events = happenings(&view, changes.as_slice());
        let before = self.clone();
        for change in changes {
            // A store locks only the footprint, so a changed record must be in it.
            for record in before.records_behind(&change) {
                assert!(footprint.records().contains(&record), "{change:?} without {record:?}");
            }
            self.apply(change);
        }
        self.assert_sound();
        self.assert_versions_follow(&before);
        assert_told(&before, &events, self);
        Ok(output)
    }

    fn load(&self, operation: &impl Operation) -> (View, Footprint) {
        let mut view = View::default();
        let mut footprint = operation.footprint(&view);
        loop {
            let missing: Vec<RecordRef> =
                footprint.records().iter().filter(|record| !view.holds(record)).cloned().collect();
            if missing.is_empty() {
                return (view, footprint);
            }
            for record in missing {
                self.load_record(&mut view, record);
            }
            let wider = operation.footprint(&view);
            for record in footprint.records() {
                assert!(wider.records().contains(record), "{record:?} is named no more");
            }
            footprint = wider;
        }
    }

    fn load_record(&self, view: &mut View, record: RecordRef) {
        match record {
            RecordRef::Pet(id) => view.load_pet(id, self.pets.get(&id).cloned()),
            RecordRef::Category(id) => view.load_category(id, self.categories.get(&id).cloned()),
            RecordRef::CategoryName(folded) => {
                let found = self.categories.values().find(|record| record.category.name.folded() == folded);
                view.load_category_name(folded, found.map(|record| record.category.id));
            }
            RecordRef::Order(id) => view.load_order(id, self.orders.get(&id).cloned()),
            RecordRef::Account(id) => view.load_account(id, self.accounts.get(&id).cloned()),
            RecordRef::AccountName(name) => {
                let found = self.accounts.values().find(|account| account.name.folded() == name);
                view.load_account_name(name, found.map(|account| account.id));
            }
            RecordRef::Key(id) => view.load_key(id, self.keys.get(&id).cloned()),
            RecordRef::Idempotency(id) => {
                let found = self.retries.get(&id).cloned();
                view.load_idempotency(id, found);
            }
            RecordRef::Webhooks(account) => {
                view.load_webhooks(account, self.webhooks.get(&account).cloned());
            }
            RecordRef::NextPet => view.load_next_pet(PetId::new(self.next(&record)).unwrap()),
            RecordRef::NextCategory => view.load_next_category(CategoryId::new(self.next(&record)).unwrap()),
            RecordRef::NextOrder => view.load_next_order(OrderId::new(self.next(&record)).unwrap()),
            RecordRef::NextAccount => view.load_next_account(AccountId::new(self.next(&record)).unwrap()),
            RecordRef::NextKey => view.load_next_key(KeyId::new(self.next(&record)).unwrap()),
        }
    }

    /// The number of live idempotency records of an account.
    pub(crate) fn live_idempotency_records(&self, account: AccountId) -> u32 {
        let live = self.retries.values().filter(|one| one.id.account == account && one.expires_at > self.now);
        u32::try_from(live.count()).unwrap()
    }

    fn next(&self, record: &RecordRef) -> u64 {
        self.given.get(record).copied().unwrap_or(0) + 1
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Pet(record) => {
                self.give(RecordRef::NextPet, record.pet.id.get());
                self.pets.insert(record.pet.id, record);
            }
            Change::PetDeleted(id) => assert!(self.pets.remove(&id).is_some(), "pet {id} was there"),
            Change::Category(record) => {
                self.give(RecordRef::NextCategory, record.category.id.get());
                self.categories.insert(record.category.id, record);
            }
            Change::CategoryDeleted(id) => {
                assert!(self.categories.remove(&id).is_some(), "category {id} was there");
            }
            Change::Order(record) => {
                self.give(RecordRef::NextOrder, record.order.id.get());
                self.orders.insert(record.order.id, record);
            }
            Change::OrderDeleted(id) => assert!(self.orders.remove(&id).is_some(), "order {id} was there"),
            Change::Account(account) => {
                self.give(RecordRef::NextAccount, account.id.get());
                self.accounts.insert(account.id, account);
            }
            Change::Key(record) => {
                self.give(RecordRef::NextKey, record.id.get());
                self.keys.insert(record.id, *record);
            }
            Change::Idempotency(record) => {
                self.retries.insert(record.id.clone(), *record);
            }
            Change::Webhooks(record) if record.webhooks.is_empty() => {
                assert!(self.webhooks.remove(&record.account).is_some(), "the account had webhooks");
            }
            Change::Webhooks(record) => drop(self.webhooks.insert(record.account, *record)),
        }
    }

    fn give(&mut self, next: RecordRef, id: u64) {
        let last = self.given.entry(next).or_insert(0);
        *last = id.max(*last);
    }

    /// Returns the references that the footprint must contain, so that a store can make this change safely. One of them
    /// is the reference to the record, or to the next id if the record is new. If the change gives or releases a unique
    /// name, the references to the new and to the old name are needed, too.
    fn records_behind(&self, change: &Change) -> Vec<RecordRef> {
        match change {
            Change::Pet(record) => {
                let id = record.pet.id;
                vec![self.own_or_next(
                    self.pets.contains_key(&id),
                    RecordRef::Pet(id),
                    RecordRef::NextPet,
                    id.get(),
                )]
            }
            Change::PetDeleted(id) => vec![RecordRef::Pet(*id)],
            Change::Category(record) => {
                let id = record.category.id;
                let old = self.categories.get(&id).map(|record| record.category.name.folded());
                let own = self.own_or_next(
                    old.is_some(),
                    RecordRef::Category(id),
                    RecordRef::NextCategory,
                    id.get(),
                );
                let mut records = vec![own];
                let new = record.category.name.folded();
                if old.as_ref() != Some(&new) {
                    records.push(RecordRef::CategoryName(new));
                    records.extend(old.map(RecordRef::CategoryName));
                }
                records
            }
            Change::CategoryDeleted(id) => {
                let folded = self.categories[id].category.name.folded();
                vec![RecordRef::Category(*id), RecordRef::CategoryName(folded)]
            }
            Change::Order(record) => {
                let id = record.order.id;
                let known = self.orders.contains_key(&id);
                vec![self.own_or_next(known, RecordRef::Order(id), RecordRef::NextOrder, id.get())]
            }
            Change::OrderDeleted(id) => vec![RecordRef::Order(*id)],
            Change::Account(account) => {
                let id = account.id;
                let old = self.accounts.get(&id).map(|account| account.name.folded());
                let own =
                    self.own_or_next(old.is_some(), RecordRef::Account(id), RecordRef::NextAccount, id.get());
                let mut records = vec![own];
                let name = account.name.folded();
                if old.as_ref() != Some(&name) {
                    records.push(RecordRef::AccountName(name));
                    records.extend(old.map(RecordRef::AccountName));
                }
                records
            }
            Change::Key(record) => {
                let known = self.keys.contains_key(&record.id);
                vec![self.own_or_next(known, RecordRef::Key(record.id), RecordRef::NextKey, record.id.get())]
            }
            Change::Idempotency(record) => vec![RecordRef::Idempotency(record.id.clone())],
            Change::Webhooks(record) => vec![RecordRef::Webhooks(record.account)],
        }
    }

    /// Returns `own` if the record exists. Otherwise returns `next`, after asserting that the record has the next id.
    fn own_or_next(&self, known: bool, own: RecordRef, next: RecordRef, id: u64) -> RecordRef {
        if known {
            return own;
        }
        assert_eq!(id, self.next(&next), "{next:?}");
        next
    }
}
