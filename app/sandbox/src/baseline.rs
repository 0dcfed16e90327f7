//! The shop that a reset restores.

use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::RwLock;
use petstore_ports::api::Baseline;
use petstore_ports::{Bulk, Row, ShopText, ShopTextFault, StoreError};

/// The baseline of a sandbox over its store.
pub struct ShopBaseline {
    /// The baseline with which the sandbox was started.
    first: Arc<[Row]>,
    current: RwLock<Arc<[Row]>>,
    store: Arc<dyn Bulk>,
    text: Arc<dyn ShopText>,
}

impl ShopBaseline {
    /// Begins with this shop: categories, pets and orders, in this order. `store`: the store whose shop can be saved. `text`: the
    /// form in which a tester gives a shop.
    pub fn new(first: Arc<[Row]>, store: Arc<dyn Bulk>, text: Arc<dyn ShopText>) -> Self {
        Self { current: RwLock::new(Arc::clone(&first)), first, store, text }
    }

    fn set(&self, rows: Arc<[Row]>) -> Arc<[Row]> {
        let former = std::mem::replace(&mut *self.current.write(), Arc::clone(&rows));
        // The former rows are freed without the lock, because there may be many.
        drop(former);
        rows
    }
}

impl Baseline for ShopBaseline {
    fn rows(&self) -> Arc<[Row]> {
        Arc::clone(&self.current.read())
    }

    fn is_first(&self) -> bool {
        Arc::ptr_eq(&self.rows(), &self.first)
    }

    fn push_text(&self, row: &Row, out: &mut Vec<u8>) {
        self.text.push(row, out);
    }

    fn give(&self, text: &[u8]) -> Result<Arc<[Row]>, ShopTextFault> {
        Ok(self.set(self.text.read(text)?.into()))
    }

    fn save(&self) -> Result<Arc<[Row]>, StoreError> {
        let mut rows = vec![];
        self.store.export(&mut |row| {
            rows.push(row);
            ControlFlow::Continue(())
        })?;
        Ok(self.set(rows.into()))
    }

    fn discard(&self) {
        self.set(Arc::clone(&self.first));
    }
}
