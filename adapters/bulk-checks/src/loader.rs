//! Adding complete records.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use petstore_domain::{CategoryId, CategoryRecord, OrderRecord, PetId, PetRecord};
use petstore_ports::Row;

use crate::{Contradiction, ShopTables};

/// Adds records to tables. Categories come first, then their pets, then the orders of the pets.
#[derive(Debug)]
pub struct ShopLoader<T> {
    tables: T,
    open_orders: HashMap<PetId, u32, RandomState>,
}

impl<T: ShopTables> ShopLoader<T> {
    /// Loads into these tables, which are empty.
    pub fn new(tables: T) -> Self {
        Self { tables, open_orders: HashMap::default() }
    }

    /// The tables that the rows so far are in.
    pub const fn tables(&self) -> &T {
        &self.tables
    }

    /// The tables, for a store that has to finish them.
    pub const fn tables_mut(&mut self) -> &mut T {
        &mut self.tables
    }

    /// The tables with all rows.
    pub fn into_tables(self) -> T {
        self.tables
    }

    /// Adds a category, a pet or an order. Rows of other kinds do not belong to the shop, and are ignored.
    ///
    /// # Errors
    /// The row contradicts an earlier one.
    pub fn add(&mut self, row: Row) -> Result<(), Contradiction> {
        match row {
            Row::Category(record) => self.category(record),
            Row::Pet(record) => self.pet(record),
            Row::Order(record) => self.order(record),
            Row::Account(_)
            | Row::Key(_)
            | Row::Idempotency(_)
            | Row::Usage(_)
            | Row::Webhooks(_)
            | Row::Progress(..)
            | Row::Delivery(_) => Ok(()),
        }
    }

    /// Adds a category.
    ///
    /// # Errors
    /// The row contradicts an earlier one.
    pub fn category(&mut self, record: CategoryRecord) -> Result<(), Contradiction> {
        let id = record.category.id;
        check_new::<T>("category", id.get(), self.tables.has_category(id))?;
        if let Some(of) = self.tables.category_named(&record.category.name.folded()) {
            return Err(Contradiction::Namesake { id: id.get(), of: of.get() });
        }
        self.tables.put_category(record);
        Ok(())
    }

    /// Adds a pet with its stock.
    ///
    /// # Errors
    /// The row contradicts an earlier one.
    pub fn pet(&mut self, record: PetRecord) -> Result<(), Contradiction> {
        let (id, category) = (record.pet.id, record.pet.category_id);
        check_new::<T>("pet", id.get(), self.has_pet(id))?;
        if !self.tables.has_category(category) {
            return Err(orphan("pet", id.get(), "category", category.get()));
        }
        self.tables.add_pet(record);
        Ok(())
    }

    /// Adds an order.
    ///
    /// # Errors
    /// The row contradicts an earlier one.
    pub fn order(&mut self, record: OrderRecord) -> Result<(), Contradiction> {
        let (id, pet) = (record.order.id, record.order.pet_id);
        check_new::<T>("order", id.get(), self.tables.has_order(id))?;
        check_new::<T>("pet", pet.get(), false)?;
        // A completed order may outlive its pet, so only the pet of an open order is looked up.
        if !record.order.complete {
            if !self.has_pet(pet) {
                return Err(orphan("order", id.get(), "pet", pet.get()));
            }
            *self.open_orders.entry(pet).or_default() += 1;
        }
        self.tables.add_order(record);
        Ok(())
    }

    fn has_pet(&self, id: PetId) -> bool {
        self.tables.read_pet(id, |_| ()).is_some()
    }

    /// The number of open orders for a pet so far.
    pub fn open_orders_of(&self, pet: PetId) -> u32 {
        self.open_orders.get(&pet).copied().unwrap_or(0)
    }

    /// Writes the number of its pets into each category.
    pub fn count_pets(&mut self) {
        let all: Vec<CategoryId> = self.tables.categories().map(|record| record.category.id).collect();
        for id in all {
            let pets = self.tables.pets_in(id);
            self.tables.update_category(id, |record| record.pets = pets);
        }
    }

    /// Checks the counts in all records, and the status of each pet.
    ///
    /// # Errors
    /// The first record with a fault.
    pub fn check(&self) -> Result<(), Contradiction> {
        for CategoryRecord { category, pets, .. } in self.tables.categories() {
            let counted = self.tables.pets_in(category.id);
            check_count("category", category.id.get(), "pets", pets, counted)?;
        }
        for record in self.tables.pets() {
            let (id, open_orders) = (record.pet.id, record.open_orders);
            let counted = self.open_orders_of(id);
            check_count("pet", id.get(), "open orders", open_orders.into(), counted.into())?;
            check_sound(&record)?;
        }
        Ok(())
    }
}

/// Checks that no earlier record has the same id, and that the tables can hold the id.
fn check_new<T: ShopTables>(kind: &'static str, id: u64, is_taken: bool) -> Result<(), Contradiction> {
    if is_taken {
        return Err(Contradiction::Twice { kind, id });
    }
    if id > T::ID_MAX {
        return Err(Contradiction::NoRoom { kind, id, max: T::ID_MAX });
    }
    Ok(())
}

const fn orphan(kind: &'static str, id: u64, owner: &'static str, missing: u64) -> Contradiction {
    Contradiction::Orphan { kind, id, owner, missing }
}

/// Checks that a pet's status follows from its units and its open orders.
pub(crate) fn check_sound(record: &PetRecord) -> Result<(), Contradiction> {
    if record.is_sound() {
        return Ok(());
    }
    let PetRecord { pet, stock, open_orders, .. } = record;
    Err(Contradiction::Unsound { id: pet.id, status: pet.status, stock: *stock, open_orders: *open_orders })
}

fn check_count(
    kind: &'static str,
    id: u64,
    what: &'static str,
    stated: u64,
    counted: u64,
) -> Result<(), Contradiction> {
    if stated == counted {
        Ok(())
    } else {
        Err(Contradiction::Miscounted { kind, id, what, stated, counted })
    }
}
