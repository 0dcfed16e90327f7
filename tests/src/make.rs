//! Builders that the cases share: names, numbers and records.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use petstore_domain::{
    Account, AccountName, AdjustStock, ApiKey, CancelOrder, CategoryId, CategoryName, CategoryPatch,
    CreateCategory, CreateKey, CreatePet, CreatedKey, DeleteCategory, DeletePet, IdempotencyKey, KeyDigest,
    KeyHolder, KeyId, KeyLabel, KeyPrefix, Limit, Limits, NewCategory, NewOrder, NewPet, OrderId, OrderPatch,
    OrderQuantity, PetId, PetName, PetPatch, PetStatus, PlaceOrder, Plan, Precondition, Scopes, SetStock,
    StockDelta, StockLevel, Timestamp, UpdateOrder, UpdatePet,
};

use crate::Subject;

/// 2030-06-01T00:00:00Z, the start of a UTC day and minute, plus this many seconds.
pub(crate) fn at(secs: u64) -> Timestamp {
    Timestamp::parse("2030-06-01T00:00:00Z").expect("a date").plus(Duration::from_secs(secs))
}

pub(crate) fn pet_name(text: &str) -> PetName {
    PetName::parse(text).expect("a pet's name")
}

pub(crate) fn category_name(text: &str) -> CategoryName {
    CategoryName::parse(text).expect("a category's name")
}

pub(crate) fn account_name(text: &str) -> AccountName {
    AccountName::parse(text).expect("an account's name")
}

pub(crate) fn idempotency_key(text: &str) -> IdempotencyKey {
    IdempotencyKey::parse(text.as_bytes()).expect("an idempotency key")
}

pub(crate) fn pet_id(number: u64) -> PetId {
    PetId::new(number).expect("a pet's id")
}

pub(crate) fn limits(minute: u32, day: u32) -> Limits {
    Limits { minute: Limit::new(minute).expect("a limit"), day: Limit::new(day).expect("a limit") }
}

pub(crate) fn create_category(name: &str) -> CreateCategory {
    CreateCategory { new: NewCategory::new(category_name(name)) }
}

pub(crate) fn rename_category(name: &str) -> CategoryPatch {
    CategoryPatch::new(Some(category_name(name)))
}

pub(crate) fn delete_category(id: CategoryId) -> DeleteCategory {
    DeleteCategory { id, precondition: Precondition::None }
}

pub(crate) fn create_pet(name: &str, category_id: CategoryId, status: Option<PetStatus>) -> CreatePet {
    CreatePet { new: NewPet { status, ..NewPet::new(pet_name(name), category_id) } }
}

pub(crate) fn update_pet(id: PetId, patch: PetPatch) -> UpdatePet {
    UpdatePet { id, patch, precondition: Precondition::None }
}

pub(crate) fn rename_pet(id: PetId, to: &str) -> UpdatePet {
    update_pet(id, PetPatch { name: Some(pet_name(to)), ..PetPatch::default() })
}

pub(crate) fn move_pet(id: PetId, to: CategoryId) -> UpdatePet {
    update_pet(id, PetPatch { category_id: Some(to), ..PetPatch::default() })
}

pub(crate) fn set_status(id: PetId, status: PetStatus) -> UpdatePet {
    update_pet(id, PetPatch { status: Some(status), ..PetPatch::default() })
}

pub(crate) fn delete_pet(id: PetId) -> DeletePet {
    DeletePet { id, precondition: Precondition::None }
}

pub(crate) fn place_order(pet_id: PetId, quantity: i64) -> PlaceOrder {
    let quantity = OrderQuantity::new(quantity).expect("a quantity");
    PlaceOrder { new: NewOrder::new(pet_id, quantity) }
}

pub(crate) fn cancel_order(id: OrderId) -> CancelOrder {
    CancelOrder { id, precondition: Precondition::None }
}

pub(crate) fn complete_order(id: OrderId) -> UpdateOrder {
    let patch = OrderPatch { complete: Some(true), ..OrderPatch::default() };
    UpdateOrder { id, patch, precondition: Precondition::None, now: at(0) }
}

pub(crate) fn set_stock(id: PetId, units: i64) -> SetStock {
    SetStock { id, level: StockLevel::new(units).expect("a level"), precondition: Precondition::None }
}

pub(crate) fn adjust_stock(id: PetId, units: i64) -> AdjustStock {
    AdjustStock { id, delta: StockDelta::new(units).expect("a delta") }
}

/// A unique secret: its digest and prefix.
pub(crate) fn fresh_secret() -> (KeyDigest, KeyPrefix) {
    static MADE: AtomicU64 = AtomicU64::new(1);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let mut bytes = [0xA5; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    (KeyDigest(bytes), ApiKey::from_entropy(bytes).display_prefix())
}

pub(crate) fn create_key(holder: KeyHolder) -> CreateKey {
    let (digest, prefix) = fresh_secret();
    CreateKey {
        holder,
        digest,
        prefix,
        label: KeyLabel::parse("suite").expect("a label"),
        scopes: Scopes::DEFAULT,
        expires_at: None,
        now: at(0),
    }
}

/// The fixtures of most cases.
impl Subject {
    /// A new category.
    pub(crate) async fn add_category(&self, name: &str) -> CategoryId {
        self.run(create_category(name)).await.expect("a category with a fresh name").value.id
    }

    /// A new pet with this stock.
    pub(crate) async fn add_pet(&self, category: CategoryId, stock: i64) -> PetId {
        let pet = self.run(create_pet("Rex", category, None)).await.expect("a pet of this category");
        self.run(set_stock(pet.value.id, stock)).await.expect("the stock of a pet that is there");
        pet.value.id
    }

    /// A new category with one pet of this stock in it.
    pub(crate) async fn add_only_pet(&self, stock: i64) -> PetId {
        let category = self.add_category("Dogs").await;
        self.add_pet(category, stock).await
    }

    /// A new order.
    pub(crate) async fn add_order(&self, pet: PetId, quantity: i64) -> OrderId {
        self.run(place_order(pet, quantity)).await.expect("an order within the stock").value.id
    }

    /// A new account with one key.
    pub(crate) async fn add_account(&self, plan: Plan) -> CreatedKey {
        self.run(create_key(KeyHolder::New { plan })).await.expect("a key with an account of its own")
    }

    /// Another key of an account.
    pub(crate) async fn add_key(&self, account: &Account) -> KeyId {
        let holder = KeyHolder::Named { name: account.name.clone(), plan: None };
        self.run(create_key(holder)).await.expect("another key of an account").key.id
    }
}
