//! An open database: the writer's connection, the checkpoint thread and the scrubber.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use petstore_ports::Unwatched;
use rusqlite::Connection;

use crate::checkpoint::{self, LogCopy, LogState};
use crate::data_file::DataFile;
use crate::file_identity::FileLoss;
use crate::log_file::LogFile;
use crate::open_files::OpenFiles;
use crate::scrubber::Scrubber;
use crate::{NameCollisions, OpenError, connection, files, schema};

/// The writer's connection, and the threads for checkpoints and scrubs.
pub(crate) struct OpenDatabase {
    pub(crate) connection: Connection,
    checkpoints: Option<JoinHandle<()>>,
    scrubber: Option<Scrubber>,
    log: Arc<LogFile>,
}

impl OpenDatabase {
    /// Opens a database whose content needs no change.
    pub(crate) fn new(files: &OpenFiles, log: &Arc<LogState>) -> Result<(Self, LogCopy), OpenError> {
        let writer = connection::writer(files.path(), None, NameCollisions::Refuse, &Unwatched)?;
        Self::start(writer.connection, files, log)
    }

    /// Copies the log into the database, and starts the threads. No transaction is open.
    pub(crate) fn start(
        mut connection: Connection,
        files: &OpenFiles,
        log: &Arc<LogState>,
    ) -> Result<(Self, LogCopy), OpenError> {
        let path = files.path();
        let failed = |source| OpenError::File { path: path.into(), source };
        // A killed process may have left a batch in the log that was never synced. This process is about to read the
        // batch, so the batch must be durable first. It is copied into the database. If a reader still needs an older
        // state, the batch stays in the log, and the log was synced before.
        let copied = checkpoint::copy_and_empty(&connection).map_err(OpenError::engine(path))?;
        if copied == LogCopy::Emptied {
            // The old log may contain a failed commit. The removal of the log is synced, so that the failed commit does
            // not reappear after a power cut.
            files::sync_log(path).and_then(|()| files::sync_directory_of(path)).map_err(failed)?;
            log.reset();
        }
        let log_file = Arc::new(LogFile::of(path).map_err(failed)?);
        let checkpoints = Some(checkpoint::start(&mut connection, path, log)?);
        let mut open = Self { connection, checkpoints, scrubber: None, log: log_file };
        open.scrubber = Some(Scrubber::start(&open.log, log, files)?);
        Ok((open, copied))
    }

    pub(crate) fn log(&self) -> &Arc<LogFile> {
        &self.log
    }

    /// Checks that the files are still those that were opened.
    pub(crate) fn check(&self, data: &DataFile) -> Result<(), FileLoss> {
        data.check().map_err(FileLoss::Data)?;
        // The check has two steps, and another program may empty the log between them. This is no damage, so the check
        // is tried twice.
        self.check_log().or_else(|_| self.check_log())?;
        self.log.check_path().map_err(FileLoss::LogPath)
    }

    fn check_log(&self) -> Result<(), FileLoss> {
        // An error of this query is ignored, because the next write fails in the same way and reports it.
        let is_used = checkpoint::pages_in_log(&self.connection).is_ok_and(|pages| pages > 0);
        self.log.check_contents(is_used).map_err(FileLoss::Data)
    }

    /// Closes the database without removing the log. If only the path of the log is lost (`is_log_sound`), the content
    /// of the log is first copied into the data file.
    pub(crate) fn close_without_cleanup(mut self, is_log_sound: bool) {
        self.stop();
        if is_log_sound {
            if !self.connection.is_autocommit() {
                let _ = self.connection.execute_batch("ROLLBACK");
            }
            let _ = checkpoint::copy_and_empty(&self.connection);
        }
        let _ = connection::leave_log(&self.connection);
    }

    /// Asks the scrubber to check the files.
    pub(crate) fn request_scrub(&self) {
        self.scrubber.iter().for_each(Scrubber::request);
    }

    /// Stops both threads.
    pub(crate) fn stop(&mut self) {
        if let Some(scrubber) = self.scrubber.take() {
            scrubber.stop();
        }
        if let Some(thread) = self.checkpoints.take() {
            checkpoint::stop(&mut self.connection, thread);
        }
    }

    /// Invalidates the frames after the last commit of a log that could not be emptied; see
    /// [`checkpoint::invalidate_tail`].
    pub(crate) fn invalidate_tail(&self, copied: LogCopy, path: &Path) -> Result<(), OpenError> {
        if copied == LogCopy::Emptied {
            return Ok(());
        }
        checkpoint::invalidate_tail(&self.connection, schema::VERSION).map_err(OpenError::engine(path))
    }
}

impl Drop for OpenDatabase {
    fn drop(&mut self) {
        self.stop();
    }
}
