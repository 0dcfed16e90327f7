//! From a footprint to a view.

use petstore_domain::{AccountId, CategoryId, Changes, Footprint, KeyId, OrderId, PetId, RecordRef, View};
use petstore_ports::StoreError;

use crate::overlay::name_of;
use crate::tables::Tables;

impl Tables {
    /// Loads everything that the footprint names as it is now. The caller holds the names.
    ///
    /// A view that is loaded again gets the records anew, but keeps its new ids: a name may follow from an id, and with
    /// another id at each round the footprint would never settle.
    pub(crate) fn load(&self, footprint: &Footprint, view: &mut View) -> Result<(), StoreError> {
        for name in footprint.names() {
            if !(is_new_id(name) && view.holds(name)) {
                self.load_one(name, view)?;
            }
        }
        Ok(())
    }

    /// Loads what has this name as it is now.
    pub(crate) fn load_one(&self, name: &RecordRef, view: &mut View) -> Result<(), StoreError> {
        match name {
            RecordRef::Pet(id) => view.load_pet(*id, self.pets.get(*id)),
            RecordRef::Category(id) => view.load_category(*id, self.categories.get(*id)),
            RecordRef::CategoryName(name) => {
                view.load_category_name(name.clone(), self.categories.named(name));
            }
            RecordRef::Order(id) => view.load_order(*id, self.orders.get(*id)),
            RecordRef::Account(id) => view.load_account(*id, self.accounts.get(*id)),
            RecordRef::AccountName(name) => view.load_account_name(name.clone(), self.accounts.id_of(name)),
            RecordRef::Key(id) => view.load_key(*id, self.keys.get(*id)),
            RecordRef::Idempotency(name) => {
                view.load_idempotency(name.clone(), self.idempotency_records.get(name))
            }
            RecordRef::NextPet => view.load_next_pet(self.pets.ids.next(PetId::new)?),
            RecordRef::NextCategory => view.load_next_category(self.categories.ids.next(CategoryId::new)?),
            RecordRef::NextOrder => view.load_next_order(self.orders.ids.next(OrderId::new)?),
            RecordRef::NextAccount => view.load_next_account(self.accounts.ids.next(AccountId::new)?),
            RecordRef::NextKey => view.load_next_key(self.keys.ids.next(KeyId::new)?),
        }
        Ok(())
    }

    /// Gives back the new ids of the shop with which a decision on this view writes nothing.
    pub(crate) fn return_unused_ids(&self, view: &View, changes: &Changes) {
        let is_unused = |next: &RecordRef, of: &dyn Fn() -> RecordRef| {
            view.holds(next) && !changes.as_slice().iter().any(|change| name_of(change) == of())
        };
        if is_unused(&RecordRef::NextPet, &|| RecordRef::Pet(view.next_pet())) {
            self.pets.ids.give_back(view.next_pet().get());
        }
        if is_unused(&RecordRef::NextCategory, &|| RecordRef::Category(view.next_category())) {
            self.categories.ids.give_back(view.next_category().get());
        }
        if is_unused(&RecordRef::NextOrder, &|| RecordRef::Order(view.next_order())) {
            self.orders.ids.give_back(view.next_order().get());
        }
    }
}

const fn is_new_id(name: &RecordRef) -> bool {
    matches!(
        name,
        RecordRef::NextPet
            | RecordRef::NextCategory
            | RecordRef::NextOrder
            | RecordRef::NextAccount
            | RecordRef::NextKey
    )
}
