//! The rows of an import or a reset before they are in the database.

use std::collections::{BTreeMap, HashMap};

use petstore_bulk_checks::ShopTables;
use petstore_domain::{
    CategoryId, CategoryRecord, FoldedName, ID_MAX, OrderId, OrderRecord, PetId, PetRecord,
};
use roaring::RoaringTreemap;

/// The rows of a shop. Categories and pets stay until the end, because later rows change them. Orders can be taken out
/// at any time; their ids stay here.
#[derive(Debug, Default)]
pub(super) struct Staged {
    categories: BTreeMap<CategoryId, CategoryRecord>,
    names: HashMap<FoldedName, CategoryId>,
    pets: BTreeMap<PetId, PetRecord>,
    pets_in: HashMap<CategoryId, u64>,
    order_ids: RoaringTreemap,
    orders: Vec<OrderRecord>,
    last_pet: u64,
}

/// The highest ids in the rows; 0 without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HighestIds {
    pub(super) category: u64,
    pub(super) pet: u64,
    pub(super) order: u64,
}

impl Staged {
    /// The number of orders that were not taken out.
    pub(super) fn waiting_orders(&self) -> usize {
        self.orders.len()
    }

    /// Takes the orders out.
    pub(super) fn take_orders(&mut self) -> Vec<OrderRecord> {
        std::mem::take(&mut self.orders)
    }

    /// Takes the categories and the pets out, each by id.
    pub(super) fn take_records(&mut self) -> (Vec<CategoryRecord>, Vec<PetRecord>) {
        let categories = std::mem::take(&mut self.categories).into_values().collect();
        (categories, std::mem::take(&mut self.pets).into_values().collect())
    }

    /// The highest ids, including those of pets that only an order names.
    pub(super) fn highest_ids(&self) -> HighestIds {
        let category = self.categories.keys().next_back().map_or(0, |id| id.get());
        HighestIds { category, pet: self.last_pet, order: self.order_ids.max().unwrap_or(0) }
    }
}

impl ShopTables for Staged {
    const ID_MAX: u64 = ID_MAX;

    fn has_category(&self, id: CategoryId) -> bool {
        self.categories.contains_key(&id)
    }

    fn category_named(&self, name: &FoldedName) -> Option<CategoryId> {
        self.names.get(name).copied()
    }

    fn put_category(&mut self, record: CategoryRecord) {
        let (id, name) = (record.category.id, record.category.name.folded());
        if let Some(before) = self.categories.insert(id, record) {
            let folded = before.category.name.folded();
            if self.names.get(&folded) == Some(&id) {
                self.names.remove(&folded);
            }
        }
        self.names.insert(name, id);
    }

    fn update_category(&mut self, id: CategoryId, change: impl FnOnce(&mut CategoryRecord)) {
        if let Some(record) = self.categories.get_mut(&id) {
            change(record);
        }
    }

    fn categories(&self) -> impl Iterator<Item = CategoryRecord> {
        self.categories.values().cloned()
    }

    fn pets_in(&self, category: CategoryId) -> u64 {
        self.pets_in.get(&category).copied().unwrap_or(0)
    }

    fn read_pet<R>(&self, id: PetId, read: impl FnOnce(&PetRecord) -> R) -> Option<R> {
        self.pets.get(&id).map(read)
    }

    fn add_pet(&mut self, record: PetRecord) {
        *self.pets_in.entry(record.pet.category_id).or_default() += 1;
        self.last_pet = self.last_pet.max(record.pet.id.get());
        self.pets.insert(record.pet.id, record);
    }

    fn update_pet(&mut self, id: PetId, change: impl FnOnce(&mut PetRecord)) {
        if let Some(record) = self.pets.get_mut(&id) {
            change(record);
        }
    }

    fn pets(&self) -> impl Iterator<Item = PetRecord> {
        self.pets.values().cloned()
    }

    fn has_order(&self, id: OrderId) -> bool {
        self.order_ids.contains(id.get())
    }

    fn add_order(&mut self, record: OrderRecord) {
        self.order_ids.insert(record.order.id.get());
        self.last_pet = self.last_pet.max(record.order.pet_id.get());
        self.orders.push(record);
    }
}
