//! The port of bulk loads and exports.

use std::ops::ControlFlow;

use petstore_domain::{Category, InventoryItem, Order, Pet, Renamed, Version};
use petstore_ports::{Bulk, BulkImport, ImportError, LastIds, Row, StoreError};

use crate::import::Import;
use crate::store::MemoryStore;

impl Bulk for MemoryStore {
    fn import(&self) -> Result<Box<dyn BulkImport + '_>, ImportError> {
        let import = Self::import(self)?;
        Ok(Box::new(import))
    }

    fn export(&self, sink: &mut dyn FnMut(Row) -> ControlFlow<()>) -> Result<(), StoreError> {
        // The sink knows why it stopped the export, so the error of the export contains no reason.
        let _: Result<(), ()> = Self::export(self, |row| match sink(row) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(()),
        });
        Ok(())
    }
}

impl BulkImport for Import<'_> {
    fn last_ids(&self) -> LastIds {
        Self::last_ids(self)
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
