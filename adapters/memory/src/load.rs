//! Loads the records of a footprint into a view.

use petstore_domain::{AccountId, CategoryId, Changes, Footprint, KeyId, OrderId, PetId, RecordRef, View};
use petstore_ports::StoreError;

use crate::overlay::record_of;
use crate::tables::Tables;

impl Tables {
    /// Loads the current records of a footprint. The caller holds their stripes.
    ///
    /// A view that is loaded again gets the current records, but keeps its new ids. A footprint may depend on a new id.
    /// If each round drew another id, such a footprint would change in each round.
    pub(crate) fn load(&self, footprint: &Footprint, view: &mut View) -> Result<(), StoreError> {
        for record in footprint.records() {
            if !(is_new_id(record) && view.holds(record)) {
                self.load_one(record, view)?;
            }
        }
        Ok(())
    }

    /// Loads one record, or the next id of a kind of record.
    pub(crate) fn load_one(&self, record: &RecordRef, view: &mut View) -> Result<(), StoreError> {
        match record {
            RecordRef::Pet(id) => view.load_pet(*id, self.pets.get(*id)),
            RecordRef::Category(id) => view.load_category(*id, self.categories.get(*id)),
            RecordRef::CategoryName(name) => {
                view.load_category_name(name.clone(), self.categories.named(name));
            }
            RecordRef::Order(id) => view.load_order(*id, self.orders.get(*id)),
            RecordRef::Account(id) => view.load_account(*id, self.accounts.get(*id)),
            RecordRef::AccountName(name) => view.load_account_name(name.clone(), self.accounts.id_of(name)),
            RecordRef::Key(id) => view.load_key(*id, self.keys.get(*id)),
            RecordRef::Idempotency(id) => {
                view.load_idempotency(id.clone(), self.idempotency_records.get(id));
            }
            RecordRef::Webhooks(account) => view.load_webhooks(*account, self.webhooks.get(*account)),
            RecordRef::NextPet => view.load_next_pet(self.pets.ids.next(PetId::new)?),
            RecordRef::NextCategory => view.load_next_category(self.categories.ids.next(CategoryId::new)?),
            RecordRef::NextOrder => view.load_next_order(self.orders.ids.next(OrderId::new)?),
            RecordRef::NextAccount => view.load_next_account(self.accounts.ids.next(AccountId::new)?),
            RecordRef::NextKey => view.load_next_key(self.keys.ids.next(KeyId::new)?),
        }
        Ok(())
    }

    /// Takes back the new ids in the view that no change uses, so that they are issued again. This applies to ids of
    /// pets, categories and orders.
    pub(crate) fn return_unused_ids(&self, view: &View, changes: &Changes) {
        let is_unused = |next: &RecordRef, of: &dyn Fn() -> RecordRef| {
            view.holds(next) && !changes.as_slice().iter().any(|change| record_of(change) == of())
        };
        if is_unused(&RecordRef::NextPet, &|| RecordRef::Pet(view.next_pet())) {
            self.pets.ids.take_back(view.next_pet().get());
        }
        if is_unused(&RecordRef::NextCategory, &|| RecordRef::Category(view.next_category())) {
            self.categories.ids.take_back(view.next_category().get());
        }
        if is_unused(&RecordRef::NextOrder, &|| RecordRef::Order(view.next_order())) {
            self.orders.ids.take_back(view.next_order().get());
        }
    }
}

const fn is_new_id(record: &RecordRef) -> bool {
    matches!(
        record,
        RecordRef::NextPet
            | RecordRef::NextCategory
            | RecordRef::NextOrder
            | RecordRef::NextAccount
            | RecordRef::NextKey
    )
}
