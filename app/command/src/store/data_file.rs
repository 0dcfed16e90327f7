//! The data file of an open store.

use std::fs::File;
use std::path::PathBuf;

use petstore_ports::{Header, Row, StoreError};
use petstore_sqlite::{Copied, OpenFiles, copy_of};

/// The data file of an open store. Commands read the file while the store is open.
pub(crate) struct DataFile<'b>(&'b OpenFiles);

impl<'b> DataFile<'b> {
    pub(super) fn new(files: &'b OpenFiles) -> Self {
        Self(files)
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().to_path_buf()
    }

    /// Returns an error if the file has a permanent fault.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.0.check()
    }

    /// Reads all rows as of one moment.
    pub(crate) fn read_snapshot(
        &self,
        into: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<Header, StoreError> {
        self.0.read_snapshot(into)
    }

    /// Creates another data file with these rows in the same folder, and returns it open. The new file's name is
    /// already removed from the folder.
    pub(crate) fn copy_of(
        &self,
        header: &Header,
        rows: impl Iterator<Item = Row>,
    ) -> Result<(File, Copied), StoreError> {
        copy_of(self.0.path(), header, rows)
    }
}
