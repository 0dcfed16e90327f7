//! The checks of an import: records are put together from its rows.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use petstore_domain::{
    Category, CategoryId, CategoryName, CategoryRecord, InventoryItem, Namesakes, Order, OrderRecord, Pet,
    PetId, PetRecord, Renamed, Version,
};
use petstore_ports::ImportError;
use roaring::RoaringTreemap;

use crate::loader::check_sound;
use crate::{Contradiction, ShopLoader, ShopTables};

/// Checks rows in the order of an import: categories, pets, their inventory items, orders. Ids and versions are kept. The open
/// orders of a pet and the pets of a category are counted from the rows.
#[derive(Debug)]
pub struct ImportChecks<T> {
    loader: ShopLoader<T>,
    /// The number of the last row.
    row: u64,
    /// The pets that have their inventory item.
    items: RoaringTreemap,
    /// Pets that are not consistent yet, each with the last row that belongs to it. If no later row makes the pet
    /// consistent, that row is reported. If the rows of each pet follow each other, the map has few entries at a time.
    inconsistent: HashMap<PetId, u64, RandomState>,
    /// The categories whose name an earlier category already had, with that name. They have a temporary name until the
    /// end.
    namesakes: BTreeMap<CategoryId, CategoryName>,
}

impl<T: ShopTables> ImportChecks<T> {
    /// Begins an import into these tables, which are empty.
    pub fn new(tables: T) -> Self {
        Self {
            loader: ShopLoader::new(tables),
            row: 0,
            items: RoaringTreemap::new(),
            inconsistent: HashMap::default(),
            namesakes: BTreeMap::new(),
        }
    }

    /// The tables that the rows so far are in, for rows that have no check.
    pub const fn tables_mut(&mut self) -> &mut T {
        self.loader.tables_mut()
    }

    /// Adds a category.
    ///
    /// # Errors
    /// The row contradicts an earlier one, as for the other methods that add a row.
    pub fn category(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        self.add_row(|import| import.loader.category(CategoryRecord { category, version, pets: 0 }))
    }

    /// Adds a category. If an older category has an equivalent name, this one is renamed at the end.
    ///
    /// # Errors
    /// See [`ImportChecks::category`].
    pub fn category_or_renamed(
        &mut self,
        mut category: Category,
        version: Version,
    ) -> Result<(), ImportError> {
        if self.loader.tables().category_named(&category.name.folded()).is_some() {
            // The final names are known only at the end: a later category may have this name, too.
            let temporary = self.temporary_name(&mut Namesakes::default(), category.id);
            let name = std::mem::replace(&mut category.name, temporary);
            self.namesakes.insert(category.id, name);
        }
        self.category(category, version)
    }

    /// Makes a name that no category has.
    fn temporary_name(&self, made: &mut Namesakes, id: CategoryId) -> CategoryName {
        loop {
            let name = CategoryName::parse(&format!("category {id}")).expect("short and printable");
            let name = made.add_made(id, name);
            if self.loader.tables().category_named(&name.folded()).is_none() {
                return name;
            }
        }
    }

    /// Gives each category with a temporary name its own name. If an older category has that name, gives it a name
    /// derived from it.
    fn rename(&mut self) -> Vec<Renamed> {
        if self.namesakes.is_empty() {
            return Vec::new();
        }
        let mut names = Namesakes::default();
        let mut records = BTreeMap::new();
        for record in self.loader.tables().categories() {
            let category = &record.category;
            let own_name = self.namesakes.get(&category.id).cloned();
            names.add(category.id, own_name.unwrap_or_else(|| category.name.clone()));
            records.insert(category.id, record);
        }
        let renamed = names.rename();
        let mut final_names = std::mem::take(&mut self.namesakes);
        final_names.extend(renamed.iter().map(|one| (one.id, one.to.clone())));
        for (id, name) in final_names {
            if let Some(mut record) = records.remove(&id) {
                record.category.name = name;
                self.loader.tables_mut().put_category(record);
            }
        }
        renamed
    }

    /// Adds a pet. Its inventory item must follow.
    ///
    /// # Errors
    /// See [`ImportChecks::category`].
    pub fn pet(&mut self, pet: Pet, version: Version) -> Result<(), ImportError> {
        let id = pet.id;
        let record = PetRecord { pet, version, stock: 0, item_version: Version::FIRST, open_orders: 0 };
        self.add_row(|import| import.loader.pet(record))?;
        self.inconsistent.insert(id, self.row);
        Ok(())
    }

    /// Adds the inventory item of a pet.
    ///
    /// # Errors
    /// See [`ImportChecks::category`].
    pub fn item(&mut self, item: InventoryItem, version: Version) -> Result<(), ImportError> {
        self.add_row(|import| import.add_item(item, version))?;
        self.recheck(item.pet_id);
        Ok(())
    }

    /// Adds an order. The pet of an open order must exist. A complete order may outlive its pet.
    ///
    /// # Errors
    /// See [`ImportChecks::category`].
    pub fn order(&mut self, order: Order, version: Version) -> Result<(), ImportError> {
        let (pet, is_open) = (order.pet_id, !order.complete);
        self.add_row(|import| import.loader.order(OrderRecord { order, version }))?;
        if is_open {
            let open_orders = self.loader.open_orders_of(pet);
            self.loader.tables_mut().update_pet(pet, |record| record.open_orders = open_orders);
            self.recheck(pet);
        }
        Ok(())
    }

    /// Adds a row, and counts it. An error names the number of the row.
    fn add_row(
        &mut self,
        add: impl FnOnce(&mut Self) -> Result<(), Contradiction>,
    ) -> Result<(), ImportError> {
        self.row += 1;
        let row = self.row;
        add(self).map_err(|contradiction| {
            let why = contradiction.to_string();
            match contradiction {
                Contradiction::Namesake { .. } => ImportError::Namesake { row, why },
                _ => ImportError::Contradiction { row, why },
            }
        })
    }

    fn add_item(&mut self, item: InventoryItem, version: Version) -> Result<(), Contradiction> {
        let InventoryItem { pet_id, quantity, status: listed } = item;
        let id = pet_id.get();
        let Some(status) = self.loader.tables().read_pet(pet_id, |record| record.pet.status) else {
            return Err(Contradiction::Orphan { kind: "inventory item", id, owner: "pet", missing: id });
        };
        if listed != status {
            return Err(Contradiction::OtherStatus { id: pet_id, listed, status });
        }
        if !self.items.insert(id) {
            return Err(Contradiction::Twice { kind: "inventory item", id });
        }
        let tables = self.loader.tables_mut();
        tables.update_pet(pet_id, |record| (record.stock, record.item_version) = (quantity, version));
        Ok(())
    }

    /// Takes note whether a pet is consistent after the last row. Until the pet has its inventory item, nothing
    /// changes.
    fn recheck(&mut self, pet: PetId) {
        if !self.items.contains(pet.get()) {
            return;
        }
        if self.loader.tables().read_pet(pet, PetRecord::is_sound) == Some(true) {
            self.inconsistent.remove(&pet);
        } else {
            self.inconsistent.insert(pet, self.row);
        }
    }

    /// Checks that all pets are consistent.
    fn check_pets(&self) -> Result<(), ImportError> {
        let Some((&id, &row)) = self.inconsistent.iter().min_by_key(|(_, row)| **row) else { return Ok(()) };
        let unsound = self.loader.tables().read_pet(id, check_sound).and_then(Result::err);
        let why = unsound.filter(|_| self.items.contains(id.get())).unwrap_or(Contradiction::NoItem { id });
        Err(ImportError::Contradiction { row, why: why.to_string() })
    }

    /// Completes the rows: categories get their final names and the numbers of their pets. Returns the renamed categories.
    ///
    /// # Errors
    /// The rows contradict each other.
    pub fn finish(&mut self) -> Result<Vec<Renamed>, ImportError> {
        self.check_pets()?;
        let renamed = self.rename();
        self.loader.count_pets();
        Ok(renamed)
    }
}
