//! The store that a command works on: in memory, or in its file.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use petstore_http::Idle;
use petstore_memory::{MemoryStore, Opened};
use petstore_ports::StoreError;
use petstore_sqlite::{
    CheckpointHealth, Mended, OpenError, OpenOptions, Originals, Place, SqliteJournal, beside,
};

use crate::environment::{Pressure, SystemEntropy};
use crate::mended;
use crate::metrics::{Commits, Timed};
use crate::settings::Db;
use crate::{Failure, tell};

/// What a command can do that finds no server, and its file taken.
pub(crate) const NAME_ITS_SOCKET: &str =
    "if that is a server, name its --admin-socket, else wait for its end";

/// A store that is open.
pub(crate) struct OpenStore {
    pub(crate) store: Arc<MemoryStore>,
    /// What entity tags and cursors of this store begin with.
    pub(crate) epoch: u64,
    /// What is committed to the file; none if nothing is.
    pub(crate) commits: Option<Arc<Commits>>,
    /// The file, to be read beside the store; none if there is none.
    pub(crate) originals: Option<Originals>,
    /// How the file's log does; none if there is no file.
    pub(crate) checkpoints: Option<CheckpointHealth>,
    /// Where the file's log was damaged, if what stood behind that was dropped.
    pub(crate) dropped: Option<Place>,
    /// What an older version has stored in the file and had to be put right.
    pub(crate) mended: Mended,
}

impl OpenStore {
    /// Opens the store, and makes it if it is not there yet. `if_in_use` is what can be done where another process has it,
    /// `idle` is told by whoever serves the store.
    /// What had to be put right in the file of an older version is told on standard error.
    pub(crate) fn open(db: &Db, if_in_use: &str, idle: Idle) -> Result<Self, Failure> {
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
        idle: Idle,
        options: OpenOptions,
    ) -> Result<Self, Failure> {
        let epoch = SystemEntropy::number().map_err(|error| Failure::because(error.to_string()))?;
        match db {
            Db::Memory => {
                let store = Arc::new(MemoryStore::new());
                let mended = Mended::default();
                Ok(Self {
                    store,
                    epoch,
                    commits: None,
                    originals: None,
                    checkpoints: None,
                    dropped: None,
                    mended,
                })
            }
            Db::File(file) => open_file(file, epoch, if_in_use, idle, options),
        }
    }
}

fn open_file(
    file: &Path,
    epoch_if_new: u64,
    if_in_use: &str,
    idle: Idle,
    options: OpenOptions,
) -> Result<OpenStore, Failure> {
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
            Failure::because(format!("{error}; {if_in_use}"))
        }
        OpenError::Namesakes { .. } => Failure::because(format!("{error}; {IF_NAMESAKES}")),
        OpenError::Damaged { .. } => Failure::because(format!("{error}{}", hint(true))),
        OpenError::LogDamaged { .. } => Failure::because(format!("{error}{IF_LOG_DAMAGED}")),
        OpenError::Engine { .. } => Failure::because(format!("{error}{}", hint(false))),
        OpenError::File { ref source, .. } if is_forbidden(source) => {
            Failure::because(format!("{error}{IF_FORBIDDEN}"))
        }
        error => Failure::because(error.to_string()),
    })?;
    let dropped = journal.dropped();
    let (originals, checkpoints) = (Some(journal.originals()), Some(journal.checkpoint_health()));
    let commits = Arc::<Commits>::default();
    let journal = Timed { journal, commits: Arc::clone(&commits) };
    let mut pressure = Pressure::on(idle);
    let opened = MemoryStore::open_sparing(Box::new(journal), move || pressure.is_high());
    let Opened { store, header } = opened.map_err(|error| {
        let hint = hint(matches!(error, StoreError::Corrupt(_)));
        Failure::because(format!("{} cannot be used: {error}{hint}", file.display()))
    })?;
    let store = Arc::new(store);
    let commits = Some(commits);
    Ok(OpenStore { store, epoch: header.epoch, commits, originals, checkpoints, dropped, mended })
}

/// What can be done where an older version took names for different ones that are the same now.
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

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Whether something is in the log beside a file.
fn has_log(file: &Path) -> bool {
    fs::metadata(beside(file, "-wal")).is_ok_and(|found| found.len() > 0)
}
