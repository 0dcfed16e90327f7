//! Export of the shop.

use petstore_ports::Row;

use crate::store::MemoryStore;

impl MemoryStore {
    /// Passes all rows to the sink: first the categories, then the pets with their stock, then the orders, each kind in
    /// the order of the ids. Ends early if the sink returns an error.
    ///
    /// All rows show the shop at one moment, because writes are refused as busy until the end. Nothing is copied, so
    /// that even a store that fills half of the memory can be exported. Reads continue. A slow sink blocks writes for a
    /// long time, so the sink should write to a file and not to a peer. While the outcome of an import is unknown the
    /// export has no rows, because readers see none. Blocks.
    pub fn export<E>(&self, sink: impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let _block = self.block_writes();
        if self.tables.visibility.is_hidden() {
            return Ok(());
        }
        self.tables.rows().try_for_each(sink)
    }
}
