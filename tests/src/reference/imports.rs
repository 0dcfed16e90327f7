//! Imports: the rows are collected, and applied in one step at the end.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use petstore_domain::{
    Category, CategoryRecord, Change, InventoryItem, Namesakes, Order, OrderRecord, Pet, PetId, PetRecord,
    Renamed, Version,
};
use petstore_ports::{Bulk, BulkImport, ImportError, LastIds, Row, StoreError};

use super::{Bug, ReferenceStore};

/// The rows of an import.
struct ReferenceImport<'a> {
    store: &'a ReferenceStore,
    categories: Vec<CategoryRecord>,
    names: Namesakes,
    pets: Vec<PetRecord>,
    items: BTreeSet<PetId>,
    orders: Vec<OrderRecord>,
    rows: u64,
}

impl ReferenceImport<'_> {
    fn refused(&self, why: &str) -> ImportError {
        ImportError::Contradiction { row: self.rows, why: why.to_owned() }
    }

    fn pet_of(&mut self, id: PetId) -> Option<&mut PetRecord> {
        self.pets.iter_mut().find(|record| record.pet.id == id)
    }
}

impl Bulk for ReferenceStore {
    fn import(&self) -> Result<Box<dyn BulkImport + '_>, ImportError> {
        let mut state = self.lock();
        let tables = &state.tables;
        if !tables.pets.is_empty() || !tables.categories.is_empty() || !tables.orders.is_empty() {
            return Err(ImportError::NotEmpty);
        }
        if self.has(Bug::ImportEmptiesTheLogEarly) {
            state.begin_next_epoch();
        }
        Ok(Box::new(ReferenceImport {
            store: self,
            categories: Vec::new(),
            names: Namesakes::default(),
            pets: Vec::new(),
            items: BTreeSet::new(),
            orders: Vec::new(),
            rows: 0,
        }))
    }

    fn export(&self, sink: &mut dyn FnMut(Row) -> ControlFlow<()>) -> Result<(), StoreError> {
        let state = self.lock();
        let categories = state.tables.categories.values().cloned().map(Row::Category);
        let pets = state.tables.pets.values().cloned().map(Row::Pet);
        let orders = state.tables.orders.values().cloned().map(Row::Order);
        // The result is ignored, because a sink that stops the export knows the reason.
        let _ = categories.chain(pets).chain(orders).try_for_each(sink);
        Ok(())
    }
}

impl BulkImport for ReferenceImport<'_> {
    fn last_ids(&self) -> LastIds {
        self.store.lock().tables.last_ids()
    }

    fn category(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        let folded = category.name.folded();
        if self.categories.iter().any(|record| record.category.name.folded() == folded) {
            let why = "another category has this name".to_owned();
            return Err(ImportError::Namesake { row: self.rows + 1, why });
        }
        self.category_or_renamed(category, version)
    }

    fn category_or_renamed(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        self.rows += 1;
        self.names.add(category.id, category.name.clone());
        self.categories.push(CategoryRecord { category, version, pets: 0 });
        Ok(())
    }

    fn pet(&mut self, pet: Pet, version: Version) -> Result<(), ImportError> {
        self.rows += 1;
        let owner = self.categories.iter_mut().find(|record| record.category.id == pet.category_id);
        let Some(owner) = owner else { return Err(self.refused("the category of the pet is missing")) };
        owner.pets += 1;
        self.pets.push(PetRecord { pet, version, stock: 0, item_version: Version::FIRST, open_orders: 0 });
        Ok(())
    }

    fn item(&mut self, item: InventoryItem, version: Version) -> Result<(), ImportError> {
        self.rows += 1;
        let is_new = self.items.insert(item.pet_id);
        let pet = self.pet_of(item.pet_id).filter(|record| record.pet.status == item.status);
        let Some(record) = pet.filter(|_| is_new) else {
            return Err(self.refused("the item contradicts its pet, or another item"));
        };
        (record.stock, record.item_version) = (item.quantity, version);
        Ok(())
    }

    fn order(&mut self, order: Order, version: Version) -> Result<(), ImportError> {
        self.rows += 1;
        if !order.complete {
            let Some(record) = self.pet_of(order.pet_id) else {
                return Err(self.refused("the pet of the open order is missing"));
            };
            record.open_orders += 1;
        }
        self.orders.push(OrderRecord { order, version });
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<Renamed>, ImportError> {
        if self.items.len() != self.pets.len() || !self.pets.iter().all(PetRecord::is_sound) {
            return Err(self.refused("a pet has no item, or contradicts its units"));
        }
        let renamed = std::mem::take(&mut self.names).rename();
        for Renamed { id, to, .. } in &renamed {
            for record in self.categories.iter_mut().filter(|record| record.category.id == *id) {
                record.category.name = to.clone();
            }
        }
        let mut state = self.store.lock();
        let categories = self.categories.into_iter().map(Change::Category);
        let pets = self.pets.into_iter().map(Change::Pet);
        for change in categories.chain(pets).chain(self.orders.into_iter().map(Change::Order)) {
            state.apply_one(change);
        }
        state.tables.skip_given();
        if !self.store.has(Bug::ImportKeepsTheLog) {
            state.begin_next_epoch();
        }
        if self.store.has(Bug::ImportHasEvents) {
            state.emit_created();
        }
        Ok(renamed)
    }
}
