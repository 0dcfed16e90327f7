//! The store of a command: in memory, or in a file. The only module that names the type of a store.

mod commits;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use petstore_domain::Timestamp;
use petstore_http::{IdleTime, TokioTimer};
use petstore_memory::{CommitPause, EventRetention, MemoryStore, Opened};
use petstore_ports::{
    Bulk, Clock, Entropy, Header, Housekeeping, Resettable, Row, StoreError, StoreErrorKind, StoreStats,
};
use petstore_service::Ports;
use petstore_sqlite::{
    CheckpointHealth, Copied, LogPosition, OpenError, OpenFiles, OpenOptions, RepairedValues, SqliteJournal,
    companion, copy_of,
};

pub(crate) use self::commits::CommitStats;
use self::commits::{CommitCounters, TimedJournal};
use crate::environment::{Pressure, SystemEntropy};
use crate::failure::Failure;
use crate::migration_report;
use crate::settings::{DEFAULT_DB, Db};
use crate::terminal::notify;

/// The advice for a command that finds no server although another process uses the data file.
pub(crate) const NAME_ITS_SOCKET: &str =
    "if that process is a server, name its --admin-socket, else wait until it ends";

/// An open store as its ports, and its data file.
pub(crate) struct Backend {
    store: Arc<MemoryStore>,
    /// The epoch in entity tags and cursors.
    pub(crate) epoch: u64,
    /// Counters of commits to the file; none without a file.
    pub(crate) commits: Option<Arc<CommitCounters>>,
    /// The data file, for reading beside the store; none without a file.
    files: Option<OpenFiles>,
    /// The state of checkpoints; none without a file.
    checkpoints: Option<CheckpointHealth>,
    /// The place where the log was damaged, if the changes behind it were dropped.
    pub(crate) dropped: Option<LogPosition>,
    /// Values of an older version that were corrected.
    pub(crate) mended: RepairedValues,
}

impl Backend {
    /// Opens the store, and creates it if it is missing. `if_in_use` is the advice for the case that another process
    /// uses the store. `idle` receives the idle time of the server's threads. Corrected values are reported on standard
    /// error.
    pub(crate) fn open(db: &Db, if_in_use: &str, idle: IdleTime) -> Result<Self, Failure> {
        let opened = Self::open_with(db, if_in_use, idle, OpenOptions::default())?;
        for line in migration_report::lines(&opened.mended) {
            notify(&line);
        }
        Ok(opened)
    }

    /// Opens the store with options. The caller reports corrected values.
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

    /// Returns an empty store in memory.
    pub(crate) fn in_memory(epoch: u64) -> Self {
        let store = Arc::new(MemoryStore::with_epoch(epoch));
        Self {
            store,
            epoch,
            commits: None,
            files: None,
            checkpoints: None,
            dropped: None,
            mended: RepairedValues::default(),
        }
    }

    /// Sets for how long events are kept, and the maximum of their bytes; without `bytes`, the default for this kind of
    /// store applies.
    pub(crate) fn set_event_retention(&self, age: Duration, bytes: Option<u64>) {
        let default =
            if self.files.is_some() { EventRetention::IN_JOURNAL } else { EventRetention::IN_MEMORY };
        let bytes = bytes.unwrap_or(default.bytes);
        self.store.set_event_retention(EventRetention { age, bytes });
    }

    /// The ports for a service.
    pub(crate) fn ports(&self, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Ports {
        Ports::of_one_store(Arc::clone(&self.store), clock, entropy, Arc::new(TokioTimer::new()))
    }

    /// The port for import and export.
    pub(crate) fn bulk(&self) -> &dyn Bulk {
        &*self.store
    }

    /// The port for statistics.
    pub(crate) fn stats(&self) -> &dyn StoreStats {
        &*self.store
    }

    /// The port for housekeeping.
    pub(crate) fn housekeeping(&self) -> &dyn Housekeeping {
        &*self.store
    }

    /// The port for resets.
    pub(crate) fn resettable(&self) -> Arc<dyn Resettable> {
        Arc::clone(&self.store) as _
    }

    /// Returns whether a write is expected to succeed at this time.
    pub(crate) fn is_ready(&self, now: Timestamp) -> bool {
        self.store.check_at(now).is_ok()
    }

    /// The failure of the disk, while it fails. No change is written meanwhile.
    pub(crate) fn disk_fault(&self) -> Option<StoreError> {
        self.store.journal_fault()
    }

    /// Pauses commits, so that the whole store can be read as of one moment. Blocks.
    pub(crate) fn pause_commits(&self) -> Result<CommitPause<'_>, StoreError> {
        self.store.pause_commits()
    }

    /// Forgets usage and bans later than this time. Returns the number of accounts with such usage.
    pub(crate) fn forget_usage_after(&self, now: Timestamp) -> Result<usize, StoreError> {
        self.store.forget_usage_after(now)
    }

    /// Closes the store: queued writes are committed, and usage and bans are stored. Blocks.
    pub(crate) fn close(&self) {
        self.store.close();
    }

    /// The number of pages in the log of the data file; none without a file.
    pub(crate) fn log_pages(&self) -> Option<u32> {
        self.checkpoints.as_ref().map(CheckpointHealth::log_pages)
    }

    /// The reason why the log of the data file is not checkpointed, if it is not.
    pub(crate) fn log_fault(&self) -> Option<String> {
        self.checkpoints.as_ref().and_then(CheckpointHealth::fault)
    }

    /// The data file; none without a file.
    pub(crate) fn file(&self) -> Option<DataFile<'_>> {
        self.files.as_ref().map(DataFile)
    }
}

/// The data file of a store, for reading beside it.
pub(crate) struct DataFile<'b>(&'b OpenFiles);

impl DataFile<'_> {
    /// The path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().to_path_buf()
    }

    /// Returns a permanent fault of the file.
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

fn open_file(
    file: &Path,
    epoch_if_new: u64,
    if_in_use: &str,
    idle: IdleTime,
    options: OpenOptions,
) -> Result<Backend, Failure> {
    // Opening a file may copy its log into it, so the log is looked for before.
    let had_log = has_log(file);
    let hint = |is_damaged| match is_damaged {
        true if had_log => IF_DAMAGED,
        true => "; restore a backup",
        false if has_log(file) => IF_WHOLE,
        _ => "",
    };
    let opened = SqliteJournal::open_with(file, epoch_if_new, options);
    let (journal, mended) = opened.map_err(|error| match error {
        OpenError::InUse { .. } | OpenError::InUseByAnotherName { .. } => {
            Failure::because(format!("{}; {if_in_use}", error.report()))
        }
        OpenError::NameCollisions { .. } => Failure::because(format!("{}; {IF_NAMESAKES}", error.report())),
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
    let commits = Arc::<CommitCounters>::default();
    let journal = TimedJournal { journal, commits: Arc::clone(&commits) };
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

/// The advice for a file with names that are equal by the rule of this program.
const IF_NAMESAKES: &str = "start once with --rename-collisions, which appends the id to the name of the younger \
    one, or rename them with the version that wrote the file";

/// The advice for a damaged file: its log may belong to another file.
const IF_DAMAGED: &str = "; if it was restored from a backup, move the -wal beside it away, which belongs to another \
    file, and restore it again";

/// The advice for a damaged log: all options but the first lose acknowledged changes.
pub(crate) const IF_LOG_DAMAGED: &str = "; restore the undamaged file or a backup, or copy both files away and start \
    a server once with --drop-damaged-wal, which drops those changes";

/// The advice for a file that cannot be read now: the log may be sound, and removing it would lose changes.
const IF_WHOLE: &str = "; keep the -wal beside it: it holds the latest acknowledged changes";

/// The advice for a file or folder that is not writable.
const IF_FORBIDDEN: &str = "; the file and its folder must be writable for the user that runs petstore: name another \
    file with --db, or use --db memory, which stores nothing";

/// The advice if the folder of a data file is missing: a start creates the file, but not its folder.
const IF_NO_FOLDER: &str = "; make its folder first, or name another file with --db";

/// The message if the path of a data file is a folder. It suggests the file in that folder.
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

/// Returns whether there is a log with content beside a file.
fn has_log(file: &Path) -> bool {
    fs::metadata(companion(file, "-wal")).is_ok_and(|found| found.len() > 0)
}
