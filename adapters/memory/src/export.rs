//! Export of the shop.

use petstore_ports::Row;

use crate::store::MemoryStore;

impl MemoryStore {
    /// Passes every category, then every pet with its stock, then every order, each kind by id, to the sink until it
    /// refuses a row.
    ///
    /// All rows show the shop at one moment, because writes are refused as busy until the end. Nothing is copied, so
    /// that a store that fills half of the memory can be exported. Reads go on. Writers wait for a slow sink, so it
    /// should write to a file and not to a peer. While the outcome of an import is unknown the export has no rows,
    /// because readers see none. Blocks.
    pub fn export<E>(&self, sink: impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let _block = self.block_writes();
        if self.tables.visibility.is_hidden() {
            return Ok(());
        }
        self.tables.rows().try_for_each(sink)
    }
}
