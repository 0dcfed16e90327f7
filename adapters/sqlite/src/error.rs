//! What can go wrong, said without a statement and without a value: the file holds other people's data.

use std::io;
use std::path::{Path, PathBuf};

use petstore_domain::{AccountId, CategoryId};
use petstore_ports::StoreError;
use rusqlite::{Error, ErrorCode, ffi};

use crate::Place;

/// Why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("{} is in use: {} holds {}", path.display(), named(*holder), lock.display())]
    InUse {
        /// The database.
        path: PathBuf,
        /// The file that is locked.
        lock: PathBuf,
        /// The process, as it has written into that file.
        holder: Option<u32>,
    },
    /// Another process has it open under another name.
    #[error(
        "{} is in use under another name, by a hard link or another mount: {} holds it",
        path.display(),
        named(*holder)
    )]
    InUseByAnotherName {
        /// The database.
        path: PathBuf,
        /// The process, where the system says it.
        holder: Option<u32>,
    },
    /// A file cannot be made or opened.
    #[error("{} cannot be opened: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{} is not the data file of a petstore", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// The file was written with another schema than the one that is asked for.
    #[error("{} has {}", path.display(), versions(*found, *known))]
    Version {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: u32,
        /// The version that this program knows.
        known: u32,
    },
    /// It holds objects that no version of the program makes.
    #[error("{} has another schema than a petstore gives it, which can destroy data: {reason}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Which objects, and the statements that remove them.
        reason: String,
    },
    /// Its names are folded by another rule than this program's.
    #[error("{} has {}", path.display(), rules(*found, *known))]
    Folding {
        /// The file.
        path: PathBuf,
        /// The version of its rule.
        found: u32,
        /// The version that this program knows.
        known: u32,
    },
    /// Records have names that are equal by the folding rule of this program, and were not by that of the file.
    #[error("{} has {}", path.display(), namesakes(categories, accounts))]
    Namesakes {
        /// The file, which is left as it was.
        path: PathBuf,
        /// Each category that has the name of an older one, and that one.
        categories: Vec<(CategoryId, CategoryId)>,
        /// Each account that has the name of an older one, and that one.
        accounts: Vec<(AccountId, AccountId)>,
    },
    /// What was read back is not what was written.
    #[error("{} cannot be used: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the engine says, or which row is wrong.
        reason: String,
    },
    /// The log is damaged, and a later transaction stands behind the damage: what was acknowledged would be lost.
    #[error("{} is damaged in {place}, and changes that were acknowledged stand behind that", path.display())]
    LogDamaged {
        /// The log.
        path: PathBuf,
        /// Where it is damaged.
        place: Place,
    },
    /// The database was in use and was not closed, and its log is gone.
    #[error(
        "{} cannot be used: {}, which holds all that was written since it was made, is missing: bring that back, or move \
         {} away to begin a new store",
        path.display(), log.display(), path.display()
    )]
    LogMissing {
        /// The database.
        path: PathBuf,
        /// What is missing.
        log: PathBuf,
    },
    /// The engine cannot read or write it now.
    #[error("{} cannot be used: {reason}", path.display())]
    Engine {
        /// The file.
        path: PathBuf,
        /// What the engine says.
        reason: String,
    },
}

/// Which schema a file has, which one it should have, and how an older file comes to have it.
fn versions(found: u32, known: u32) -> String {
    let raised = if found < known { ", to which a server that starts on it brings it" } else { "" };
    format!("schema version {found}, and this program reads version {known}{raised}")
}

/// Which rule a file's names are folded by, which one this program has, and how an older one is raised.
fn rules(found: u32, known: u32) -> String {
    let end = if found < known {
        ", to which a server that starts on it brings it"
    } else {
        ": open it with the version that wrote it, or a newer one"
    };
    format!("names that are compared by rule {found}, and this program knows rule {known}{end}")
}

/// The records of a kind that one message lists at most.
const LISTED_MAX: usize = 20;

fn namesakes(categories: &[(CategoryId, CategoryId)], accounts: &[(AccountId, AccountId)]) -> String {
    let kinds = [("categories", listed(categories)), ("accounts", listed(accounts))];
    let told = kinds.iter().filter(|(_, list)| !list.is_empty());
    let told: Vec<_> = told.map(|(kind, list)| format!("{kind} whose names read the same: {list}")).collect();
    told.join(", and ")
}

fn listed<Id: std::fmt::Display>(pairs: &[(Id, Id)]) -> String {
    let shown: Vec<_> =
        pairs.iter().take(LISTED_MAX).map(|(id, of)| format!("{id} has the name of {of}")).collect();
    let rest = pairs.len().saturating_sub(LISTED_MAX);
    let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn named(holder: Option<u32>) -> String {
    holder.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"))
}

/// Why a journal was not copied.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is a file where the copy was to go.
    #[error("{} is there already, and a backup overwrites nothing: name another file", path.display())]
    Exists {
        /// That file.
        path: PathBuf,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Source(#[from] OpenError),
    /// The copy cannot be made.
    #[error("{} cannot be written: {reason}", path.display())]
    Target {
        /// The copy.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl OpenError {
    pub(crate) fn engine(path: &Path) -> impl Fn(Error) -> Self {
        |error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotAJournal { path: path.into() },
            _ if is_cut(&error) => {
                Self::Damaged { path: path.into(), reason: "it has been cut short".to_owned() }
            }
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path: path.into(), reason: reason(&error) },
            _ => Self::Engine { path: path.into(), reason: reason(&error) },
        }
    }
}

/// Without the file's path: what a store says of itself is shown to whoever asks whether it is ready.
impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::InUse { .. } => Self::unavailable("another process holds the data file"),
            OpenError::InUseByAnotherName { .. } => {
                Self::unavailable("another process holds the data file under another name")
            }
            OpenError::Foreign { .. } => {
                Self::unavailable("the data file has another schema than a petstore gives it")
            }
            OpenError::File { source, .. } => {
                Self::unavailable("the data file cannot be opened").with_source(source)
            }
            OpenError::NotAJournal { .. } => Self::corrupt("the data file is not that of a petstore"),
            OpenError::Version { found, known, .. } => {
                Self::unavailable(format!("the data file has {}", versions(found, known)))
            }
            OpenError::Folding { found, known, .. } => {
                Self::unavailable(format!("the data file has {}", rules(found, known)))
            }
            OpenError::Namesakes { categories, accounts, .. } => {
                Self::unavailable(format!("the data file has {}", namesakes(&categories, &accounts)))
            }
            OpenError::Damaged { reason, .. } => Self::corrupt(format!("the data file: {reason}")),
            OpenError::LogDamaged { place, .. } => Self::corrupt(format!(
                "the -wal is damaged in {place}, and changes that were acknowledged stand behind that"
            )),
            OpenError::LogMissing { .. } => Self::unavailable(
                "its -wal, which holds all that was written since it was made, is missing: bring that back",
            ),
            OpenError::Engine { reason, .. } => {
                Self::unavailable(format!("the data file cannot be used: {reason}"))
            }
        }
    }
}

/// The driver's error as a store's failure carries it, so that it reaches the log: by its code alone, since the messages of
/// the engine may hold parts of a statement.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
struct EngineError {
    reason: String,
}

impl EngineError {
    fn of(error: &Error) -> Self {
        Self { reason: reason(error) }
    }
}

/// What the engine says, by its code alone: its messages may hold parts of a statement.
pub(crate) fn reason(error: &Error) -> String {
    match error.sqlite_error() {
        Some(failure) if failure.extended_code == ffi::SQLITE_READONLY_DIRECTORY => {
            "its folder may not be written, and even to read it takes that: copy it into another one".into()
        }
        Some(failure) => {
            format!("{} (code {})", ffi::code_to_str(failure.extended_code), failure.extended_code)
        }
        None => match error {
            Error::StatementChangedRows(_) => "the batch does not follow the last one".into(),
            Error::ToSqlConversionFailure(_) => "a number is larger than a column holds".into(),
            _ => "a statement failed".into(),
        },
    }
}

/// A failure to write.
pub(crate) fn unavailable(doing: &str, error: &Error) -> StoreError {
    StoreError::unavailable(doing.to_owned()).with_source(EngineError::of(error))
}

/// Whether the engine has met the end of the file where it has written more.
fn is_cut(error: &Error) -> bool {
    error.sqlite_error().is_some_and(|failure| failure.extended_code == ffi::SQLITE_IOERR_SHORT_READ)
}

/// Whether the engine has met something that it has not written.
pub(crate) fn is_damage(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether somebody else held the lock, so that nothing was begun.
pub(crate) fn is_busy(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// A failure of the engine: what it calls damage is told as damage.
pub(crate) fn unreadable(table: &str, error: &Error) -> StoreError {
    if is_damage(error) {
        return StoreError::corrupt(table.to_owned()).with_source(EngineError::of(error));
    }
    unavailable(table, error)
}
