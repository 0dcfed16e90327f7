//! A file that is open: what it takes to trust what is in it, and how it is left.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use petstore_ports::StoreError;
use rusqlite::Connection;

use crate::checkpoint::{self, Log, Settled};
use crate::original::{DataFile, LogFile, Originals};
use crate::watch::Watch;
use crate::{IfNamesakes, Mended, OpenError, connection, files, schema};

/// The writer's connection, and the threads beside it: one runs its checkpoints, one reads the files again.
pub(crate) struct Open {
    pub(crate) connection: Connection,
    pub(crate) mended: Mended,
    checkpoints: Option<JoinHandle<()>>,
    watch: Option<Watch>,
    log: Arc<LogFile>,
}

impl Open {
    pub(crate) fn new(
        originals: &Originals,
        epoch_if_new: Option<u64>,
        if_namesakes: IfNamesakes,
        log: &Arc<Log>,
    ) -> Result<(Self, Settled), OpenError> {
        let path = originals.path();
        let failed = |source| OpenError::File { path: path.into(), source };
        let (mut connection, mended) = connection::writer(path, epoch_if_new, if_namesakes)?;
        // A process that was killed may have left a batch in the log that was never synced. It is read from here on, so
        // it must be on disk before: in the database, or while somebody reads an older state of it, in the log.
        let settled = checkpoint::settle(&connection).map_err(OpenError::engine(path))?;
        if settled == Settled::Emptied {
            // And what is not read any more must not come back with a power cut: a commit that failed is in it, too.
            files::sync_log(path).and_then(|()| files::sync_directory_of(path)).map_err(failed)?;
            log.begin_anew();
        }
        let log_file = Arc::new(LogFile::of(path).map_err(failed)?);
        let checkpoints = Some(checkpoint::start(&mut connection, path, log)?);
        let mut open = Self { connection, mended, checkpoints, watch: None, log: log_file };
        open.watch = Some(Watch::start(&open.log, log, originals)?);
        Ok((open, settled))
    }

    pub(crate) fn log(&self) -> &Arc<LogFile> {
        &self.log
    }

    /// Says what has become of the files that were opened, if they are not what they were.
    pub(crate) fn check(&self, data: &DataFile) -> Result<(), Lost> {
        data.check().map_err(Lost::Data)?;
        // Twice, since somebody may have emptied it as one may, between the two looks of the first time.
        self.check_log().or_else(|_| self.check_log())?;
        self.log.check_place().map_err(Lost::NameOfLog)
    }

    fn check_log(&self) -> Result<(), Lost> {
        // Where it cannot be asked, the next write tells.
        let is_used = checkpoint::pages_in_log(&self.connection).is_ok_and(|pages| pages > 0);
        self.log.check_contents(is_used).map_err(Lost::Data)
    }

    /// Ends it and leaves the files that are there as they are. What is in a log that has lost nothing but its name is
    /// copied first: the data file is where it belongs.
    pub(crate) fn leave(mut self, is_log_sound: bool) {
        self.stop();
        if is_log_sound {
            if !self.connection.is_autocommit() {
                let _ = self.connection.execute_batch("ROLLBACK");
            }
            let _ = checkpoint::settle(&self.connection);
        }
        let _ = connection::leave_log(&self.connection);
    }

    /// Asks for a look at what is in the files.
    pub(crate) fn call_for_a_look(&self) {
        self.watch.iter().for_each(Watch::call);
    }

    /// Ends its threads.
    pub(crate) fn stop(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.stop();
        }
        if let Some(thread) = self.checkpoints.take() {
            checkpoint::stop(&mut self.connection, thread);
        }
    }

    /// Ends what counts of a log that is still there; see [`checkpoint::cut`].
    pub(crate) fn cut(&self, settled: Settled, path: &Path) -> Result<(), OpenError> {
        if settled == Settled::Emptied {
            return Ok(());
        }
        checkpoint::cut(&self.connection, schema::VERSION).map_err(OpenError::engine(path))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What has become of files that are not what they were.
pub(crate) enum Lost {
    /// What is in them is not to be trusted, or has another place.
    Data(&'static str),
    /// The log is no longer found.
    NameOfLog(&'static str),
}

impl From<Lost> for StoreError {
    fn from((Lost::Data(what) | Lost::NameOfLog(what)): Lost) -> Self {
        Self::unavailable(format!("{what} while it was in use: nothing more is written until a restart"))
    }
}
