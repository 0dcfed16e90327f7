//! A walk over everything, as of one moment.

use petstore_ports::Row;

use crate::store::MemoryStore;

impl MemoryStore {
    /// Hands over every category, then every pet with its stock, then every order, each kind by id, until one is refused.
    ///
    /// All rows are of one moment, since writes are refused as busy until the walk is over: nothing is copied, so that a
    /// store that fills half of the memory can be exported. Reads go on. A sink that is slow keeps writers waiting:
    /// write to a file, not to a peer. While nobody knows whether an import is on disk there is nothing, as readers see
    /// it. Blocks.
    pub fn export<E>(&self, sink: impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let _hold = self.block_writes();
        if self.tables.visibility.is_hidden() {
            return Ok(());
        }
        self.tables.rows().try_for_each(sink)
    }
}
