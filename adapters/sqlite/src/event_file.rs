//! The events of a file that another process may use.

use std::ops::ControlFlow;
use std::path::Path;

use petstore_ports::{EventBatch, EventBatchReader, EventBounds, EventRange, StoreError};
use rusqlite::Connection;

use crate::error::unreadable;
use crate::event_reader::read_page;
use crate::{connection, crash_recovery, snapshot};

/// Reads the events of a data file, in use or at rest. Nothing in the file is changed, and between two pages no
/// transaction is open, so that the owner of the file is not held up.
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
        // Read only: dropping it is enough.
        let page = self.0.unchecked_transaction().map_err(|error| unreadable("snapshot", &error))?;
        read_page(&page, range, into)
    }
}
