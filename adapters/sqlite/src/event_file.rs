//! The events of a data file that another process may have open.

use std::ops::ControlFlow;
use std::path::Path;

use petstore_ports::{EventBatch, EventBatchReader, EventBounds, EventRange, StoreError};
use rusqlite::Connection;

use crate::error::unreadable;
use crate::event_reader::read_page;
use crate::{connection, crash_recovery, snapshot};

/// Reads the events of a data file, even if a server uses the file. The reader changes nothing in the file. It has no
/// transaction open between two pages, so that the server can restart the write-ahead log in the meantime.
#[derive(Debug)]
pub struct EventFile(Connection);

impl EventFile {
    /// Opens a data file.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let path = snapshot::absolute(path)?;
        snapshot::check(&path)?;
        crash_recovery::check_at_rest(&path)?;
        Ok(Self(connection::reader(&path)?))
    }
}

impl EventBatchReader for EventFile {
    fn read(
        &mut self,
        range: &EventRange,
        into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
    ) -> Result<EventBounds, StoreError> {
        // The transaction only reads, so it is dropped without a commit.
        let page = self.0.unchecked_transaction().map_err(|error| unreadable("snapshot", &error))?;
        read_page(&page, range, into)
    }
}
