//! Samples of records. They show whether a footprint grows with a record that has not been read.

use std::convert::Infallible;
use std::sync::LazyLock;

use petstore_domain::{
    Account, AccountId, AccountName, AccountWebhooks, Category, CategoryId, CategoryName, CategoryRecord,
    FoldedName, ID_MAX, IdKind, IdempotencyId, IdempotencyRecord, KeyId, KeyRecord, NewPet, Order, OrderId,
    OrderQuantity, OrderRecord, PetId, PetName, PetRecord, Plan, RecordRef, Source, Timestamp, Version, View,
};

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
    let category = Category::new(category_id, CategoryName::parse(name).expect(name_is_valid));
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

/// Loads a sample of a record.
pub(super) fn load(view: &mut View, reference: &RecordRef) {
    let Ok(()) = view.load(reference, &mut Sample);
}

/// The store that has a sample of each record. Keys, idempotency records and webhooks have none, and are absent.
struct Sample;

type Found<T> = Result<Option<T>, Infallible>;

impl Source for Sample {
    type Error = Infallible;

    fn pet(&mut self, id: &PetId) -> Found<PetRecord> {
        let mut record = SAMPLES.pet.clone();
        record.pet.id = *id;
        Ok(Some(record))
    }

    fn category(&mut self, id: &CategoryId) -> Found<CategoryRecord> {
        let mut record = SAMPLES.category.clone();
        record.category.id = *id;
        Ok(Some(record))
    }

    fn order(&mut self, id: &OrderId) -> Found<OrderRecord> {
        let mut record = SAMPLES.order.clone();
        record.order.id = *id;
        Ok(Some(record))
    }

    fn account(&mut self, id: &AccountId) -> Found<Account> {
        Ok(Some(Account { id: *id, ..SAMPLES.account.clone() }))
    }

    fn key(&mut self, _id: &KeyId) -> Found<KeyRecord> {
        Ok(None)
    }

    fn idempotency(&mut self, _id: &IdempotencyId) -> Found<IdempotencyRecord> {
        Ok(None)
    }

    fn webhooks(&mut self, _account: &AccountId) -> Found<AccountWebhooks> {
        Ok(None)
    }

    fn category_named(&mut self, _name: &FoldedName) -> Found<CategoryId> {
        Ok(Some(SAMPLES.category.category.id))
    }

    fn account_named(&mut self, _name: &FoldedName) -> Found<AccountId> {
        Ok(Some(SAMPLES.account.id))
    }

    fn next_id(&mut self, kind: IdKind, view: &mut View) -> Result<(), Infallible> {
        // 1 is an id.
        let _: Result<(), _> = kind.load(view, 1);
        Ok(())
    }
}
