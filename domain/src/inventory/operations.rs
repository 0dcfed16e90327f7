//! Setting and adjusting the stock of a pet.

use super::{InventoryItem, StockDelta, StockLevel};
use crate::record::{Change, RecordRef, View};
use crate::state::{Changes, Footprint};
use crate::{Operation, PetId, PetRecord, Precondition, PreconditionError, Versioned};

/// Sets the stock of a pet.
#[derive(Debug, Clone)]
pub struct SetStock {
    /// The pet whose units are counted.
    pub id: PetId,
    /// The units that are free from now on.
    pub level: StockLevel,
    /// The caller's condition on the inventory item's version.
    pub precondition: Precondition,
}

/// The reason why the stock was not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SetStockRejection {
    /// There is no such pet.
    #[error("there is no such inventory item")]
    NotFound,
    /// The precondition does not hold.
    #[error(transparent)]
    Precondition(#[from] PreconditionError),
}

impl Operation for SetStock {
    type Output = Versioned<InventoryItem>;
    type Rejection = SetStockRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::Pet(self.id)])
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let before = view.pet(self.id).ok_or(SetStockRejection::NotFound)?;
        self.precondition.check(before.item_version)?;
        let mut after = before.clone();
        after.set_stock(self.level);
        Ok(changed(before, after))
    }
}

/// Puts units into the stock of a pet, or takes them out.
#[derive(Debug, Clone)]
pub struct AdjustStock {
    /// The pet whose units are counted.
    pub id: PetId,
    /// The change in units.
    pub delta: StockDelta,
}

/// The reason why the stock was not adjusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AdjustStockRejection {
    /// There is no such pet.
    #[error("there is no such inventory item")]
    NotFound,
    /// The stock has fewer free units than the request removes.
    #[error("units left: {left}")]
    InsufficientStock {
        /// The units that no open order holds.
        left: u64,
    },
    /// The stock would rise above [`StockLevel::MAX`].
    #[error("the stock is {stock} and can be raised to at most {max}", max = StockLevel::MAX)]
    AboveMaximum {
        /// The units that no open order holds.
        stock: u64,
    },
}

impl Operation for AdjustStock {
    type Output = Versioned<InventoryItem>;
    type Rejection = AdjustStockRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::Pet(self.id)])
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let before = view.pet(self.id).ok_or(AdjustStockRejection::NotFound)?;
        let stock = before
            .stock
            .checked_add_signed(self.delta.get())
            .ok_or(AdjustStockRejection::InsufficientStock { left: before.stock })?;
        // Only an increase is bounded: a stock that cancelled orders have raised above the maximum may be reduced in
        // steps.
        if self.delta.get() > 0 && stock > u64::from(StockLevel::MAX) {
            return Err(AdjustStockRejection::AboveMaximum { stock: before.stock });
        }
        let mut after = before.clone();
        after.restock(stock);
        Ok(changed(before, after))
    }
}

/// Returns the change that replaces `before` by `after`, or no change if they are equal. Also returns the item that the
/// caller sees.
fn changed(before: &PetRecord, after: PetRecord) -> (Changes, Versioned<InventoryItem>) {
    let after = before.succeeded_by(after);
    let output = after.versioned_item();
    if after == *before {
        return (Changes::none(), output);
    }
    (Changes::from([Change::Pet(after)]), output)
}
