//! Stores and readers that count what passes through them.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::Arc;

use petstore_domain::{Category, InventoryItem, Order, Pet, Renamed, Version};
use petstore_ports::{
    Bulk, BulkImport, ImportError, LastIds, Row, StoreError, WorkPhase, WorkProgress, WorkUnit,
};

/// A store that counts the rows of an import or an export.
pub(crate) struct CountedBulk<'s> {
    store: &'s dyn Bulk,
    progress: Arc<dyn WorkProgress>,
    phase: WorkPhase,
}

impl<'s> CountedBulk<'s> {
    /// `name`: the name of the phase. `total`: the number of rows, if it is known.
    pub(crate) fn new(
        store: &'s dyn Bulk,
        progress: Arc<dyn WorkProgress>,
        name: &'static str,
        total: Option<u64>,
    ) -> Self {
        Self { store, progress, phase: WorkPhase { name, unit: WorkUnit::Rows, total } }
    }
}

impl Bulk for CountedBulk<'_> {
    fn import(&self) -> Result<Box<dyn BulkImport + '_>, ImportError> {
        let mut import = self.store.import()?;
        import.watch(Arc::clone(&self.progress));
        self.progress.begin(self.phase);
        Ok(Box::new(CountedImport { import, progress: &*self.progress, rows: 0 }))
    }

    fn export(&self, sink: &mut dyn FnMut(Row) -> ControlFlow<()>) -> Result<(), StoreError> {
        self.progress.begin(self.phase);
        let mut rows = 0;
        let exported = self.store.export(&mut |row| {
            rows += 1;
            self.progress.reached(rows);
            sink(row)
        });
        self.progress.end();
        exported
    }
}

struct CountedImport<'s> {
    import: Box<dyn BulkImport + 's>,
    progress: &'s dyn WorkProgress,
    rows: u64,
}

impl CountedImport<'_> {
    fn count(&mut self) {
        self.rows += 1;
        self.progress.reached(self.rows);
    }
}

impl BulkImport for CountedImport<'_> {
    fn last_ids(&self) -> LastIds {
        self.import.last_ids()
    }

    fn category(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        self.count();
        self.import.category(category, version)
    }

    fn category_or_renamed(&mut self, category: Category, version: Version) -> Result<(), ImportError> {
        self.count();
        self.import.category_or_renamed(category, version)
    }

    fn pet(&mut self, pet: Pet, version: Version) -> Result<(), ImportError> {
        self.count();
        self.import.pet(pet, version)
    }

    fn item(&mut self, item: InventoryItem, version: Version) -> Result<(), ImportError> {
        self.count();
        self.import.item(item, version)
    }

    fn order(&mut self, order: Order, version: Version) -> Result<(), ImportError> {
        self.count();
        self.import.order(order, version)
    }

    fn watch(&mut self, progress: Arc<dyn WorkProgress>) {
        self.import.watch(progress);
    }

    fn finish(self: Box<Self>) -> Result<Vec<Renamed>, ImportError> {
        let finished = self.import.finish();
        self.progress.end();
        finished
    }
}

/// A reader that counts its bytes.
pub(crate) struct CountedReader<'p, R> {
    reader: R,
    progress: &'p dyn WorkProgress,
    bytes: u64,
}

impl<'p, R> CountedReader<'p, R> {
    /// Begins a phase with this name. `total`: the number of bytes, if it is known.
    pub(crate) fn new(
        reader: R,
        progress: &'p dyn WorkProgress,
        name: &'static str,
        total: Option<u64>,
    ) -> Self {
        progress.begin(WorkPhase { name, unit: WorkUnit::Bytes, total });
        Self { reader, progress, bytes: 0 }
    }
}

impl<R: Read> Read for CountedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes += read as u64;
        self.progress.reached(self.bytes);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::sink;

    use petstore_memory::MemoryStore;
    use petstore_sandbox::fill_with_demo;

    use super::*;
    use crate::progress::recorded::RecordedPhases;

    #[test]
    fn the_rows_of_an_import_and_of_an_export_are_counted() {
        let (store, phases) = (MemoryStore::new(), Arc::new(RecordedPhases::default()));
        let counted = |name, total| CountedBulk::new(&store, Arc::clone(&phases) as _, name, total);
        assert!(fill_with_demo(&counted("filling", Some(30)), 10).unwrap());
        counted("exporting", None).export(&mut |_| ControlFlow::Continue(())).unwrap();
        let rows = |name, total| WorkPhase { name, unit: WorkUnit::Rows, total };
        // A pet and its stock are two rows of an import, and one of an export.
        assert_eq!(phases.take(), [(rows("filling", Some(30)), 30), (rows("exporting", None), 20)]);
    }

    #[test]
    fn the_bytes_of_a_reader_are_counted() {
        let phases = RecordedPhases::default();
        let bytes = vec![b'x'; 100_000];
        io::copy(&mut CountedReader::new(&bytes[..], &phases, "reading", Some(100_000)), &mut sink())
            .unwrap();
        let phase = WorkPhase { name: "reading", unit: WorkUnit::Bytes, total: Some(100_000) };
        assert_eq!(phases.take(), [(phase, 100_000)]);
    }
}
