//! The files of an open journal, shared by the writer and by the threads that read or check them.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use petstore_ports::{BatchNumber, Header, Row, StoreError};
use rusqlite::Connection;

use crate::data_file::DataFile;
use crate::error::unreadable;
use crate::file_identity::FileLoss;
use crate::log_file::LogFile;
use crate::{connection, load, meta};

/// The files of a journal that is open in this process. Any thread may read the files while the journal is written, and
/// may check at any time that the paths still lead to the files that were opened.
///
/// Drop all clones before the same file is opened again, because dropping the last clone releases this process's locks
/// on the file.
#[derive(Debug, Clone)]
pub struct OpenFiles(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    data: DataFile,
    /// The log. The reference is dead while the journal is closed because of a failure.
    log: Mutex<Weak<LogFile>>,
    /// The number of the last batch that is known to be on disk.
    kept: AtomicU64,
    /// The number of completed scrubs.
    scrubs: AtomicU64,
    /// The first damage that was found. It is reported until a restart.
    damage: Mutex<Option<StoreError>>,
}

impl OpenFiles {
    pub(crate) fn of(data: DataFile) -> Self {
        Self(Arc::new(Shared {
            data,
            log: Mutex::default(),
            kept: AtomicU64::new(0),
            scrubs: AtomicU64::new(0),
            damage: Mutex::default(),
        }))
    }

    /// Returns the path of the data file.
    pub fn path(&self) -> &Path {
        self.0.data.path()
    }

    /// Returns how many times the files have been scrubbed since they were opened.
    pub fn scrubs(&self) -> u64 {
        self.0.scrubs.load(Ordering::Acquire)
    }

    pub(crate) fn count_scrub(&self) {
        self.0.scrubs.fetch_add(1, Ordering::AcqRel);
    }

    /// Checks that the files are those that were opened and that no scrub has found damage.
    ///
    /// # Errors
    /// The files are not those that were opened, or are damaged. The error stays until a restart. A full disk or a
    /// lock held by another process is not such an error.
    pub fn check(&self) -> Result<(), StoreError> {
        if let Some(damage) = &*self.0.damage.lock() {
            return Err(damage.clone());
        }
        self.0.data.check().map_err(FileLoss::Data)?;
        let log = self.0.log.lock().upgrade();
        log.map_or(Ok(()), |log| log.check_path()).map_err(FileLoss::LogPath)?;
        Ok(())
    }

    /// Reads the files like [`read_snapshot`](crate::read_snapshot), if they are the files that were opened. If a file
    /// was replaced, writes nothing into the new file.
    pub fn read_snapshot(
        &self,
        into: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<Header, StoreError> {
        load::read_all(&self.reader()?, into)
    }

    /// Opens a connection that reads the files while the journal is written. Fails if they are not the files that were
    /// opened.
    pub(crate) fn reader(&self) -> Result<Connection, StoreError> {
        self.check()?;
        // The number is read before the file. Batches that are written after this only make the content newer, so the
        // comparison below stays valid.
        let kept = self.kept();
        let connection = connection::reader(self.path())?;
        connection::leave_log(&connection).map_err(|error| unreadable("the data file", &error))?;
        // The files are checked again, because they may have been replaced before the connection opened them.
        self.check()?;
        // The log may have been removed while no connection had it open. Then its batches are missing.
        let last = meta::read(&connection)?.last_batch;
        if last < kept {
            return Err(batch_lost(last, kept));
        }
        Ok(connection)
    }

    pub(crate) fn data(&self) -> &DataFile {
        &self.0.data
    }

    /// Replaces the log that is checked.
    pub(crate) fn set_log(&self, log: &Arc<LogFile>) {
        *self.0.log.lock() = Arc::downgrade(log);
    }

    pub(crate) fn kept(&self) -> BatchNumber {
        BatchNumber(self.0.kept.load(Ordering::Acquire))
    }

    /// Records that a batch is on disk.
    pub(crate) fn set_kept(&self, batch: BatchNumber) {
        self.0.kept.store(batch.0, Ordering::Release);
    }

    pub(crate) fn damage(&self) -> Option<StoreError> {
        self.0.damage.lock().clone()
    }

    /// Records damage. Returns the damage that was found first.
    pub(crate) fn set_damage(&self, damage: StoreError) -> StoreError {
        self.0.damage.lock().get_or_insert(damage).clone()
    }
}

/// Returns the error of a file in which a batch is missing.
pub(crate) fn batch_lost(last: BatchNumber, kept: BatchNumber) -> StoreError {
    StoreError::corrupt(format!("batch {} was on disk, and the file ends at {}", kept.0, last.0))
}
