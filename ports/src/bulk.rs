//! The whole shop in or out at once.

use std::ops::ControlFlow;

use petstore_domain::{Category, InventoryItem, Order, Pet, Renamed, Version};

use crate::{LastIds, Row, StoreError};

/// Moves the whole shop into an empty store, or out of one. For an operator: every method blocks, for as long as the disk
/// or the network takes, and belongs on a thread of its own.
pub trait Bulk: Send + Sync {
    /// Begins a bulk load into a store without a category, pet or order. Until it ends, readers see the store as it was:
    /// empty. Writes may be refused as busy meanwhile.
    ///
    /// # Errors
    /// [`ImportError::NotEmpty`] if there is anything in the shop, [`ImportError::Store`] if the store fails.
    fn import(&self) -> Result<Box<dyn BulkImport + '_>, ImportError>;

    /// Hands over every category, then every pet with its stock, then every order, each kind by id, until the sink breaks
    /// off; the sink knows why it did. All rows are of one moment.
    ///
    /// # Errors
    /// The store fails; rows that were handed over before are a part of the shop.
    fn export(&self, sink: &mut dyn FnMut(Row) -> ControlFlow<()>) -> Result<(), StoreError>;
}

/// A bulk load that is going on. Dropped before [`BulkImport::finish`], it leaves nothing.
///
/// Rows come in this order: categories, pets, their inventory items, orders. Ids and versions are kept as they are; what
/// rows add up to, the open orders of a pet and the pets of a category, is counted.
pub trait BulkImport {
    /// The last ids that the store has given, also to what is gone: rows that are new come after them.
    fn last_ids(&self) -> LastIds;

    /// Adds a category.
    ///
    /// # Errors
    /// Like the other methods that add: [`ImportError::Contradiction`] if the row does not go with those before it. Only
    /// this one: [`ImportError::Namesake`] if an earlier category has a name that reads the same.
    fn category(&mut self, category: Category, version: Version) -> Result<(), ImportError>;

    /// Adds a category, which is renamed at the end if one with a lower id has a name that reads the same, wherever among
    /// the categories that one comes.
    ///
    /// # Errors
    /// [`ImportError::Contradiction`] if the row does not go with those before it.
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

    /// Adds an order. An open one is for a pet that is there; a complete one may outlive its pet, whose id is not given
    /// again.
    ///
    /// # Errors
    /// See [`BulkImport::category`].
    fn order(&mut self, order: Order, version: Version) -> Result<(), ImportError>;

    /// Keeps all that was added, if no row contradicts another one. Returns the categories that were renamed.
    ///
    /// # Errors
    /// Nothing is kept, unless the error is a [`StoreErrorKind::Indeterminate`](crate::StoreErrorKind::Indeterminate)
    /// one: then all of it or nothing is.
    fn finish(self: Box<Self>) -> Result<Vec<Renamed>, ImportError>;
}

/// The reason why nothing was imported, or why it is not known if all of it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// There are categories, pets or orders already.
    #[error("the store is not empty")]
    NotEmpty,
    /// A row contradicts the rules of the shop, or another row.
    #[error("row {row} is refused: {why}")]
    Contradiction {
        /// The number of the row, the first of all being 1.
        row: u64,
        /// What is wrong with it.
        why: String,
    },
    /// A category has a name that reads the same as that of an earlier one. [`BulkImport::category_or_renamed`] accepts it.
    #[error("row {row} is refused: {why}")]
    Namesake {
        /// The number of the row, the first of all being 1.
        row: u64,
        /// The two categories.
        why: String,
    },
    /// The store failed. If it says that the outcome is unknown, all of the import or nothing is there once it answers
    /// again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ImportError {
    /// The error in one line, with everything that its sources say.
    pub fn report(&self) -> String {
        match self {
            Self::NotEmpty | Self::Contradiction { .. } | Self::Namesake { .. } => self.to_string(),
            Self::Store(error) => error.report(),
        }
    }
}
