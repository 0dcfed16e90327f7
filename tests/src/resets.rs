//! A store that begins anew: in one step, with accounts and keys, and without anything else.

use std::sync::Arc;

use petstore_domain::{
    BanPolicy, Category, CategoryRecord, NewPet, Order, OrderId, OrderQuantity, OrderRecord, PetRecord, Plan,
    Version,
};
use petstore_ports::{
    AccountDirectory, AddressLimits, Ask, CategoryReader, Cost, Housekeeping, IdempotencyRecords, KeyReader,
    OrderReader, PageOrder, PageRequest, PetFilter, PetReader, Quotas, Resettable, Row, StoreErrorKind,
    Transactor, Verdict,
};

use crate::Subject;
use crate::make::{at, category_name, create_category, pet_id, pet_name, place_order};
use crate::quota_model::impatient;
use crate::retries::under_key;
use crate::together::joined;

/// A store that can begin anew, and its other ports.
#[derive(Clone)]
pub struct ResetSubject {
    /// Its other ports.
    pub subject: Subject,
    /// What resets it.
    pub store: Arc<dyn Resettable>,
}

impl AsRef<Subject> for ResetSubject {
    fn as_ref(&self) -> &Subject {
        &self.subject
    }
}

impl AsRef<Self> for ResetSubject {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// A category with two pets.
fn shop() -> Arc<[Row]> {
    let id = petstore_domain::CategoryId::FIRST;
    let category = Category { id, name: category_name("Rabbits"), description: None };
    let pet = |number| {
        let new = NewPet { name: pet_name("Hazel"), category_id: id, status: None };
        Row::Pet(PetRecord::new(pet_id(number), new))
    };
    let category = Row::Category(CategoryRecord { category, version: Version::FIRST, pets: 2 });
    Arc::new([category, pet(1), pet(2)])
}

/// A complete order for a pet that is gone.
fn remembered() -> Arc<[Row]> {
    let quantity = OrderQuantity::ONE;
    let order = Order { id: OrderId::FIRST, pet_id: pet_id(7), quantity, ship_date: None, complete: true };
    Arc::new([Row::Order(OrderRecord { order, version: Version::FIRST })])
}

impl ResetSubject {
    /// The ports of a store that implements them all.
    pub fn of<S>(store: &Arc<S>) -> Self
    where
        S: Resettable
            + Transactor
            + PetReader
            + CategoryReader
            + OrderReader
            + KeyReader
            + AccountDirectory
            + IdempotencyRecords
            + Quotas
            + AddressLimits
            + Housekeeping
            + 'static,
    {
        Self { subject: Subject::of(store), store: Arc::clone(store) as _ }
    }

    fn reset(&self, shop: Arc<[Row]>) {
        self.store.reset(shop, 77).expect("a store that is well begins anew");
    }

    /// The pets with this name.
    async fn named(&self, name: &str) -> Vec<u64> {
        let filter = PetFilter { name: Some(pet_name(name).folded()), ..PetFilter::default() };
        let page = PageRequest { order: PageOrder::Ascending, after: None, limit: 10 };
        let mut found = Vec::new();
        let mut sink = |record: &PetRecord| found.push(record.pet.id.get());
        self.subject.pets.pets(&filter, &page, &mut sink).await.expect("the store answers");
        found
    }

    async fn shows(&self, rows: &[Row]) {
        let shown = self.subject.snapshot().await;
        let categories = shown.categories.into_iter().map(Row::Category);
        let pets = shown.pets.into_iter().map(Row::Pet);
        let shown: Vec<_> = categories.chain(pets).chain(shown.orders.into_iter().map(Row::Order)).collect();
        assert_eq!(shown, rows, "a store shows what it has begun anew with, and nothing else");
    }
}

/// What was there is gone, what came is there, by its name too; ids go on after those that came, and from 1 where none came.
pub async fn a_reset_replaces_the_shop(subject: &ResetSubject) {
    let ResetSubject { subject: store, .. } = subject;
    for _ in 0..2 {
        let category = store.add_category("Dogs").await;
        for _ in 0..5 {
            let pet = store.add_pet(category, 9).await;
            store.add_order(pet, 2).await;
        }
        subject.reset(shop());
        subject.shows(&shop()).await;
        assert_eq!(subject.named("hazel").await, [1, 2]);
        let category = store.add_category("Cats").await;
        assert_eq!(category.get(), 2, "a category's id follows those that came");
        let pet = store.add_pet(category, 5).await;
        assert_eq!(pet.get(), 3, "a pet's id follows those that came");
        assert_eq!(store.add_order(pet, 1).await.get(), 1, "ids begin at 1 where none came");
        assert_eq!(store.add_order(pet_id(1), 1).await.get(), 2, "what came can be ordered");
        // The id of a pet that is gone and that an order remembers would bring that order to another pet.
        subject.reset(remembered());
        let category = store.add_category("Birds").await;
        assert_eq!(store.add_pet(category, 1).await.get(), 8, "a gone pet's id follows those that came");
        subject.reset(Arc::new([]));
        subject.shows(&[]).await;
        assert_eq!(store.add_category("Rabbits").await.get(), 1, "a name is free again, and the first id");
        subject.reset(Arc::new([]));
    }
}

/// Accounts and keys are as they were, and ids of theirs are not given again.
pub async fn a_reset_keeps_accounts_and_keys(subject: &ResetSubject) {
    let store = &subject.subject;
    let made = store.add_account(Plan::Pro).await;
    let before = store.snapshot().await;
    subject.reset(shop());
    let after = store.snapshot().await;
    assert_eq!((&after.accounts, &after.keys), (&before.accounts, &before.keys), "accounts and keys stay");
    let next = store.add_account(Plan::Free).await;
    assert!(next.account.id > made.account.id && next.key.id > made.key.id, "their ids are not given again");
}

async fn get_banned(store: &Subject, request: &Ask) {
    store.exhaust(request, 1).await;
    assert!(matches!(store.take(request).await, Verdict::Banned { .. }), "a strike too many");
}

/// Windows, strikes and bans begin anew, and so do the counts of addresses.
pub async fn a_reset_forgets_usage_and_bans(subject: &ResetSubject) {
    let store = &subject.subject;
    let made = store.add_account(Plan::Free).await;
    let address = "192.0.2.1".parse().expect("an address");
    let limit = petstore_domain::Limit::new(1).expect("a limit");
    let stranger = async || store.addresses.take_address(address, limit, Cost::One, at(0)).await;
    for round in 0..2 {
        get_banned(store, &impatient(&made, 0)).await;
        let admitted = stranger().await.is_ok_and(|verdict| verdict.admitted);
        assert!(admitted, "round {round}: the count of an address begins anew");
        assert!(stranger().await.is_ok_and(|verdict| !verdict.admitted), "and counts");
        subject.reset(shop());
        assert_eq!(store.snapshot().await.keys[0].ban, None, "a reset lifts the ban that is shown");
    }
    // The length of a ban does not remember those before the reset.
    get_banned(store, &impatient(&made, 0)).await;
    let banned = store.snapshot().await.keys[0].ban.map(|ban| ban.length);
    assert_eq!(banned, Some(BanPolicy::DEFAULT.length), "bans of before are forgotten");
}

/// A request that was answered before is a new one afterwards.
pub async fn a_reset_forgets_answers(subject: &ResetSubject) {
    let store = &subject.subject;
    let account = store.add_account(Plan::Free).await.account.id;
    for _ in 0..2 {
        let made = store.run(under_key(create_category("Dogs"), account, "k", at(0))).await;
        assert!(made.is_ok_and(|answer| !answer.replayed), "an answer of before is forgotten");
        subject.reset(Arc::new([]));
    }
    assert_eq!(store.records_of(account).await, 0, "and counts no more");
}

/// Rows that contradict each other are refused before anything has changed.
pub async fn a_shop_that_contradicts_itself_changes_nothing(subject: &ResetSubject) {
    let store = &subject.subject;
    let pet = store.add_only_pet(5).await;
    let before = store.snapshot().await;
    let orphans: Arc<[Row]> = shop().iter().skip(1).cloned().collect();
    assert!(
        matches!(subject.store.reset(orphans, 78), Err(error) if error.kind() == StoreErrorKind::Corrupt),
        "rows that contradict each other are refused"
    );
    assert_eq!(store.snapshot().await, before, "and nothing has changed");
    store.add_order(pet, 1).await;
}

/// Transitions that run meanwhile are before a reset or after it: what is there afterwards adds up.
pub async fn a_reset_is_one_step_among_transitions(subject: &ResetSubject) {
    const UNITS: u64 = 1;
    let store = &subject.subject;
    subject.reset(shop());
    let buyers: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for round in 0..200_u64 {
                    // A rejection is an answer too: the unit is sold until the next reset.
                    let _ =
                        store.try_run(place_order(pet_id(1 + round % 2), 1)).await.expect("it is answered");
                }
            })
        })
        .collect();
    for _ in 0..50 {
        subject.reset(shop());
        tokio::task::yield_now().await;
    }
    for buyer in buyers {
        joined(buyer).await;
    }
    let left = store.snapshot().await;
    for pet in &left.pets {
        let orders = left.orders.iter().filter(|order| order.order.pet_id == pet.pet.id).count() as u64;
        assert_eq!(pet.stock + orders, UNITS, "an order of before a reset has no effect after it");
    }
    assert_eq!(left.pets.len(), 2, "the shop is whole");
    let ids: Vec<_> = left.orders.iter().map(|order| order.order.id.get()).collect();
    assert!(ids.iter().all(|id| *id <= 1_600), "{ids:?}");
}

/// Usage is forgotten without touching the shop: windows begin anew, also at a time before those that were used.
pub async fn usage_is_forgotten_by_itself(subject: &ResetSubject) {
    let store = &subject.subject;
    let made = store.add_account(Plan::Free).await;
    store.add_only_pet(5).await;
    let shop = store.snapshot().await;
    get_banned(store, &impatient(&made, 1_000_000)).await;
    subject.store.forget_usage().expect("a store that is well forgets");
    assert_eq!(store.snapshot().await, shop, "the shop stays as it is, and no ban is shown");
    let Verdict::Admitted(usage) = store.take(&impatient(&made, 0)).await else {
        panic!("a request is admitted at a time before those that were used")
    };
    let minute = at(60).as_secs();
    assert_eq!((usage.minute.reset_secs, usage.day.remaining), (minute, 999_999), "windows begin anew");
}
