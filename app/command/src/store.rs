//! The store that a command works on: in memory, or in its file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use petstore_http::Idle;
use petstore_memory::{MemoryStore, Opened};
use petstore_ports::StoreErrorKind;
use petstore_sqlite::{CheckpointHealth, OpenError, Originals, SqliteJournal, beside};

use crate::Failure;
use crate::environment::{Pressure, SystemEntropy};
use crate::metrics::{Commits, Timed};
use crate::settings::Db;

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
}

impl OpenStore {
    /// Opens the store, and makes it if it is not there yet. `if_in_use` is what can be done where another process has it,
    /// `idle` is told by whoever serves the store.
    pub(crate) fn open(db: &Db, if_in_use: &str, idle: Idle) -> Result<Self, Failure> {
        let epoch = SystemEntropy::number().map_err(|error| Failure::because(error.report()))?;
        match db {
            Db::Memory => {
                let store = Arc::new(MemoryStore::new());
                Ok(Self { store, epoch, commits: None, originals: None, checkpoints: None })
            }
            Db::File(file) => open_file(file, epoch, if_in_use, idle),
        }
    }
}

fn open_file(file: &Path, epoch_if_new: u64, if_in_use: &str, idle: Idle) -> Result<OpenStore, Failure> {
    // To open a file is to copy its log into it.
    let had_log = has_log(file);
    let hint = |is_damaged| match is_damaged {
        true if had_log => IF_DAMAGED,
        false if has_log(file) => IF_WHOLE,
        _ => "",
    };
    let journal = SqliteJournal::open(file, epoch_if_new).map_err(|error| match error {
        OpenError::InUse { .. } => Failure::because(format!("{error}; {if_in_use}")),
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
        let hint = hint(error.kind() == StoreErrorKind::Corrupt);
        Failure::because(format!("{} cannot be used: {}{hint}", file.display(), error.report()))
    })?;
    let store = Arc::new(store);
    Ok(OpenStore { store, epoch: header.epoch, commits: Some(commits), originals, checkpoints })
}

/// What may be wrong with a file that is damaged: the log that was beside it belonged to the one that was there before.
const IF_DAMAGED: &str = "; if it was restored from a backup, restore it again, and move the -wal beside it away first: it is another \
                          file's";

/// A disk that is full, a lock or a mode says nothing against the log, and whoever took it away would lose what is in it.
const IF_WHOLE: &str = "; leave the -wal beside it where it is: it holds what was acknowledged last";

/// Whether something is in the log beside a file.
fn has_log(file: &Path) -> bool {
    fs::metadata(beside(file, "-wal")).is_ok_and(|found| found.len() > 0)
}
