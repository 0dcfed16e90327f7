//! A bulk load into an empty store: all rows or none.
//!
//! Rows are written directly into the store's tables. The tables are hidden during the import, so all rows become
//! visible in one step, and no row is stored twice. Writes are refused during the import. With a journal, all rows are
//! written to the journal in one commit, after they were checked against each other.

use petstore_bulk_checks::ImportChecks;
use petstore_domain::{Category, InventoryItem, Order, Pet, Renamed, Version};
use petstore_ports::{ImportError, LastIds};

use crate::bulk_loader::LoadingTables;
use crate::store::MemoryStore;
use crate::tables::Tables;
use crate::write_block::WriteBlock;

/// A bulk load in progress. Dropping it before [`Import::finish`] removes all of its rows.
///
/// Rows come in this order: categories, pets, their inventory items, orders. Ids and versions are kept. The open orders
/// of a pet and the pets of a category are counted from the rows. Every method blocks. [`Import::finish`] blocks until
/// the disk has all rows.
pub struct Import<'a> {
    tables: &'a Tables,
    checks: ImportChecks<LoadingTables<'a>>,
    /// The last ids issued before the import.
    before: LastIds,
    /// The exclusion of other writes; none once the import was committed, or once only the committer decides if the
    /// import becomes visible.
    block: Option<WriteBlock<'a>>,
}

impl MemoryStore {
    /// Begins a bulk load into the store, which must have no category, pet or order. Until the end of the import,
    /// writes are refused as busy, and readers find an empty shop.
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
            checks: ImportChecks::new(LoadingTables::of(&self.tables)),
            before,
            block: Some(block),
        })
    }
}

impl Import<'_> {
    /// The last ids that the store has issued, including those of deleted records. A new row needs a higher id than the
    /// last one of its kind.
    pub fn last_ids(&self) -> LastIds {
        self.before
    }

    /// Adds a category with its version, which the next change of it continues.
    pub fn category(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        self.checks.category(category, version)
    }

    /// Adds a category. If an older category has an equivalent name, this category is renamed at the end of the import.
    pub fn category_or_renamed(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        self.checks.category_or_renamed(category, version)
    }

    /// Adds a pet. Its inventory item must follow.
    pub fn pet(&mut self, pet: Pet, version: Version) -> Result<(), ImportError> {
        self.checks.pet(pet, version)
    }

    /// Adds the inventory item of a pet.
    pub fn item(&mut self, item: InventoryItem, version: Version) -> Result<(), ImportError> {
        self.checks.item(item, version)
    }

    /// Adds an order. The pet of an open order must exist. A complete order may outlive its pet; the pet's id is not
    /// reissued.
    pub fn order(&mut self, order: Order, version: Version) -> Result<(), ImportError> {
        self.checks.order(order, version)
    }

    /// Commits all rows if they are consistent, and none otherwise. Returns the categories that were renamed.
    pub fn finish(mut self) -> Result<Vec<Renamed>, ImportError> {
        let renamed = self.checks.finish()?;
        self.checks.tables_mut().index_names();
        let Some(block) = self.block.take() else { return Ok(renamed) };
        if let Some(mut committer) = block.committer {
            // From here on only the committer decides about the rows. It makes them visible if the journal has them,
            // and drops them otherwise.
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
