//! Builders of operations.

use petstore_domain::*;
use petstore_ports::{Ask, Cost, RecordedBan};

pub(crate) fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis(1_900_000_000_000 + secs * 1_000).unwrap()
}

pub(crate) fn category_id(number: u64) -> CategoryId {
    CategoryId::new(number).unwrap()
}

pub(crate) fn pet_id(number: u64) -> PetId {
    PetId::new(number).unwrap()
}

pub(crate) fn order_id(number: u64) -> OrderId {
    OrderId::new(number).unwrap()
}

pub(crate) fn category_name(name: &str) -> CategoryName {
    CategoryName::parse(name).unwrap()
}

pub(crate) fn create_category(name: &str) -> CreateCategory {
    CreateCategory { new: NewCategory::new(category_name(name)) }
}

pub(crate) fn rename_category(id: u64, name: &str) -> UpdateCategory {
    let patch = CategoryPatch::new(Some(category_name(name)));
    UpdateCategory { id: category_id(id), patch, precondition: Precondition::None }
}

pub(crate) fn delete_category(id: u64) -> DeleteCategory {
    DeleteCategory { id: category_id(id), precondition: Precondition::None }
}

pub(crate) fn create_pet(category: u64) -> CreatePet {
    let name = PetName::parse("Rex").unwrap();
    CreatePet { new: NewPet::new(name, category_id(category)) }
}

pub(crate) fn update_pet(id: u64, patch: PetPatch) -> UpdatePet {
    UpdatePet { id: pet_id(id), patch, precondition: Precondition::None }
}

pub(crate) fn delete_pet(id: u64) -> DeletePet {
    DeletePet { id: pet_id(id), precondition: Precondition::None }
}

pub(crate) fn set_stock(id: u64, units: i64) -> SetStock {
    SetStock { id: pet_id(id), level: StockLevel::new(units).unwrap(), precondition: Precondition::None }
}

pub(crate) fn place_order(pet: u64, units: i64) -> PlaceOrder {
    let quantity = OrderQuantity::new(units).unwrap();
    PlaceOrder { new: NewOrder::new(pet_id(pet), quantity) }
}

pub(crate) fn cancel_order(id: u64) -> CancelOrder {
    CancelOrder { id: order_id(id), precondition: Precondition::None }
}

pub(crate) fn complete_order(id: u64) -> UpdateOrder {
    let patch = OrderPatch { complete: Some(true), ..OrderPatch::default() };
    UpdateOrder { id: order_id(id), patch, precondition: Precondition::None, now: at(0) }
}

pub(crate) fn under_key<O: Repeatable>(operation: O, account: AccountId, key: &str) -> Idempotent<O> {
    let key = IdempotencyKey::parse(key.as_bytes()).unwrap();
    Idempotent {
        id: IdempotencyId { account, scope: operation.idempotency_scope(), key },
        operation,
        fingerprint: Fingerprint([1; 32]),
        now: at(0),
        expires_at: at(100),
        records: 0,
        records_max: 5,
    }
}

pub(crate) fn create_key(digest: u8, holder: KeyHolder) -> CreateKey {
    CreateKey {
        holder,
        digest: KeyDigest([digest; 32]),
        prefix: ApiKey::from_entropy([digest; 32]).display_prefix(),
        label: KeyLabel::parse("").unwrap(),
        scopes: Scopes::DEFAULT,
        expires_at: None,
        now: at(0),
    }
}

pub(crate) fn new_account() -> KeyHolder {
    KeyHolder::New { plan: Plan::Free }
}

/// A request of a key that may send one request a minute and a day.
pub(crate) fn one_a_day(key: &KeyRecord) -> Ask {
    let limit = Limit::new(1).unwrap();
    Ask {
        key: key.id,
        account: key.account,
        limits: Limits { minute: limit, day: limit },
        cost: Cost::One,
        bans: BanPolicy::DEFAULT,
        recorded_ban: RecordedBan::default(),
        now: at(0),
    }
}
