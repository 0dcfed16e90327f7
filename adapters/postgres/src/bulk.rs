//! Imports, exports and resets of the whole shop. Their calls block, and wait for work on the store's own thread.

mod export;
mod gate;
mod import;
mod inserts;
mod log_restart;
mod reset;
mod sequences;
mod staged;

use std::ops::ControlFlow;
use std::sync::Arc;

use petstore_domain::{KeyId, Timestamp};
use petstore_ports::{Bulk, BulkImport, ImportError, Resettable, Row, StoreError};

use crate::PostgresStore;

impl Bulk for PostgresStore {
    fn import(&self) -> Result<Box<dyn BulkImport + '_>, ImportError> {
        let import = import::Import::begin(self)?;
        Ok(Box::new(import))
    }

    fn export(&self, sink: &mut dyn FnMut(Row) -> ControlFlow<()>) -> Result<(), StoreError> {
        export::export(self, sink)
    }
}

impl Resettable for PostgresStore {
    fn reset(&self, shop: Arc<[Row]>, epoch: u64) -> Result<(), StoreError> {
        self.reset_with_bans(&shop, epoch, Vec::new())
    }

    fn forget_usage(&self) -> Result<(), StoreError> {
        self.forget_usage_with_bans(Vec::new())
    }
}

impl PostgresStore {
    /// Resets the shop like [`Resettable::reset`]. `begun`: bans that were begun elsewhere and that are not recorded here yet,
    /// each by its start. They are void afterwards.
    ///
    /// # Errors
    /// The errors of [`Resettable::reset`].
    pub fn reset_with_bans(
        &self,
        shop: &[Row],
        epoch: u64,
        begun: Vec<(KeyId, Timestamp)>,
    ) -> Result<(), StoreError> {
        reset::reset(self, shop, epoch, begun)
    }

    /// Forgets bans like [`Resettable::forget_usage`]. `begun`: as for [`PostgresStore::reset_with_bans`].
    ///
    /// # Errors
    /// The errors of [`Resettable::forget_usage`].
    pub fn forget_usage_with_bans(&self, begun: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        reset::forget_bans(self, begun)
    }
}

#[cfg(test)]
mod tests;
