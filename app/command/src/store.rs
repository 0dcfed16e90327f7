//! The store that a command works on: in memory, or in its file. The only place that names the type of a store.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use petstore_domain::Timestamp;
use petstore_http::{IdleTime, TokioTimer};
use petstore_memory::{CommitPause, MemoryStore, Opened};
use petstore_ports::{
    Bulk, Clock, Entropy, Header, Housekeeping, Resettable, Row, StoreError, StoreErrorKind, StoreStats,
};
use petstore_service::Ports;
use petstore_sqlite::{
    CheckpointHealth, Copied, LogPosition, Mended, OpenError, OpenFiles, OpenOptions, SqliteJournal,
    companion, copy_of,
};

use crate::environment::{Pressure, SystemEntropy};
use crate::mended;
use crate::metrics::{Commits, Timed};
use crate::settings::{DEFAULT_DB, Db};
use crate::{Failure, tell};

/// What a command can do that finds no server, and its file taken.
pub(crate) const NAME_ITS_SOCKET: &str =
    "if that is a server, name its --admin-socket, else wait for its end";

/// A store that is open, as its ports, and the file that keeps it.
pub(crate) struct Backend {
    store: Arc<MemoryStore>,
    /// What entity tags and cursors of this store begin with.
    pub(crate) epoch: u64,
    /// What is committed to the file; none if nothing is.
    pub(crate) commits: Option<Arc<Commits>>,
    /// The file, to be read beside the store; none if there is none.
    files: Option<OpenFiles>,
    /// The checkpoints of the file's log; none if there is no file.
    checkpoints: Option<CheckpointHealth>,
    /// Where the file's log was damaged, if what stood behind that was dropped.
    pub(crate) dropped: Option<LogPosition>,
    /// What an older version has stored in the file and had to be put right.
    pub(crate) mended: Mended,
}

impl Backend {
    /// Opens the store, and makes it if it is not there yet. `if_in_use` is what can be done where another process has it,
    /// `idle` is told by whoever serves the store.
    /// What had to be put right in the file of an older version is told on standard error.
    pub(crate) fn open(db: &Db, if_in_use: &str, idle: IdleTime) -> Result<Self, Failure> {
        let opened = Self::open_with(db, if_in_use, idle, OpenOptions::default())?;
        for line in mended::lines(&opened.mended) {
            tell(&line);
        }
        Ok(opened)
    }

    /// The same with the owner's choices; what was put right is for the caller to tell.
    pub(crate) fn open_with(
        db: &Db,
        if_in_use: &str,
        idle: IdleTime,
        options: OpenOptions,
    ) -> Result<Self, Failure> {
        let epoch = SystemEntropy::number().map_err(|error| Failure::because(error.report()))?;
        match db {
            Db::Memory => Ok(Self::in_memory(epoch)),
            Db::File(file) => open_file(file, epoch, if_in_use, idle, options),
        }
    }

    /// An empty store that nothing keeps.
    pub(crate) fn in_memory(epoch: u64) -> Self {
        let store = Arc::new(MemoryStore::new());
        Self {
            store,
            epoch,
            commits: None,
            files: None,
            checkpoints: None,
            dropped: None,
            mended: Mended::default(),
        }
    }

    /// The ports that a service works with.
    pub(crate) fn ports(&self, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Ports {
        Ports::of_one_store(Arc::clone(&self.store), clock, entropy, Arc::new(TokioTimer::new()))
    }

    /// Moves the whole shop in and out.
    pub(crate) fn bulk(&self) -> &dyn Bulk {
        &*self.store
    }

    /// Counts for metrics.
    pub(crate) fn stats(&self) -> &dyn StoreStats {
        &*self.store
    }

    /// The work that is due every second.
    pub(crate) fn housekeeping(&self) -> &dyn Housekeeping {
        &*self.store
    }

    /// The way back to an empty store.
    pub(crate) fn resettable(&self) -> Arc<dyn Resettable> {
        Arc::clone(&self.store) as _
    }

    /// Whether a write is expected to succeed at this time.
    pub(crate) fn is_ready(&self, now: Timestamp) -> bool {
        self.store.check_at(now).is_ok()
    }

    /// The failure of the disk that keeps the store, while it fails: nothing is written meanwhile.
    pub(crate) fn disk_fault(&self) -> Option<StoreError> {
        self.store.journal_fault()
    }

    /// Holds batches back, so that all of the store can be read as of one moment. Blocks.
    pub(crate) fn pause_commits(&self) -> Result<CommitPause<'_>, StoreError> {
        self.store.pause_commits()
    }

    /// Forgets usage and bans of later than this time; returns of how many accounts.
    pub(crate) fn forget_usage_after(&self, now: Timestamp) -> Result<usize, StoreError> {
        self.store.forget_usage_after(now)
    }

    /// Ends the store: writes that were taken are committed, and what is written behind is noted. Blocks.
    pub(crate) fn close(&self) {
        self.store.close();
    }

    /// Pages in the log of the data file; None if there is no file.
    pub(crate) fn log_pages(&self) -> Option<u32> {
        self.checkpoints.as_ref().map(CheckpointHealth::log_pages)
    }

    /// The reason why the log of the data file is not copied, if it is not.
    pub(crate) fn log_fault(&self) -> Option<String> {
        self.checkpoints.as_ref().and_then(CheckpointHealth::fault)
    }

    /// The data file; None if there is none.
    pub(crate) fn file(&self) -> Option<DataFile<'_>> {
        self.files.as_ref().map(DataFile)
    }
}

/// The file that keeps a store, to be read beside it.
pub(crate) struct DataFile<'b>(&'b OpenFiles);

impl DataFile<'_> {
    /// Where it is.
    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().to_path_buf()
    }

    /// Says what is wrong with it for good, if something is.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.0.check()
    }

    /// Hands over all that is in it at one moment.
    pub(crate) fn read_snapshot(
        &self,
        into: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<Header, StoreError> {
        self.0.read_snapshot(into)
    }

    /// Makes another data file beside it, of these rows. It is gone from its folder when it is returned.
    pub(crate) fn copy_of(
        &self,
        header: &Header,
        rows: impl Iterator<Item = Row>,
    ) -> Result<(File, Copied), StoreError> {
        copy_of(self.0.path(), header, rows)
    }
}

fn open_file(
    file: &Path,
    epoch_if_new: u64,
    if_in_use: &str,
    idle: IdleTime,
    options: OpenOptions,
) -> Result<Backend, Failure> {
    // To open a file is to copy its log into it.
    let had_log = has_log(file);
    let hint = |is_damaged| match is_damaged {
        true if had_log => IF_DAMAGED,
        false if has_log(file) => IF_WHOLE,
        _ => "",
    };
    let opened = SqliteJournal::open_with(file, epoch_if_new, options);
    let (journal, mended) = opened.map_err(|error| match error {
        OpenError::InUse { .. } | OpenError::InUseByAnotherName { .. } => {
            Failure::because(format!("{}; {if_in_use}", error.report()))
        }
        OpenError::Namesakes { .. } => Failure::because(format!("{}; {IF_NAMESAKES}", error.report())),
        OpenError::Damaged { .. } => Failure::because(format!("{}{}", error.report(), hint(true))),
        OpenError::Unreadable { ref source, .. } => {
            let hint = hint(source.kind() == StoreErrorKind::Corrupt);
            Failure::because(format!("{}{hint}", error.report()))
        }
        OpenError::LogDamaged { .. } => Failure::because(format!("{}{IF_LOG_DAMAGED}", error.report())),
        OpenError::Engine { .. } => Failure::because(format!("{}{}", error.report(), hint(false))),
        OpenError::File { .. } if file.is_dir() => Failure::because(is_folder(file)),
        OpenError::File { ref source, .. } if is_forbidden(source) => {
            Failure::because(format!("{}{IF_FORBIDDEN}", error.report()))
        }
        OpenError::File { ref source, .. } if source.kind() == io::ErrorKind::NotFound => {
            Failure::because(format!("{}{IF_NO_FOLDER}", error.report()))
        }
        error => Failure::because(error.report()),
    })?;
    let dropped = journal.dropped();
    let (files, checkpoints) = (Some(journal.open_files()), Some(journal.checkpoint_health()));
    let commits = Arc::<Commits>::default();
    let journal = Timed { journal, commits: Arc::clone(&commits) };
    let mut pressure = Pressure::on(idle);
    let opened = MemoryStore::open_with_cpu_probe(Box::new(journal), move || pressure.is_high());
    let Opened { store, header } = opened.map_err(|error| {
        let hint = hint(error.kind() == StoreErrorKind::Corrupt);
        Failure::because(format!("{} cannot be used: {}{hint}", file.display(), error.report()))
    })?;
    let store = Arc::new(store);
    let commits = Some(commits);
    Ok(Backend { store, epoch: header.epoch, commits, files, checkpoints, dropped, mended })
}

/// The advice for a file with names that are equal by the rule of today.
const IF_NAMESAKES: &str = "start once with --rename-collisions, and the younger one of each gets its id behind its name, or rename \
                            them with the version that wrote the file";

/// What may be wrong with a file that is damaged: the log that was beside it belonged to the one that was there before.
const IF_DAMAGED: &str = "; if it was restored from a backup, restore it again, and move the -wal beside it away first: it is another \
                          file's";

/// What can be done about a log that is damaged: all but the first costs what was acknowledged.
pub(crate) const IF_LOG_DAMAGED: &str = "; bring it back as it was, restore a backup, or copy both files away and start a server once with \
                              --drop-damaged-wal, which goes on without those changes";

/// A disk that is full, a lock or a mode says nothing against the log, and whoever took it away would lose what is in it.
const IF_WHOLE: &str = "; leave the -wal beside it where it is: it holds what was acknowledged last";

/// What to do in a folder or with a file that may not be written.
const IF_FORBIDDEN: &str = "; the file and its folder must be writable for the user that runs petstore: name another file with --db, \
                            or --db memory, which keeps nothing";

/// The advice where the folder of a data file is missing: a start makes the file, and no folder.
const IF_NO_FOLDER: &str = "; make its folder first, or name another file with --db";

/// The message for a folder where a data file was expected: it names the file that a start in that folder would make.
pub(crate) fn is_folder(folder: &Path) -> String {
    format!(
        "{} is a folder: name a data file in it, such as --db {}",
        folder.display(),
        folder.join(DEFAULT_DB).display()
    )
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Whether something is in the log beside a file.
fn has_log(file: &Path) -> bool {
    fs::metadata(companion(file, "-wal")).is_ok_and(|found| found.len() > 0)
}
