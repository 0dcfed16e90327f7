//! Helpers of the tests: short constructors of records, and writes without an operation of the shop.

#![allow(dead_code, reason = "each test file is a separate crate that uses a part of this module")]

use std::sync::Arc;

use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::*;
use proptest::test_runner::Config;

/// The output of a future that is ready, as all futures of a store without a journal are.
pub(crate) fn ready<F: Future>(future: F) -> F::Output {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(output) => output,
        std::task::Poll::Pending => panic!("a store in memory never waits"),
    }
}

/// A transition that consists of two functions.
pub(crate) struct Functions<F, D> {
    pub(crate) footprint: F,
    pub(crate) decide: D,
}

impl<F, D> Transition for Functions<F, D>
where
    F: Fn(&View) -> Footprint + Send + Sync,
    D: Fn(&View) -> Option<Changes> + Send + Sync,
{
    fn footprint(&self, seen: &View) -> Footprint {
        (self.footprint)(seen)
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        (self.decide)(view)
    }
}

pub(crate) fn transact(
    store: &MemoryStore,
    footprint: impl Fn(&View) -> Footprint + Send + Sync + 'static,
    decide: impl Fn(&View) -> Option<Changes> + Send + Sync + 'static,
) -> Result<(), StoreError> {
    ready(store.transact(Arc::new(Functions { footprint, decide })))
}

/// Writes changes with a footprint of the pets that they write or delete.
pub(crate) fn write<const N: usize>(store: &MemoryStore, changes: [Change; N]) {
    let changes = Changes::from(changes);
    let mut footprint = Footprint::default();
    for change in changes.as_slice() {
        match change {
            Change::Pet(record) => footprint.add(RecordRef::Pet(record.pet.id)),
            Change::PetDeleted(id) => footprint.add(RecordRef::Pet(*id)),
            _ => {}
        }
    }
    transact(store, move |_| footprint.clone(), move |_| Some(changes.clone())).unwrap();
}

/// Runs an operation, and expects that it is not rejected.
pub(crate) fn done<O: Operation<Rejection: std::fmt::Debug>>(store: &MemoryStore, operation: O) -> O::Output {
    ready(run(store, operation, Timestamp::EPOCH)).unwrap().unwrap()
}

pub(crate) fn pet_id(number: u64) -> PetId {
    PetId::new(number).unwrap()
}

pub(crate) fn category_id(number: u64) -> CategoryId {
    CategoryId::new(number).unwrap()
}

pub(crate) fn order_id(number: u64) -> OrderId {
    OrderId::new(number).unwrap()
}

pub(crate) fn account_id(number: u64) -> AccountId {
    AccountId::new(number).unwrap()
}

pub(crate) fn pet_name(name: &str) -> PetName {
    PetName::parse(name).unwrap()
}

pub(crate) fn account_name(name: &str) -> AccountName {
    AccountName::parse(name).unwrap()
}

pub(crate) fn pet(id: u64, name: &str, category: u64, status: PetStatus) -> PetRecord {
    let new = NewPet { status: Some(status), ..NewPet::new(pet_name(name), category_id(category)) };
    PetRecord::new(pet_id(id), new)
}

pub(crate) fn category(id: u64, name: &str) -> CategoryRecord {
    let name = CategoryName::parse(name).unwrap();
    let category = Category::new(category_id(id), name);
    CategoryRecord { category, version: Version::FIRST, pets: 0 }
}

pub(crate) fn order(id: u64, pet: u64, complete: bool) -> OrderRecord {
    let quantity = OrderQuantity::ONE;
    let order = Order { complete, ..Order::new(order_id(id), pet_id(pet), quantity) };
    OrderRecord { order, version: Version::FIRST }
}

pub(crate) fn place(pet: u64) -> PlaceOrder {
    PlaceOrder { new: NewOrder::new(pet_id(pet), OrderQuantity::ONE) }
}

pub(crate) fn get_pet(store: &MemoryStore, id: u64) -> Option<PetRecord> {
    ready(store.pet(pet_id(id))).unwrap()
}

pub(crate) fn get_order(store: &MemoryStore, id: u64) -> Option<OrderRecord> {
    ready(store.order(order_id(id))).unwrap()
}

/// A time, in seconds after the start of a minute and a day.
pub(crate) fn at(secs: i64) -> Timestamp {
    let midnight = Timestamp::parse("2030-01-15T00:00:00Z").unwrap();
    Timestamp::from_millis(midnight.as_millis() + secs * 1_000).unwrap()
}

pub(crate) fn limits(minute: u32, day: u32) -> Limits {
    Limits { minute: Limit::new(minute).unwrap(), day: Limit::new(day).unwrap() }
}

/// Creates a key with a new account. All bytes of its secret's digest are `digest`.
pub(crate) fn create_key(store: &MemoryStore, digest: u8, plan: Plan) -> CreatedKey {
    done(
        store,
        CreateKey {
            holder: KeyHolder::New { plan },
            digest: KeyDigest([digest; 32]),
            prefix: ApiKey::from_entropy([digest; 32]).display_prefix(),
            label: KeyLabel::parse("").unwrap(),
            scopes: Scopes::DEFAULT,
            expires_at: None,
            now: at(0),
        },
    )
}

pub(crate) fn get_key(store: &MemoryStore, id: KeyId) -> KeyRecord {
    ready(store.keys(None, usize::MAX)).unwrap().into_iter().find(|key| key.id == id).unwrap()
}

/// All ids of a listing, read in pages of `limit` items. Fails if a page is larger, or reports its end wrongly.
pub(crate) fn walk(
    order: SortDirection,
    limit: usize,
    mut page: impl FnMut(&PageRequest) -> (Vec<u64>, PageEnd),
) -> Vec<u64> {
    let mut walked: Vec<u64> = Vec::new();
    loop {
        let (ids, end) = page(&PageRequest { order, after: walked.last().copied(), limit });
        assert!(ids.len() <= limit, "a page of {} instead of {limit}", ids.len());
        walked.extend(&ids);
        match end {
            PageEnd::Last => return walked,
            PageEnd::More => assert_eq!(ids.len(), limit, "a page that is not full is the last one"),
        }
    }
}

pub(crate) fn page_of_pets(
    store: &MemoryStore,
    filter: &PetFilter,
    page: &PageRequest,
) -> (Vec<u64>, PageEnd) {
    let mut ids = Vec::new();
    let end = ready(store.pets(filter, page, &mut |record| ids.push(record.pet.id.get()))).unwrap();
    (ids, end)
}

/// A configuration without a file of failed cases: a case that failed becomes a named test.
pub(crate) fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}
