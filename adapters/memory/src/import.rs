//! A bulk load into an empty store: all rows or none.
//!
//! Rows are written directly into the store's tables, which are hidden meanwhile. So no row is kept twice, and all
//! rows become visible in one step. Writes are refused during the import. With a journal, all rows are written to the
//! journal in one commit, after they were checked against each other.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use petstore_domain::{
    Category, CategoryId, CategoryName, CategoryRecord, InventoryItem, Namesakes, Order, OrderRecord, Pet,
    PetId, PetRecord, Renamed, Version,
};
use petstore_ports::{ImportError, LastIds};
use roaring::RoaringBitmap;

use crate::bulk_loader::{BulkLoader, Contradiction, check_sound};
use crate::slab::slot;
use crate::store::MemoryStore;
use crate::tables::Tables;
use crate::write_block::WriteBlock;

/// A bulk load in progress. Dropping it before [`Import::finish`] removes all of its rows.
///
/// Rows come in this order: categories, pets, their inventory items, orders. Ids and versions are kept. The open orders
/// of a pet and the pets of a category are counted from the rows. Every method blocks, [`Import::finish`] until the
/// disk has all rows.
pub struct Import<'a> {
    tables: &'a Tables,
    loader: BulkLoader<'a>,
    /// The number of the last row.
    row: u64,
    /// Slots of the pets that have their inventory item.
    items: RoaringBitmap,
    /// Pets that are not consistent yet. The value is the row to report if no later row makes the pet consistent. If
    /// the rows of each pet follow each other, the map has few entries at a time.
    inconsistent: HashMap<PetId, u64, RandomState>,
    /// The last ids issued before the import.
    before: LastIds,
    /// The imported names of categories whose name another category had already. Until the end such a category has a
    /// temporary name.
    namesakes: BTreeMap<CategoryId, CategoryName>,
    /// The exclusion of other writes. None once the import was committed, or once the committer decides its outcome.
    block: Option<WriteBlock<'a>>,
}

impl MemoryStore {
    /// Begins a bulk load into the store, which must have no category, pet or order. Until its end writes are refused
    /// as busy, and readers find an empty shop.
    pub fn import(&self) -> Result<Import<'_>, ImportError> {
        let block = self.block_writes();
        self.durable.as_ref().map_or(Ok(()), |durable| durable.queue.check())?;
        if !self.tables.shop_is_empty() {
            return Err(ImportError::NotEmpty);
        }
        let before = self.tables.last_ids();
        self.tables.visibility.hide();
        Ok(Import {
            tables: &self.tables,
            loader: BulkLoader::of(&self.tables),
            row: 0,
            items: RoaringBitmap::new(),
            inconsistent: HashMap::default(),
            namesakes: BTreeMap::new(),
            before,
            block: Some(block),
        })
    }
}

impl Import<'_> {
    /// The last ids that the store has issued, including those of deleted records. Rows without an id get higher ones.
    pub fn last_ids(&self) -> LastIds {
        self.before
    }

    /// Adds a category.
    pub fn category(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        self.add_row(|import| import.loader.category(CategoryRecord { category, version, pets: 0 }))
    }

    /// Adds a category. It is renamed at the end if an older one has an equivalent name.
    pub fn category_or_renamed(
        &mut self,
        mut category: Category,
        version: Version,
    ) -> Result<(), ImportError> {
        if self.tables.categories.named(&category.name.folded()).is_some() {
            // The final name is known only at the end, because a category that comes later may have this name, too.
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
            if self.tables.categories.named(&name.folded()).is_none() {
                return name;
            }
        }
    }

    /// Replaces the temporary names. A category gets the name that was imported, or a name derived from it if an older
    /// category has an equivalent one.
    fn rename(&mut self) -> Vec<Renamed> {
        if self.namesakes.is_empty() {
            return Vec::new();
        }
        let mut names = Namesakes::default();
        for CategoryRecord { category, .. } in self.tables.categories.all() {
            let own_name = self.namesakes.get(&category.id).cloned();
            names.add(category.id, own_name.unwrap_or(category.name));
        }
        let renamed = names.rename();
        let mut final_names = std::mem::take(&mut self.namesakes);
        final_names.extend(renamed.iter().map(|one| (one.id, one.to.clone())));
        for (id, name) in final_names {
            if let (Some(slot), Some(mut record)) = (slot(id.get()), self.tables.categories.get(id)) {
                record.category.name = name;
                self.tables.categories.put(slot, record);
            }
        }
        renamed
    }

    /// Adds a pet. Its inventory item must follow.
    pub fn pet(&mut self, pet: Pet, version: Version) -> Result<(), ImportError> {
        let id = pet.id;
        let record = PetRecord { pet, version, stock: 0, item_version: Version::FIRST, open_orders: 0 };
        self.add_row(|import| import.loader.pet(record))?;
        self.inconsistent.insert(id, self.row);
        Ok(())
    }

    /// Adds the inventory item of a pet.
    pub fn item(&mut self, item: InventoryItem, version: Version) -> Result<(), ImportError> {
        self.add_row(|import| import.add_item(item, version))?;
        self.recheck(item.pet_id);
        Ok(())
    }

    /// Adds an order. The pet of an open order must exist. A complete order may outlive its pet; the pet's id is not
    /// reissued.
    pub fn order(&mut self, order: Order, version: Version) -> Result<(), ImportError> {
        let (pet, is_open) = (order.pet_id, !order.complete);
        self.add_row(|import| import.loader.order(OrderRecord { order, version }))?;
        if is_open {
            let open_orders = self.loader.open_orders_of(pet);
            self.tables.pets.update(pet, |record| record.open_orders = open_orders);
            self.recheck(pet);
        }
        Ok(())
    }

    /// Counts and adds a row.
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
        let found = slot(id).zip(self.tables.pets.read(pet_id, |record| record.pet.status));
        let Some((slot, status)) = found else {
            return Err(Contradiction::Orphan { kind: "inventory item", id, owner: "pet", missing: id });
        };
        if listed != status {
            return Err(Contradiction::OtherStatus { id: pet_id, listed, status });
        }
        if !self.items.insert(slot) {
            return Err(Contradiction::Twice { kind: "inventory item", id });
        }
        self.tables.pets.update(pet_id, |record| (record.stock, record.item_version) = (quantity, version));
        Ok(())
    }

    /// Records whether the pet of the last row is consistent now.
    fn recheck(&mut self, pet: PetId) {
        if !self.has_item(pet) {
            return;
        }
        if self.tables.pets.read(pet, PetRecord::is_sound) == Some(true) {
            self.inconsistent.remove(&pet);
        } else {
            self.inconsistent.insert(pet, self.row);
        }
    }

    fn has_item(&self, pet: PetId) -> bool {
        slot(pet.get()).is_some_and(|slot| self.items.contains(slot))
    }

    /// Checks that all pets are consistent.
    fn check_pets(&self) -> Result<(), ImportError> {
        let Some((&id, &row)) = self.inconsistent.iter().min_by_key(|(_, row)| **row) else { return Ok(()) };
        let unsound = self.tables.pets.read(id, check_sound).and_then(Result::err);
        let why = unsound.filter(|_| self.has_item(id)).unwrap_or(Contradiction::NoItem { id });
        Err(ImportError::Contradiction { row, why: why.to_string() })
    }

    /// Commits all rows if they are consistent, and none otherwise. Returns the categories that were renamed.
    pub fn finish(mut self) -> Result<Vec<Renamed>, ImportError> {
        self.check_pets()?;
        let renamed = self.rename();
        self.loader.count_pets();
        self.loader.index_names();
        let Some(block) = self.block.take() else { return Ok(renamed) };
        if let Some(mut committer) = block.committer {
            // From here on the committer decides: it makes the rows visible if the journal has them, and drops them
            // otherwise.
            committer.commit_import(self.before)?;
            return Ok(renamed);
        }
        self.tables.events.restart_next();
        self.tables.visibility.show();
        Ok(renamed)
    }
}

impl Drop for Import<'_> {
    fn drop(&mut self) {
        if self.block.is_some() {
            self.tables.clear_shop(self.before);
            self.tables.visibility.show();
        }
    }
}

impl std::fmt::Debug for Import<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Import").finish_non_exhaustive()
    }
}
