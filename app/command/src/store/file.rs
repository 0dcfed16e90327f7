//! The store in memory with its journal in a file.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use petstore_http::IdleTime;
use petstore_memory::{MemoryStore, Opened};
use petstore_ports::{StoreErrorKind, WorkProgress};
use petstore_sqlite::{OpenError, OpenOptions, SqliteJournal, check_log_of, companion, is_database};

use super::commits::{CommitCounters, TimedJournal};
use super::{Backend, Kind};
use crate::environment::Pressure;
use crate::failure::Failure;
use crate::files::has_folder;
use crate::settings::DEFAULT_DB;

/// Opens a file, and creates it if it is missing. The changes of a migration wait for [`MemoryStore::accept`].
pub(super) fn open_file(
    file: &Path,
    epoch_if_new: u64,
    if_in_use: &str,
    idle: IdleTime,
    options: OpenOptions,
    progress: &Arc<dyn WorkProgress>,
) -> Result<Backend, Failure> {
    // Opening a file may copy the log into the file, so the existence of the log is determined before.
    let had_log = has_log(file);
    let hint = |is_damaged| match is_damaged {
        true if had_log => IF_DAMAGED,
        true => "; restore a backup",
        false if has_log(file) => IF_WHOLE,
        _ => "",
    };
    let opened = SqliteJournal::open_watched(file, epoch_if_new, options, &**progress);
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
        OpenError::Engine { .. } => Failure::because(format!("{}{}", error.report(), hint(false))),
        OpenError::File { .. } if file.is_dir() => Failure::because(is_folder(file)),
        OpenError::File { ref source, .. } if is_forbidden(source) => {
            Failure::because(format!("{}{IF_FORBIDDEN}", error.report()))
        }
        OpenError::File { ref source, .. } if source.kind() == io::ErrorKind::NotFound => {
            Failure::because(format!("{}{IF_NO_FOLDER}", error.report()))
        }
        error => with_advice(&error),
    })?;
    let (dropped, missing) = (journal.dropped(), journal.missing());
    let (files, checkpoints) = (Some(journal.open_files()), Some(journal.checkpoint_health()));
    let commits = Arc::<CommitCounters>::default();
    let rows_at_most = journal.rows_at_most();
    let progress = Arc::clone(progress);
    let journal = TimedJournal { journal, commits: Arc::clone(&commits), progress, rows_at_most };
    let mut pressure = Pressure::on(idle);
    let opened = MemoryStore::open_tentatively(Box::new(journal), move || pressure.is_high());
    let Opened { store, header } = opened.map_err(|error| {
        let hint = hint(error.kind() == StoreErrorKind::Corrupt);
        Failure::because(format!("{} cannot be used: {}{hint}", file.display(), error.report()))
    })?;
    let store = Arc::new(store);
    let commits = Some(commits);
    Ok(Backend {
        commits,
        files,
        checkpoints,
        dropped,
        missing,
        mended,
        ..Backend::of(Kind::Local(store), header.epoch)
    })
}

/// The advice for a file with names that are equal by the rule of this program.
const IF_NAMESAKES: &str = "start once with --rename-collisions, which appends the id to the name of the younger \
    one, or rename them with the version that wrote the file";

/// The advice for a damaged file, whose log may belong to another file.
const IF_DAMAGED: &str = "; if it was restored from a backup, move the -wal beside it away, which belongs to another \
    file, and restore it again";

/// The advice for a log that is damaged or lacks changes. All its suggestions except the first lose acknowledged changes.
pub(crate) const IF_LOG_DAMAGED: &str = "; restore the undamaged file or a backup, or copy both files away and start \
    a server once with --drop-damaged-wal, which drops those changes";

/// The advice for a file that cannot be read now. Its log may be sound, and removing that log would lose changes.
const IF_WHOLE: &str = "; keep the -wal beside it: it holds the latest acknowledged changes";

/// The advice for a file or folder that is not writable.
const IF_FORBIDDEN: &str = "; the file and its folder must be writable for the user that runs petstore: name another \
    file with --db, or use --db memory, which stores nothing";

/// The advice if the folder of a data file is missing, because a start creates the file but not its folder.
const IF_NO_FOLDER: &str = "; make its folder first, or name another file with --db";

/// The message if the path of a data file is a folder. It suggests the file in that folder.
fn is_folder(folder: &Path) -> String {
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

/// Opens a file for reading. The system opens a folder without an error, so this function refuses a folder.
pub(crate) fn open_readable(file: &Path) -> io::Result<File> {
    let file = File::open(file)?;
    if file.metadata()?.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(file) }
}

/// The failure of a file that is refused for its log, with advice if changes may be dropped.
fn with_advice(error: &OpenError) -> Failure {
    let advice = if is_droppable(error) { IF_LOG_DAMAGED } else { "" };
    Failure::because(format!("{}{advice}", error.report()))
}

/// Returns true if a start may drop the changes that the log has lost.
fn is_droppable(error: &OpenError) -> bool {
    matches!(error, OpenError::LogDamaged { .. } | OpenError::LogIncomplete { .. })
}

/// Checks, without opening the store, that a start could use this data file: it is the file of a petstore with the log that
/// belongs to it, or its folder exists. What this user may not see counts as usable, because the server may run as a user that sees it. Must not run in
/// a process that has the file open.
pub(crate) fn check_usable(file: &Path, drops_damage: bool) -> Result<(), Failure> {
    let no = |why: String| Err(Failure::because(why));
    match open_readable(file) {
        Ok(found) if found.metadata().is_ok_and(|found| found.len() == 0) => Ok(()),
        Ok(_) if is_database(file) => match check_log_of(file) {
            Err(error) if drops_damage && is_droppable(&error) => Ok(()),
            checked => checked.map_err(|error| with_advice(&error)),
        },
        Ok(_) => no(format!("{} is not the data file of a petstore", file.display())),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => no(is_folder(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !has_folder(file) => {
            no(format!("{} cannot be opened: {error}{IF_NO_FOLDER}", file.display()))
        }
        Err(_) => Ok(()),
    }
}

/// Checks that a data file is readable, so that the message about a failure is precise. SQLite reports every failure
/// alike. Must not run in a process that has the file open, because closing the file would release its locks.
pub(crate) fn check_readable(file: &Path, nowhere: impl Fn() -> Failure) -> Result<(), Failure> {
    open_readable(file).map(drop).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => nowhere(),
        io::ErrorKind::IsADirectory => Failure::because(is_folder(file)),
        _ => Failure::because(format!("{} cannot be read: {error}", file.display())),
    })
}
