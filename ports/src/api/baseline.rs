//! The baseline of a sandbox, as a driving port.

use std::sync::Arc;

use crate::{Row, ShopTextFault, StoreError};

/// The baseline of a sandbox: the shop that a reset restores. It is prepared when it changes, so that each reset is quick. It is
/// kept in memory only, so another node of the same database has one of its own, and so has the same sandbox after a restart.
///
/// No method changes the present shop.
pub trait Baseline: Send + Sync {
    /// The rows of the baseline: categories, pets and orders, in this order.
    fn rows(&self) -> Arc<[Row]>;

    /// Returns whether the baseline is that with which the sandbox was started.
    fn is_first(&self) -> bool;

    /// Adds the text of a row, as [`Baseline::give`] takes it.
    fn push_text(&self, row: &Row, out: &mut Vec<u8>);

    /// Makes the shop in a text the baseline, and returns its rows. Blocks.
    ///
    /// # Errors
    /// The text has a fault, or its parts contradict each other. Then nothing has changed.
    fn give(&self, text: &[u8]) -> Result<Arc<[Row]>, ShopTextFault>;

    /// Makes the present shop the baseline, and returns its rows. The caller must make sure that no other call uses the store meanwhile. Blocks.
    ///
    /// # Errors
    /// Any error of the store. Then nothing has changed.
    fn save(&self) -> Result<Arc<[Row]>, StoreError>;

    /// Returns to the baseline with which the sandbox was started.
    fn discard(&self);
}
