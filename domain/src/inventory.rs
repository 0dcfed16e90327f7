//! The inventory: one item for each pet. An item is created and deleted with its pet.

mod operations;

pub use operations::{AdjustStock, AdjustStockRejection, SetStock, SetStockRejection};

use crate::members::members;
use crate::{PetId, PetStatus, RangeError};

/// The stock of one pet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InventoryItem {
    /// The pet that it tracks.
    pub pet_id: PetId,
    /// Free units. A cancelled order or an import may raise them above [`StockLevel::MAX`].
    pub quantity: u64,
    /// The pet's status.
    pub status: PetStatus,
}

members! {
    InventoryItem {
        pet_id: PetId = "petId", fixed;
        quantity: u64 = "quantity";
        status: PetStatus = "status";
    }
}

/// A stock that a request sets: 0 to [`StockLevel::MAX`] units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StockLevel(u32);

impl StockLevel {
    /// The maximum number of units that a request may set, or raise the stock to.
    pub const MAX: u32 = 1_000_000;

    /// Takes a number from 0 to [`StockLevel::MAX`].
    pub fn new(units: i64) -> Result<Self, RangeError> {
        RangeError::check(units, 0, i64::from(Self::MAX)).map(Self)
    }

    /// The number of units.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A change of the stock: not 0, at most [`StockLevel::MAX`] units either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockDelta(i64);

impl StockDelta {
    /// Takes a number from -[`StockLevel::MAX`] to [`StockLevel::MAX`] that is not 0.
    pub fn new(units: i64) -> Result<Self, RangeError> {
        let max = i64::from(StockLevel::MAX);
        if units == 0 || !(-max..=max).contains(&units) {
            return Err(RangeError { min: -max, max, but_not_zero: true });
        }
        Ok(Self(units))
    }

    /// The number of units, negative when they are taken out.
    pub const fn get(self) -> i64 {
        self.0
    }
}
