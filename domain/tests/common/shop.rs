//! A minimal, strict store. It shows an operation only the records of its footprint, asks for each decision
//! twice, and checks the invariants after each change.

use std::collections::BTreeMap;
use std::convert::Infallible;
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
        let (mut view, mut last) = (View::default(), Footprint::default());
        let footprint = |view: &View| {
            let wider = operation.footprint(view);
            for record in last.records() {
                assert!(wider.records().contains(record), "{record:?} is named no more");
            }
            last = wider.clone();
            Ok(wider)
        };
        let load = |record: &RecordRef, view: &mut View| view.load(record, &mut &*self);
        let Ok(whole) = complete(&mut view, usize::MAX, footprint, load);
        (view, whole.expect("there is no bound"))
    }

    /// The number of live idempotency records of an account.
    pub(crate) fn live_idempotency_records(&self, account: AccountId) -> u32 {
        let live = self.retries.values().filter(|one| one.id.account == account && one.expires_at > self.now);
        u32::try_from(live.count()).unwrap()
    }

    fn next(&self, kind: IdKind) -> u64 {
        self.given.get(&kind.reference()).copied().unwrap_or(0) + 1
    }

    fn apply(&mut self, change: Change) {
        for kind in IdKind::ALL {
            if let Some(id) = kind.written(&change) {
                let last = self.given.entry(kind.reference()).or_insert(0);
                *last = id.max(*last);
            }
        }
        match change {
            Change::Pet(record) => drop(self.pets.insert(record.pet.id, record)),
            Change::PetDeleted(id) => assert!(self.pets.remove(&id).is_some(), "pet {id} was there"),
            Change::Category(record) => drop(self.categories.insert(record.category.id, record)),
            Change::CategoryDeleted(id) => {
                assert!(self.categories.remove(&id).is_some(), "category {id} was there");
            }
            Change::Order(record) => drop(self.orders.insert(record.order.id, record)),
            Change::OrderDeleted(id) => assert!(self.orders.remove(&id).is_some(), "order {id} was there"),
            Change::Account(account) => drop(self.accounts.insert(account.id, account)),
            Change::Key(record) => drop(self.keys.insert(record.id, *record)),
            Change::Idempotency(record) => drop(self.retries.insert(record.id.clone(), *record)),
            Change::WebhooksDeleted(account) => {
                assert!(self.webhooks.remove(&account).is_some(), "account {account} had webhooks");
            }
            Change::Webhooks(record) => drop(self.webhooks.insert(record.account, *record)),
        }
    }

    /// Returns the references that the footprint must contain, so that a store can make this change safely. One of them
    /// is the reference to the record, or to the next id if the record is new. If the change gives or releases a unique
    /// name, the references to the new and to the old name are needed, too.
    fn records_behind(&self, change: &Change) -> Vec<RecordRef> {
        let own = change.record();
        let mut before = View::default();
        let Ok(()) = before.load(&own, &mut &*self);
        let kind = IdKind::ALL.iter().copied().find(|kind| kind.written(change).is_some());
        let mut records = match kind.filter(|_| before.holds_absence(&own)) {
            Some(kind) => {
                assert_eq!(kind.written(change), Some(self.next(kind)), "{kind:?}");
                vec![kind.reference()]
            }
            None => vec![own.clone()],
        };
        let (old, new) = (before.entry(&own), change.entry());
        if old != new {
            records.extend(old.into_iter().chain(new));
        }
        records
    }
}

/// A record, if it is there. The shop can always look.
type Found<T> = Result<Option<T>, Infallible>;

impl Source for &Shop {
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
        Ok(all.find(|one| one.name.folded() == *name).map(|one| one.id))
    }

    fn account_named(&mut self, name: &FoldedName) -> Found<AccountId> {
        Ok(self.accounts.values().find(|one| one.name.folded() == *name).map(|one| one.id))
    }

    fn next_id(&mut self, kind: IdKind, view: &mut View) -> Result<(), Infallible> {
        kind.load(view, self.next(kind)).expect("a test has few records");
        Ok(())
    }
}
