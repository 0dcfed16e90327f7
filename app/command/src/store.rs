//! The store that a command works on: in memory, or in its file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use petstore_http::Idle;
use petstore_memory::{MemoryStore, Opened};
use petstore_ports::StoreError;
use petstore_sqlite::{CheckpointHealth, IfNamesakes, Mended, OpenError, Originals, SqliteJournal, beside};

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
    /// What an older version has stored in the file and had to be put right.
    pub(crate) mended: Mended,
}

impl OpenStore {
    /// Opens the store, and makes it if it is not there yet. `if_in_use` is what can be done where another process has it,
    /// `idle` is told by whoever serves the store.
    /// What had to be put right in the file of an older version is told on standard error.
    pub(crate) fn open(db: &Db, if_in_use: &str, idle: Idle) -> Result<Self, Failure> {
        let opened = Self::open_mending(db, if_in_use, idle, IfNamesakes::Refuse)?;
        mended::lines(&opened.mended).iter().for_each(|line| tell(line));
        Ok(opened)
    }

    /// The same with an answer to categories whose names read the same; what was put right is for the caller to tell.
    pub(crate) fn open_mending(
        db: &Db,
        if_in_use: &str,
        idle: Idle,
        if_namesakes: IfNamesakes,
    ) -> Result<Self, Failure> {
        let epoch = SystemEntropy::number().map_err(|error| Failure::because(error.to_string()))?;
        match db {
            Db::Memory => {
                let store = Arc::new(MemoryStore::new());
                let mended = Mended::default();
                Ok(Self { store, epoch, commits: None, originals: None, checkpoints: None, mended })
            }
            Db::File(file) => open_file(file, epoch, if_in_use, idle, if_namesakes),
        }
    }
}

fn open_file(
    file: &Path,
    epoch_if_new: u64,
    if_in_use: &str,
    idle: Idle,
    if_namesakes: IfNamesakes,
) -> Result<OpenStore, Failure> {
    // To open a file is to copy its log into it.
    let had_log = has_log(file);
    let hint = |is_damaged| match is_damaged {
        true if had_log => IF_DAMAGED,
        false if has_log(file) => IF_WHOLE,
        _ => "",
    };
    let opened = SqliteJournal::open_mending(file, epoch_if_new, if_namesakes);
    let (journal, mended) = opened.map_err(|error| match error {
        OpenError::InUse { .. } => Failure::because(format!("{error}; {if_in_use}")),
        OpenError::Namesakes { .. } => Failure::because(format!("{error}; {IF_NAMESAKES}")),
        OpenError::Damaged { .. } => Failure::because(format!("{error}{}", hint(true))),
        OpenError::Engine { .. } => Failure::because(format!("{error}{}", hint(false))),
        error => Failure::because(error.to_string()),
    })?;
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
    Ok(OpenStore { store, epoch: header.epoch, commits: Some(commits), originals, checkpoints, mended })
}

/// What can be done where an older version took names for different ones that are the same now.
const IF_NAMESAKES: &str = "start once with --rename-collisions, and the younger one of each gets its id behind its name, or rename \
                            them with the version that wrote the file";

/// What may be wrong with a file that is damaged: the log that was beside it belonged to the one that was there before.
const IF_DAMAGED: &str = "; if it was restored from a backup, restore it again, and move the -wal beside it away first: it is another \
                          file's";

/// A disk that is full, a lock or a mode says nothing against the log, and whoever took it away would lose what is in it.
const IF_WHOLE: &str = "; leave the -wal beside it where it is: it holds what was acknowledged last";

/// Whether something is in the log beside a file.
fn has_log(file: &Path) -> bool {
    fs::metadata(beside(file, "-wal")).is_ok_and(|found| found.len() > 0)
}
