//! From a footprint to a view.

use petstore_domain::{AccountId, CategoryId, Changes, Footprint, KeyId, Name, OrderId, PetId, View};
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
    pub(crate) fn load_one(&self, name: &Name, view: &mut View) -> Result<(), StoreError> {
        match name {
            Name::Pet(id) => view.load_pet(*id, self.pets.get(*id)),
            Name::Category(id) => view.load_category(*id, self.categories.get(*id)),
            Name::CategoryName(name) => {
                view.load_category_name(name.clone(), self.categories.named(name));
            }
            Name::Order(id) => view.load_order(*id, self.orders.get(*id)),
            Name::Account(id) => view.load_account(*id, self.accounts.get(*id)),
            Name::AccountName(name) => view.load_account_name(name.clone(), self.accounts.id_of(name)),
            Name::Key(id) => view.load_key(*id, self.keys.get(*id)),
            Name::Retry(name) => view.load_retry(name.clone(), self.retries.get(name)),
            Name::NextPet => view.load_next_pet(self.pets.ids.next(PetId::new)?),
            Name::NextCategory => view.load_next_category(self.categories.ids.next(CategoryId::new)?),
            Name::NextOrder => view.load_next_order(self.orders.ids.next(OrderId::new)?),
            Name::NextAccount => view.load_next_account(self.accounts.ids.next(AccountId::new)?),
            Name::NextKey => view.load_next_key(self.keys.ids.next(KeyId::new)?),
        }
        Ok(())
    }

    /// Gives back the new ids of the shop with which a decision on this view writes nothing.
    pub(crate) fn give_back_ids(&self, view: &View, changes: &Changes) {
        let is_unused = |next: &Name, of: &dyn Fn() -> Name| {
            view.holds(next) && !changes.as_slice().iter().any(|change| name_of(change) == of())
        };
        if is_unused(&Name::NextPet, &|| Name::Pet(view.next_pet())) {
            self.pets.ids.give_back(view.next_pet().get());
        }
        if is_unused(&Name::NextCategory, &|| Name::Category(view.next_category())) {
            self.categories.ids.give_back(view.next_category().get());
        }
        if is_unused(&Name::NextOrder, &|| Name::Order(view.next_order())) {
            self.orders.ids.give_back(view.next_order().get());
        }
    }
}

const fn is_new_id(name: &Name) -> bool {
    matches!(name, Name::NextPet | Name::NextCategory | Name::NextOrder | Name::NextAccount | Name::NextKey)
}
