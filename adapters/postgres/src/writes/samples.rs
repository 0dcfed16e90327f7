//! Samples of records. They show whether a footprint grows with a record that has not been read.

use std::sync::LazyLock;

use petstore_domain::{
    Account, AccountId, AccountName, Category, CategoryId, CategoryName, CategoryRecord, ID_MAX, NewPet,
    Order, OrderId, OrderQuantity, OrderRecord, PetId, PetName, PetRecord, Plan, RecordRef, Timestamp,
    Version, View,
};

use super::next_ids::IdKind;

struct Samples {
    pet: PetRecord,
    category: CategoryRecord,
    order: OrderRecord,
    account: Account,
}

/// No real pet or category is likely to have the ids and names of these samples. So an operation that gives a record
/// another name or category sees a change, and its footprint grows by the records of that change.
static SAMPLES: LazyLock<Samples> = LazyLock::new(|| {
    let (last, name) = ("the highest id is an id", "sample");
    let name_is_valid = "it is short and visible";
    let (category_id, pet_id) = (CategoryId::new(ID_MAX).expect(last), PetId::new(ID_MAX).expect(last));
    let new = NewPet::new(PetName::parse(name).expect(name_is_valid), category_id);
    let category = Category {
        id: category_id,
        name: CategoryName::parse(name).expect(name_is_valid),
        description: None,
    };
    let (id, quantity) = (OrderId::FIRST, OrderQuantity::ONE);
    let order = Order::new(id, pet_id, quantity);
    let name = AccountName::parse(name).expect(name_is_valid);
    Samples {
        pet: PetRecord::new(pet_id, new),
        category: CategoryRecord { category, version: Version::FIRST, pets: 0 },
        order: OrderRecord { order, version: Version::FIRST },
        account: Account { id: AccountId::FIRST, name, plan: Plan::Free, created_at: Timestamp::EPOCH },
    }
});

/// Loads a sample of a record. A key, an idempotency record and webhooks have none, and stay as they
/// are.
pub(super) fn load(view: &mut View, reference: &RecordRef) {
    match reference {
        RecordRef::Pet(id) => {
            let mut record = SAMPLES.pet.clone();
            record.pet.id = *id;
            view.load_pet(*id, Some(record));
        }
        RecordRef::Category(id) => {
            let mut record = SAMPLES.category.clone();
            record.category.id = *id;
            view.load_category(*id, Some(record));
        }
        RecordRef::CategoryName(name) => {
            view.load_category_name(name.clone(), Some(SAMPLES.category.category.id));
        }
        RecordRef::Order(id) => {
            let mut record = SAMPLES.order.clone();
            record.order.id = *id;
            view.load_order(*id, Some(record));
        }
        RecordRef::Account(id) => {
            view.load_account(*id, Some(Account { id: *id, ..SAMPLES.account.clone() }));
        }
        RecordRef::AccountName(name) => view.load_account_name(name.clone(), Some(SAMPLES.account.id)),
        RecordRef::Key(_) | RecordRef::Idempotency(_) | RecordRef::Webhooks(_) => {}
        RecordRef::NextPet
        | RecordRef::NextCategory
        | RecordRef::NextOrder
        | RecordRef::NextAccount
        | RecordRef::NextKey => {
            if let Some(kind) = IdKind::of(reference) {
                // 1 is an id.
                let _: Result<(), _> = kind.load(view, 1);
            }
        }
    }
}
