//! Resets of a store: in one step, with accounts and keys kept, and everything else replaced.

use std::sync::Arc;

use petstore_domain::{
    BanKey, BanPolicy, Category, CategoryRecord, NewPet, Order, OrderId, OrderQuantity, OrderRecord,
    PetRecord, Plan, Version,
};
use petstore_ports::{
    Ask, Cost, PageRequest, PetFilter, Resettable, Row, SortDirection, StoreErrorKind, Verdict,
};
use tokio::task::JoinHandle;

use crate::Subject;
use crate::make::{at, category_name, create_category, pet_id, pet_name, place_order};
use crate::quota_model::impatient;
use crate::retries::under_key;
use crate::subject::{PortsOf, SubjectWith};
use crate::together::joined;

/// A resettable store, and its other ports.
pub type ResetSubject = SubjectWith<Arc<dyn Resettable>>;

impl<S: Resettable + 'static> PortsOf<S> for Arc<dyn Resettable> {
    fn of(store: &Arc<S>) -> Self {
        Arc::clone(store) as _
    }
}

/// A category with two pets.
pub(crate) fn shop() -> Arc<[Row]> {
    let id = petstore_domain::CategoryId::FIRST;
    let category = Category::new(id, category_name("Rabbits"));
    let pet = |number| {
        let new = NewPet::new(pet_name("Hazel"), id);
        Row::Pet(PetRecord::new(pet_id(number), new))
    };
    let category = Row::Category(CategoryRecord { category, version: Version::FIRST, pets: 2 });
    Arc::new([category, pet(1), pet(2)])
}

/// A complete order for a deleted pet.
fn complete_order_of_a_deleted_pet(id: OrderId) -> Row {
    let quantity = OrderQuantity::ONE;
    let order = Order { complete: true, ..Order::new(id, pet_id(7), quantity) };
    Row::Order(OrderRecord { order, version: Version::FIRST })
}

impl ResetSubject {
    fn reset(&self, shop: Arc<[Row]>) {
        self.ports.reset(shop, 77).expect("a healthy store resets");
    }

    /// The pets with this name.
    async fn named(&self, name: &str) -> Vec<u64> {
        let filter = PetFilter { name: Some(pet_name(name).folded()), ..PetFilter::default() };
        let page = PageRequest { order: SortDirection::Ascending, after: None, limit: 10 };
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
        assert_eq!(shown, rows, "a store shows the rows of its reset, and nothing else");
    }
}

/// A reset replaces the old shop by the new one, in look-ups by name too. Ids continue after the ids of the new rows,
/// or start at 1 without rows.
pub async fn a_reset_replaces_the_shop(subject: &ResetSubject) {
    let store = &subject.subject;
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
        // A new pet must not get the id of a deleted pet that an order refers to.
        subject.reset(Arc::new([complete_order_of_a_deleted_pet(OrderId::FIRST)]));
        let category = store.add_category("Birds").await;
        assert_eq!(store.add_pet(category, 1).await.get(), 8, "a gone pet's id follows those that came");
        subject.reset(Arc::new([]));
        subject.shows(&[]).await;
        assert_eq!(store.add_category("Rabbits").await.get(), 1, "a name is free again, and the first id");
        subject.reset(Arc::new([]));
    }
}

/// Accounts and keys are unchanged, and their ids are not reused.
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

/// Windows, strikes and bans are cleared, and so are the counts of addresses.
pub async fn a_reset_forgets_usage_and_bans(subject: &ResetSubject) {
    let store = &subject.subject;
    let made = store.add_account(Plan::Free).await;
    let address = "192.0.2.1".parse().expect("an address");
    let limit = petstore_domain::Limit::new(1).expect("a limit");
    let stranger = async || store.addresses.take_address(address, limit, Cost::One, at(0)).await;
    for round in 0..2 {
        get_banned(store, &impatient(&made, 0)).await;
        let admitted = stranger().await.is_ok_and(|verdict| verdict.admitted);
        assert!(admitted, "round {round}: the count of an address starts again");
        assert!(stranger().await.is_ok_and(|verdict| !verdict.admitted), "and counts");
        subject.reset(shop());
        assert_eq!(store.snapshot().await.keys[0].ban, None, "a reset lifts the ban that is shown");
    }
    // A ban that is not recorded yet is forgotten too.
    store.exhaust(&impatient(&made, 0), 1).await;
    let Verdict::Banned { unrecorded: Some(ban), .. } = store.ask(&impatient(&made, 0)).await else {
        panic!("a strike too many")
    };
    subject.reset(shop());
    let key = store.run(BanKey { id: made.key.id, ban }).await.expect("the key is there");
    assert_eq!(key.ban, None, "a ban from before a reset has no effect after it");
    // The length of a ban does not depend on bans before the reset.
    get_banned(store, &impatient(&made, 0)).await;
    let banned = store.snapshot().await.keys[0].ban.map(|ban| ban.length);
    assert_eq!(banned, Some(BanPolicy::DEFAULT.length), "earlier bans are forgotten");
}

/// A request that was answered before the reset is executed again after the reset.
pub async fn a_reset_forgets_answers(subject: &ResetSubject) {
    let store = &subject.subject;
    let account = store.add_account(Plan::Free).await.account.id;
    for _ in 0..2 {
        let made = store.run(under_key(create_category("Dogs"), account, "k", at(0))).await;
        assert!(made.is_ok_and(|answer| !answer.replayed), "the earlier record is gone");
        subject.reset(Arc::new([]));
    }
    assert_eq!(store.records_of(account).await, 0, "and counts no more");
}

/// Rows that contradict each other are refused before anything has changed.
pub async fn inconsistent_rows_change_nothing(subject: &ResetSubject) {
    let store = &subject.subject;
    let pet = store.add_only_pet(5).await;
    let before = store.snapshot().await;
    let orphans: Arc<[Row]> = shop().iter().skip(1).cloned().collect();
    assert!(
        matches!(subject.ports.reset(orphans, 78), Err(error) if error.kind() == StoreErrorKind::Corrupt),
        "rows that contradict each other are refused"
    );
    assert_eq!(store.snapshot().await, before, "and nothing has changed");
    store.add_order(pet, 1).await;
}

/// Each concurrent transition takes effect either before a reset or after the reset, so the final state is consistent.
pub async fn a_reset_is_one_step_among_transitions(subject: &ResetSubject) {
    const UNITS: u64 = 1;
    /// More orders than the buyers can place.
    const EARLIER: u64 = 10_000;
    let store = &subject.subject;
    let earlier = complete_order_of_a_deleted_pet(OrderId::new(EARLIER).expect("an id"));
    subject.reset(shop().iter().cloned().chain([earlier]).collect());
    let buyers = spawn_buyers(store);
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
        assert_eq!(pet.stock + orders, UNITS, "an order from before a reset has no effect after it");
    }
    assert_eq!(left.pets.len(), 2, "the shop is whole");
    let ids: Vec<_> = left.orders.iter().map(|order| order.order.id.get()).collect();
    assert!(ids.iter().all(|id| *id < EARLIER), "an id from before a reset is not given after it: {ids:?}");
}

/// Usage can be cleared without a change of the shop. Windows then start again, even at a time before the earlier
/// windows.
pub async fn usage_can_be_cleared_separately(subject: &ResetSubject) {
    let store = &subject.subject;
    let made = store.add_account(Plan::Free).await;
    store.add_only_pet(5).await;
    let shop = store.snapshot().await;
    get_banned(store, &impatient(&made, 1_000_000)).await;
    subject.ports.forget_usage().expect("a healthy store clears usage");
    let mut after = store.snapshot().await;
    // Clearing the usage also voids a ban that is recorded only afterwards.
    after.keys.iter_mut().for_each(|key| key.ban_lifted_at = None);
    assert_eq!(after, shop, "the shop stays as it is, and no ban is shown");
    let Verdict::Admitted(usage) = store.take(&impatient(&made, 0)).await else {
        panic!("a request is admitted at a time before those that were used")
    };
    let minute = at(60).as_secs();
    assert_eq!((usage.minute.reset_secs, usage.day.remaining), (minute, 999_999), "windows start again");
}

/// Concurrent tasks that order the pets of [`shop`].
pub(crate) fn spawn_buyers(store: &Subject) -> Vec<JoinHandle<()>> {
    (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for round in 0..200_u64 {
                    // A rejection is ignored, because the unit stays sold until the next reset.
                    let _ =
                        store.try_run(place_order(pet_id(1 + round % 2), 1)).await.expect("it is answered");
                }
            })
        })
        .collect()
}
