//! A bulk load into an empty store: all of it or nothing.
//!
//! Rows go into the store's own tables as they come, and no reader is shown any of them before the end: nothing is kept
//! twice, and the end is one step. Writes are refused meanwhile. With a journal, everything goes there last, in one
//! commit, once it is known that no row contradicts another one.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::time::Duration;

use foldhash::fast::RandomState;
use parking_lot::{MutexGuard, RwLockWriteGuard};
use petstore_domain::{
    Category, CategoryId, CategoryName, CategoryRecord, InventoryItem, Namesakes, Order, OrderRecord, Pet,
    PetId, PetRecord, Renamed, Version,
};
use petstore_ports::{Bulk, BulkImport, ImportError, LastIds, Row, StoreError};
use roaring::RoaringBitmap;

use crate::bulk_loader::{BulkLoader, Contradiction, check_sound};
use crate::committer::{Committer, Step};
use crate::slab::slot;
use crate::store::{MemoryStore, writes_blocked};
use crate::tables::Tables;

/// How long a reset waits for an import or an export to end: requests wait for it meanwhile.
pub(crate) const HOLD_TIME: Duration = Duration::from_secs(1);

/// A bulk load that is going on. Dropped before [`Import::finish`], it leaves nothing.
///
/// Rows come in this order: categories, pets, their inventory items, orders. Ids and versions are kept as they are; what
/// rows add up to, the open orders of a pet and the pets of a category, is counted. Every method blocks, the last one
/// for as long as the disk takes.
pub struct Import<'a> {
    tables: &'a Tables,
    loader: BulkLoader<'a>,
    /// The number of the row that came last.
    row: u64,
    /// Pets that have their inventory item.
    items: RoaringBitmap,
    /// Pets that cannot stay as they are, and the row that is at fault if nothing follows: a few at a time where each pet
    /// comes with what belongs to it.
    unsettled: HashMap<PetId, u64, RandomState>,
    /// The last ids as they were before.
    before: LastIds,
    /// Categories that came with a name that another one had, where such are renamed: they have no name of their own before
    /// the end.
    namesakes: BTreeMap<CategoryId, CategoryName>,
    /// None once the end has been settled.
    hold: Option<WriteBlock<'a>>,
}

/// Nobody else writes while this is held.
pub(crate) struct WriteBlock<'a> {
    pub(crate) committer: Option<MutexGuard<'a, Committer>>,
    _writing: RwLockWriteGuard<'a, ()>,
}

impl<'a> WriteBlock<'a> {
    /// Does what waits; nothing comes after it.
    fn of(writing: RwLockWriteGuard<'a, ()>, mut committer: Option<MutexGuard<'a, Committer>>) -> Self {
        if let Some(committer) = &mut committer {
            while committer.guarded(|committer| Ok(committer.step())) == Ok(Step::Worked) {}
        }
        Self { committer, _writing: writing }
    }
}

impl MemoryStore {
    /// Refuses writes from now on, and waits until those that were taken are done.
    pub(crate) fn block_writes(&self) -> WriteBlock<'_> {
        let writing = self.writing.write();
        WriteBlock::of(writing, self.durable.as_ref().map(|durable| durable.committer.lock()))
    }

    /// The same for whom others wait meanwhile: it is told as busy while somebody else holds writes out.
    pub(crate) fn try_block_writes(&self) -> Result<WriteBlock<'_>, StoreError> {
        let writing = self.writing.try_write_for(HOLD_TIME).ok_or_else(writes_blocked)?;
        let committer = self.durable.as_ref().map(|durable| durable.committer.try_lock_for(HOLD_TIME));
        let busy = || StoreError::busy("the journal does not come to an end with its last write");
        Ok(WriteBlock::of(writing, committer.map(|lock| lock.ok_or_else(busy)).transpose()?))
    }

    /// Begins a bulk load into the store, which must have no category, pet or order. Until its end, writes are answered
    /// as busy and readers see the store as it was: empty.
    pub fn import(&self) -> Result<Import<'_>, ImportError> {
        let hold = self.block_writes();
        hold.committer.as_ref().map_or(Ok(()), |committer| committer.queue.check())?;
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
            unsettled: HashMap::default(),
            namesakes: BTreeMap::new(),
            before,
            hold: Some(hold),
        })
    }
}

impl Import<'_> {
    /// The last ids that the store has given, also to what is gone: rows that are nobody's yet come after them.
    pub fn last_ids(&self) -> LastIds {
        self.before
    }

    /// Adds a category.
    pub fn category(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        self.take(|import| import.loader.category(CategoryRecord { category, version, pets: 0 }))
    }

    /// Adds a category, which is renamed at the end if an older one has a name that reads the same.
    pub fn category_or_renamed(
        &mut self,
        mut category: Category,
        version: Version,
    ) -> Result<(), ImportError> {
        if self.tables.categories.named(&category.name.folded()).is_some() {
            // A later category with this very name collides too, and all names are settled at the end.
            let stand_in = self.stand_in(&mut Namesakes::default(), category.id);
            let name = std::mem::replace(&mut category.name, stand_in);
            self.namesakes.insert(category.id, name);
        }
        self.category(category, version)
    }

    /// A name that no category has.
    fn stand_in(&self, made: &mut Namesakes, id: CategoryId) -> CategoryName {
        loop {
            let name = CategoryName::parse(&format!("category {id}")).expect("short and printable");
            let name = made.add_made(id, name);
            if self.tables.categories.named(&name.folded()).is_none() {
                return name;
            }
        }
    }

    /// Gives each category the name that it came with, or one made of it if an older one has that.
    fn rename(&mut self) -> Vec<Renamed> {
        if self.namesakes.is_empty() {
            return Vec::new();
        }
        let mut names = Namesakes::default();
        for CategoryRecord { category, .. } in self.tables.categories.all() {
            let came_with = self.namesakes.get(&category.id).cloned();
            names.add(category.id, came_with.unwrap_or(category.name));
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

    /// Adds a pet, whose inventory item follows.
    pub fn pet(&mut self, pet: Pet, version: Version) -> Result<(), ImportError> {
        let id = pet.id;
        let record = PetRecord { pet, version, stock: 0, item_version: Version::FIRST, open_orders: 0 };
        self.take(|import| import.loader.pet(record))?;
        self.unsettled.insert(id, self.row);
        Ok(())
    }

    /// Adds the inventory item of a pet.
    pub fn item(&mut self, item: InventoryItem, version: Version) -> Result<(), ImportError> {
        self.take(|import| import.add_item(item, version))?;
        self.weigh(item.pet_id);
        Ok(())
    }

    /// Adds an order. An open one is for a pet that is there; a complete one may outlive its pet, whose id is not given
    /// again.
    pub fn order(&mut self, order: Order, version: Version) -> Result<(), ImportError> {
        let (pet, is_open) = (order.pet_id, !order.complete);
        self.take(|import| import.loader.order(OrderRecord { order, version }))?;
        if is_open {
            let open_orders = self.loader.open_orders_of(pet);
            self.tables.pets.update(pet, |record| record.open_orders = open_orders);
            self.weigh(pet);
        }
        Ok(())
    }

    /// Takes the next row.
    fn take(&mut self, add: impl FnOnce(&mut Self) -> Result<(), Contradiction>) -> Result<(), ImportError> {
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
        let InventoryItem { pet_id, quantity, status: shown } = item;
        let id = pet_id.get();
        let found = slot(id).zip(self.tables.pets.read(pet_id, |record| record.pet.status));
        let Some((slot, status)) = found else {
            return Err(Contradiction::Orphan { kind: "inventory item", id, owner: "pet", missing: id });
        };
        if shown != status {
            return Err(Contradiction::OtherStatus { id: pet_id, shown, status });
        }
        if !self.items.insert(slot) {
            return Err(Contradiction::Twice { kind: "inventory item", id });
        }
        self.tables.pets.update(pet_id, |record| (record.stock, record.item_version) = (quantity, version));
        Ok(())
    }

    /// Looks at a pet to which the last row belongs: is it well now, or is that row at fault unless another one follows?
    fn weigh(&mut self, pet: PetId) {
        if !self.has_item(pet) {
            return;
        }
        if self.tables.pets.read(pet, PetRecord::is_sound) == Some(true) {
            self.unsettled.remove(&pet);
        } else {
            self.unsettled.insert(pet, self.row);
        }
    }

    fn has_item(&self, pet: PetId) -> bool {
        slot(pet.get()).is_some_and(|slot| self.items.contains(slot))
    }

    /// Whether each pet has what belongs to it.
    fn check_settled(&self) -> Result<(), ImportError> {
        let Some((&id, &row)) = self.unsettled.iter().min_by_key(|(_, row)| **row) else { return Ok(()) };
        let unsound = self.tables.pets.read(id, check_sound).and_then(Result::err);
        let why = unsound.filter(|_| self.has_item(id)).unwrap_or(Contradiction::NoItem { id });
        Err(ImportError::Contradiction { row, why: why.to_string() })
    }

    /// Keeps all that was added, if no row contradicts another one. On an error, nothing. Says which categories were
    /// renamed.
    pub fn finish(mut self) -> Result<Vec<Renamed>, ImportError> {
        self.check_settled()?;
        let renamed = self.rename();
        self.loader.count_pets();
        self.loader.index_names();
        let Some(hold) = self.hold.take() else { return Ok(renamed) };
        if let Some(mut committer) = hold.committer {
            // From here on it is the committer who shows or drops what was added, as the disk has it.
            committer.commit_import(self.before)?;
            return Ok(renamed);
        }
        self.tables.visibility.show();
        Ok(renamed)
    }
}

impl Bulk for MemoryStore {
    fn import(&self) -> Result<Box<dyn BulkImport + '_>, ImportError> {
        let import = Self::import(self)?;
        Ok(Box::new(import))
    }

    fn export(&self, sink: &mut dyn FnMut(Row) -> ControlFlow<()>) -> Result<(), StoreError> {
        // The sink knows why it broke off.
        let _: Result<(), ()> = Self::export(self, |row| match sink(row) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(()),
        });
        Ok(())
    }
}

impl BulkImport for Import<'_> {
    fn last_ids(&self) -> LastIds {
        self.before
    }

    fn category(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        Self::category(self, category, version)
    }

    fn category_or_renamed(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        Self::category_or_renamed(self, category, version)
    }

    fn pet(&mut self, pet: Pet, version: Version) -> Result<(), ImportError> {
        Self::pet(self, pet, version)
    }

    fn item(&mut self, item: InventoryItem, version: Version) -> Result<(), ImportError> {
        Self::item(self, item, version)
    }

    fn order(&mut self, order: Order, version: Version) -> Result<(), ImportError> {
        Self::order(self, order, version)
    }

    fn finish(self: Box<Self>) -> Result<Vec<Renamed>, ImportError> {
        Self::finish(*self)
    }
}

impl Drop for Import<'_> {
    fn drop(&mut self) {
        if self.hold.is_some() {
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
