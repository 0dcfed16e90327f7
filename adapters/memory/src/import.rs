//! A bulk load into an empty store: all of it or nothing.
//!
//! Rows go into the store's own tables as they come, and no reader is shown any of them before the end: nothing is kept
//! twice, and the end is one step. Writes are refused meanwhile. With a journal, everything goes there last, in one
//! commit, once it is known that no row contradicts another one.

use parking_lot::{MutexGuard, RwLockWriteGuard};
use petstore_domain::{Category, CategoryRecord, Order, OrderRecord, Pet, PetId, PetRecord, Version};
use petstore_ports::{LastIds, StoreError};
use roaring::RoaringBitmap;

use crate::committer::{Committer, Step};
use crate::filling::{Contradiction, Filling};
use crate::slab::slot;
use crate::store::MemoryStore;
use crate::tables::Tables;

/// Why nothing was imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// There are categories, pets or orders already.
    #[error("the store is not empty")]
    NotEmpty,
    /// A row contradicts the rules of the shop, or another row.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    /// The store failed. If it says that the outcome is unknown, the journal will tell once it answers again: all of the
    /// import, or nothing, is there then.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A bulk load that is going on. Dropped before [`Import::finish`], it leaves nothing.
///
/// Rows come in this order: categories, pets, their inventory items, orders. Ids and versions are kept as they are; what
/// rows add up to, the open orders of a pet and the pets of a category, is counted. Every method blocks, the last one
/// for as long as the disk takes.
pub struct Import<'a> {
    tables: &'a Tables,
    filling: Filling<'a>,
    /// Pets that have their inventory item.
    items: RoaringBitmap,
    /// The last ids as they were before.
    before: LastIds,
    /// None once the end has been settled.
    hold: Option<Hold<'a>>,
}

/// Nobody else writes while this is held.
pub(crate) struct Hold<'a> {
    committer: Option<MutexGuard<'a, Committer>>,
    _writing: RwLockWriteGuard<'a, ()>,
}

impl MemoryStore {
    /// Refuses writes from now on, and waits until those that were taken are done.
    pub(crate) fn hold_writes_out(&self) -> Hold<'_> {
        let writing = self.writing.write();
        let mut committer = self.durable.as_ref().map(|durable| durable.committer.lock());
        if let Some(committer) = &mut committer {
            while committer.step() == Step::Worked {}
        }
        Hold { committer, _writing: writing }
    }

    /// Begins a bulk load into the store, which must have no category, pet or order. Until its end, writes are answered
    /// as busy and readers see the store as it was: empty.
    pub fn import(&self) -> Result<Import<'_>, ImportError> {
        let hold = self.hold_writes_out();
        hold.committer.as_ref().map_or(Ok(()), |committer| committer.queue.check())?;
        if !self.tables.shop_is_empty() {
            return Err(ImportError::NotEmpty);
        }
        let before = self.tables.last_ids();
        self.tables.hide_shop();
        Ok(Import {
            tables: &self.tables,
            filling: Filling::of(&self.tables),
            items: RoaringBitmap::new(),
            before,
            hold: Some(hold),
        })
    }
}

impl Import<'_> {
    /// Adds a category.
    pub fn category(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        Ok(self.filling.category(CategoryRecord { category, version, pets: 0 })?)
    }

    /// Adds a pet, whose inventory item follows.
    pub fn pet(&mut self, pet: Pet, version: Version) -> Result<(), ImportError> {
        let record = PetRecord { pet, version, stock: 0, item_version: Version::FIRST, open_orders: 0 };
        Ok(self.filling.pet(record)?)
    }

    /// Adds the inventory item of a pet.
    pub fn stock(&mut self, pet: PetId, units: u64, version: Version) -> Result<(), ImportError> {
        let id = pet.get();
        let Some(slot) = slot(id).filter(|_| self.tables.pets.holds(pet)) else {
            return Err(
                Contradiction::Orphan { kind: "inventory item", id, owner: "pet", missing: id }.into()
            );
        };
        if !self.items.insert(slot) {
            return Err(Contradiction::Twice { kind: "inventory item", id }.into());
        }
        self.tables.pets.update(pet, |record| (record.stock, record.item_version) = (units, version));
        Ok(())
    }

    /// Adds an order. An open one is for a pet that is there.
    pub fn order(&mut self, order: Order, version: Version) -> Result<(), ImportError> {
        Ok(self.filling.order(OrderRecord { order, version })?)
    }

    /// Keeps all that was added, if no row contradicts another one. On an error, nothing.
    pub fn finish(mut self) -> Result<(), ImportError> {
        self.tables.pets.each(|record| match slot(record.pet.id.get()) {
            Some(slot) if self.items.contains(slot) => Ok(()),
            _ => Err(Contradiction::NoItem { id: record.pet.id }),
        })?;
        self.filling.settle();
        self.filling.check()?;
        let Some(hold) = self.hold.take() else { return Ok(()) };
        if let Some(mut committer) = hold.committer {
            // From here on it is the committer who shows or drops what was added, as the disk has it.
            return Ok(committer.commit_import(self.before)?);
        }
        self.tables.show_shop();
        Ok(())
    }
}

impl Drop for Import<'_> {
    fn drop(&mut self) {
        if self.hold.is_some() {
            self.tables.clear_shop(self.before);
            self.tables.show_shop();
        }
    }
}

impl std::fmt::Debug for Import<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Import").finish_non_exhaustive()
    }
}
