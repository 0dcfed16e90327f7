//! Import and export of the whole shop.

use std::ops::ControlFlow;
use std::sync::Arc;

use petstore_domain::{Category, InventoryItem, Order, Pet, Renamed, Version};

use crate::{LastIds, Row, StoreError, WorkProgress};

/// Imports the whole shop into an empty store, or exports it. For an operator: every method blocks for as long as the disk or
/// the network takes, so call it on a separate thread.
///
/// A store that can be exported. It gets its rows when it is created, so it refuses every import:
///
/// ```
/// use std::ops::ControlFlow;
/// use petstore_ports::{Bulk, BulkImport, ImportError, Row, StoreError};
///
/// /// Categories, pets and orders, each by id.
/// struct FixedShop(Vec<Row>);
///
/// impl Bulk for FixedShop {
///     fn import(&self) -> Result<Box<dyn BulkImport + '_>, ImportError> {
///         Err(ImportError::NotEmpty)
///     }
///
///     fn export(&self, sink: &mut dyn FnMut(Row) -> ControlFlow<()>) -> Result<(), StoreError> {
///         // The sink may end the export early, which is not an error.
///         let _ = self.0.iter().cloned().try_for_each(sink);
///         Ok(())
///     }
/// }
/// ```
pub trait Bulk: Send + Sync {
    /// Begins a bulk load into a store without a category, pet or order. Until the load ends, readers see an empty
    /// shop, and writes may be refused as busy.
    ///
    /// # Errors
    /// [`ImportError::NotEmpty`] if the shop is not empty, [`ImportError::Store`] if the store fails.
    fn import(&self) -> Result<Box<dyn BulkImport + '_>, ImportError>;

    /// Passes every category, then every pet with its stock, then every order to the sink, each kind by id, until the
    /// sink returns `Break`. All rows show the store at one moment.
    ///
    /// # Errors
    /// Any error of the store. The rows that were passed before it are only a part of the shop.
    fn export(&self, sink: &mut dyn FnMut(Row) -> ControlFlow<()>) -> Result<(), StoreError>;
}

/// A bulk load in progress. If it is dropped before [`BulkImport::finish`], nothing was imported.
///
/// Rows come in this order: categories, pets, their inventory items, orders. Ids and versions are stored unchanged. The store
/// counts the open orders of a pet and the pets of a category itself.
pub trait BulkImport {
    /// The last ids that the store has issued, including those of deleted records. A new row needs a higher id than
    /// the last one of its kind.
    fn last_ids(&self) -> LastIds;

    /// Adds a category.
    ///
    /// # Errors
    /// [`ImportError::Contradiction`] if the row contradicts an earlier one, as for the other methods that add a row.
    /// [`ImportError::Namesake`] if an earlier category has a name that compares as equal.
    fn category(&mut self, category: Category, version: Version) -> Result<(), ImportError>;

    /// Adds a category. It is renamed at the end if a category with a lower id, added before or after it, has a name that
    /// compares as equal.
    ///
    /// # Errors
    /// [`ImportError::Contradiction`] if the row contradicts an earlier one.
    fn category_or_renamed(&mut self, category: Category, version: Version) -> Result<(), ImportError>;

    /// Adds a pet, whose inventory item follows.
    ///
    /// # Errors
    /// See [`BulkImport::category`].
    fn pet(&mut self, pet: Pet, version: Version) -> Result<(), ImportError>;

    /// Adds the inventory item of a pet.
    ///
    /// # Errors
    /// See [`BulkImport::category`].
    fn item(&mut self, item: InventoryItem, version: Version) -> Result<(), ImportError>;

    /// Adds an order. The pet of an open order must exist. A complete order may outlive its pet, whose id is not issued again.
    ///
    /// # Errors
    /// See [`BulkImport::category`].
    fn order(&mut self, order: Order, version: Version) -> Result<(), ImportError>;

    /// Reports to `progress` how far [`BulkImport::finish`] is. A store whose last step is short may ignore the call, as this
    /// method does.
    fn watch(&mut self, _progress: Arc<dyn WorkProgress>) {}

    /// Stores all rows if none contradicts another one. Returns the categories that were renamed.
    ///
    /// # Errors
    /// Nothing was stored, except that after [`StoreErrorKind::Indeterminate`](crate::StoreErrorKind::Indeterminate) all rows
    /// or none are stored.
    fn finish(self: Box<Self>) -> Result<Vec<Renamed>, ImportError>;
}

/// The reason why an import failed, or why its outcome is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The store has categories, pets or orders already.
    #[error("the store is not empty")]
    NotEmpty,
    /// A row contradicts the rules of the shop, or another row.
    #[error("row {row} is refused: {why}")]
    Contradiction {
        /// The number of the row. The first row of the import has number 1.
        row: u64,
        /// The contradiction.
        why: String,
    },
    /// A category has a name that compares as equal to that of an earlier one. [`BulkImport::category_or_renamed`] accepts it.
    #[error("row {row} is refused: {why}")]
    Namesake {
        /// The number of the row. The first row of the import has number 1.
        row: u64,
        /// The two categories.
        why: String,
    },
    /// The store failed. If its error is indeterminate, either all rows are stored or none; this is known once the
    /// store answers again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ImportError {
    /// The error in one line, with all of its sources.
    pub fn report(&self) -> String {
        match self {
            Self::NotEmpty | Self::Contradiction { .. } | Self::Namesake { .. } => self.to_string(),
            Self::Store(error) => error.report(),
        }
    }
}
