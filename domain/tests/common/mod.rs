//! Builders that the tests share: ids, numbers and records, and a shop to decide in.

#![allow(dead_code, reason = "each test file is a separate crate that uses a part of this module")]

mod fold;
pub(crate) mod keys;
mod shop;
mod sound;

use petstore_domain::*;
use proptest::test_runner::Config;

pub(crate) use shop::Shop;

/// The version of the pet that [`shop`] makes. It differs from every other version in that shop, so that a test fails
/// if it compares the versions of two different records.
pub(crate) const PET_VERSION: u64 = 3;

/// The version of that pet's inventory item.
pub(crate) const ITEM_VERSION: u64 = 7;

/// The version of each category that [`shop`] makes.
pub(crate) const CATEGORY_VERSION: u64 = 5;

/// The version of each order that [`order`] makes.
pub(crate) const ORDER_VERSION: u64 = 9;

/// The maximum number of live idempotency records of one account, unless a test sets another one.
pub(crate) const RECORDS_MAX: u32 = 100_000;

/// The pet that [`shop`] makes.
pub(crate) const REX: PetId = PetId::FIRST;

/// The category of that pet.
pub(crate) const DOGS: CategoryId = CategoryId::FIRST;

/// The other category that [`shop`] makes.
pub(crate) fn cats() -> CategoryId {
    category_id(2)
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

pub(crate) fn key_id(number: u64) -> KeyId {
    KeyId::new(number).unwrap()
}

pub(crate) fn version(number: u64) -> Version {
    Version::new(number).unwrap()
}

pub(crate) fn quantity(units: i64) -> OrderQuantity {
    OrderQuantity::new(units).unwrap()
}

pub(crate) fn level(units: i64) -> StockLevel {
    StockLevel::new(units).unwrap()
}

pub(crate) fn delta(units: i64) -> StockDelta {
    StockDelta::new(units).unwrap()
}

pub(crate) fn limits(minute: u32, day: u32) -> Limits {
    Limits { minute: Limit::new(minute).unwrap(), day: Limit::new(day).unwrap() }
}

/// The time of the tests plus this many hours.
pub(crate) fn hours(hours: i64) -> Timestamp {
    let noon = Timestamp::parse("2030-01-15T12:00:00Z").unwrap();
    Timestamp::from_millis(noon.as_millis() + hours * 3_600_000).unwrap()
}

/// The time of the tests.
pub(crate) fn now() -> Timestamp {
    hours(0)
}

pub(crate) fn pet_name(name: &str) -> PetName {
    PetName::parse(name).unwrap()
}

pub(crate) fn category_name(name: &str) -> CategoryName {
    CategoryName::parse(name).unwrap()
}

pub(crate) fn account_name(name: &str) -> AccountName {
    AccountName::parse(name).unwrap()
}

pub(crate) fn description(text: &str) -> Description {
    Description::parse(text).unwrap()
}

pub(crate) fn new_pet(name: &str, category_id: CategoryId, status: Option<PetStatus>) -> NewPet {
    NewPet { status, ..NewPet::new(pet_name(name), category_id) }
}

pub(crate) fn new_category(name: &str) -> NewCategory {
    NewCategory::new(category_name(name))
}

/// An order for Rex.
pub(crate) fn place(units: i64) -> PlaceOrder {
    PlaceOrder { new: NewOrder::new(REX, quantity(units)) }
}

pub(crate) fn adjust(units: i64) -> AdjustStock {
    AdjustStock { id: REX, delta: delta(units) }
}

/// A precondition that names one version.
pub(crate) fn only(number: u64) -> Precondition {
    Precondition::AnyOf(vec![version(number)])
}

/// A pet without open orders.
pub(crate) fn pet(id: PetId, status: PetStatus, stock: u64) -> PetRecord {
    PetRecord {
        pet: Pet::new(id, pet_name("Rex"), DOGS, status),
        version: version(PET_VERSION),
        stock,
        item_version: version(ITEM_VERSION),
        open_orders: 0,
    }
}

pub(crate) fn category(id: CategoryId, name: &str) -> CategoryRecord {
    CategoryRecord {
        category: Category::new(id, category_name(name)),
        version: version(CATEGORY_VERSION),
        pets: 0,
    }
}

/// An open order for Rex.
pub(crate) fn order(id: OrderId, units: i64) -> OrderRecord {
    OrderRecord { order: Order::new(id, REX, quantity(units)), version: version(ORDER_VERSION) }
}

/// A shop with two categories: Dogs with Rex in it, and Cats without a pet. It has this number of open orders, each for
/// one unit of Rex; their ids begin at 1.
pub(crate) fn shop(status: PetStatus, stock: u64, open_orders: u32) -> Shop {
    let mut shop = Shop::default()
        .with_category(category(DOGS, "Dogs"))
        .with_category(category(cats(), "Cats"))
        .with_pet(pet(REX, status, stock));
    for number in 1..=u64::from(open_orders) {
        shop = shop.with_order(order(order_id(number), 1));
    }
    shop
}

/// A key without expiry for this holder.
pub(crate) fn create_key(holder: KeyHolder) -> CreateKey {
    CreateKey {
        holder,
        digest: KeyDigest([1; 32]),
        prefix: ApiKey::from_entropy([1; 32]).display_prefix(),
        label: KeyLabel::parse("till").unwrap(),
        scopes: Scopes::DEFAULT,
        expires_at: None,
        now: now(),
    }
}

/// An operation under the idempotency key `again` of account 1. The number `body` stands for the body of the request.
pub(crate) fn idempotent<O: Repeatable>(operation: O, body: u8) -> Idempotent<O> {
    let key = IdempotencyKey::parse(b"again").unwrap();
    Idempotent {
        id: IdempotencyId { account: account_id(1), scope: operation.idempotency_scope(), key },
        operation,
        fingerprint: Fingerprint([body; 32]),
        now: now(),
        expires_at: hours(24),
        records: 0,
        records_max: RECORDS_MAX,
    }
}

/// Configures the number of cases. Failed cases are not written to a file beside the sources, because each one becomes
/// a named test.
pub(crate) fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}
