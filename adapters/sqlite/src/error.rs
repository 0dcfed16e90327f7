//! The errors of this crate. No message contains an SQL statement or a stored value, because the file holds customers'
//! data.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use petstore_domain::{AccountId, CategoryId};
use petstore_ports::StoreError;
use rusqlite::{Error, ErrorCode, ffi};

use crate::{LogPosition, MissingBatches};

/// The reason why a journal cannot be opened. The message does not include the cause, which is the error's source.
/// [`OpenError::report`] returns both.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the file open.
    #[error("{} is in use: {} holds {}", path.display(), process(*holder), lock.display())]
    InUse {
        /// The data file, as it was named.
        path: PathBuf,
        /// The lock file beside the data file.
        lock: PathBuf,
        /// The process id that the lock file contains.
        holder: Option<u32>,
    },
    /// Another process has the file open under another name.
    #[error(
        "{} is in use under another name, by a hard link or another mount: {} holds it",
        path.display(),
        process(*holder)
    )]
    InUseByAnotherName {
        /// The data file, as it was named.
        path: PathBuf,
        /// The process id, if the system reports it.
        holder: Option<u32>,
    },
    /// A file cannot be created or opened.
    #[error("{} cannot be opened", path.display())]
    File {
        /// The path of the file, as it was named.
        path: PathBuf,
        /// The error of the system, or the reason why the file is refused.
        source: io::Error,
    },
    /// The file is not a data file of a petstore.
    #[error("{} is not the data file of a petstore", path.display())]
    NotAJournal {
        /// The path of the file, as it was named.
        path: PathBuf,
    },
    /// The file has a schema version that this program does not read.
    #[error("{} has {}", path.display(), versions(*found, *known))]
    Version {
        /// The path of the file, as it was named.
        path: PathBuf,
        /// The version of the schema in the file.
        found: u32,
        /// The version that this program knows.
        known: u32,
    },
    /// The file contains objects that no version of the program creates.
    #[error("{} has an unexpected schema, which can destroy data: {reason}", path.display())]
    UnexpectedSchema {
        /// The path of the file, as it was named.
        path: PathBuf,
        /// The objects, and the statements that remove them.
        reason: String,
    },
    /// The folding rule by which the names in the file were folded is not the rule of this program.
    #[error("{} has {}", path.display(), rules(*found, *known))]
    Folding {
        /// The path of the file, as it was named.
        path: PathBuf,
        /// The version of the rule in the file.
        found: u32,
        /// The version that this program knows.
        known: u32,
    },
    /// The events in the file are in a form that this program does not know.
    #[error("{} has {}", path.display(), event_version(*found, *known))]
    EventVersion {
        /// The path of the file, as it was named.
        path: PathBuf,
        /// The version of the form.
        found: u32,
        /// The version that this program knows.
        known: u32,
    },
    /// Records have names that are equal by the folding rule of this program, but were different by the rule of the
    /// file.
    #[error("{} has {}", path.display(), name_collisions(categories, accounts))]
    NameCollisions {
        /// The file, which is left as it was.
        path: PathBuf,
        /// Pairs of a category and an older category with an equal name.
        categories: Vec<(CategoryId, CategoryId)>,
        /// Pairs of an account and an older account with an equal name.
        accounts: Vec<(AccountId, AccountId)>,
    },
    /// The engine has found damage in the file.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The path of the file, as it was named.
        path: PathBuf,
        /// The error of the engine.
        source: EngineError,
    },
    /// The row of the table `meta` cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The path of the file, as it was named.
        path: PathBuf,
        /// The error. Its kind is `Corrupt` if the row is damaged.
        source: StoreError,
    },
    /// The log is damaged before its last transaction. If the damaged part were dropped, acknowledged changes would be
    /// lost.
    #[error("{} is damaged in {position}, and acknowledged changes follow the damage", path.display())]
    LogDamaged {
        /// The write-ahead log (`-wal`) beside the data file.
        path: PathBuf,
        /// The position of the damage.
        position: LogPosition,
    },
    /// The log of the database is missing, although the database was not closed normally.
    #[error(
        "{} cannot be used: {}, which holds all changes since the file was created, is missing: bring that back, or move \
         {} away to begin a new store",
        path.display(), log.display(), path.display()
    )]
    LogMissing {
        /// The data file, as it was named.
        path: PathBuf,
        /// The path at which the write-ahead log was.
        log: PathBuf,
    },
    /// The file and its log lack batches that had been on disk.
    #[error(
        "{} lacks acknowledged changes: it had batch {} on disk, and with {} it ends at batch {}, so that -wal is missing, was \
         emptied or is an older one",
        path.display(), missing.marked.0, log.display(), missing.found.0
    )]
    LogIncomplete {
        /// The data file, as it was named.
        path: PathBuf,
        /// The log that lacks the batches.
        log: PathBuf,
        /// The last batch that was on disk, and the last one that is found.
        missing: MissingBatches,
    },
    /// The log is that of another file, or of a later state of this one.
    #[error(
        "{} cannot be used: {} does not continue it: one of them was replaced; bring back the two files that belong \
         together, or move the -wal away, which drops the changes in it", path.display(), log.display()
    )]
    LogOfOther {
        /// The data file, as it was named.
        path: PathBuf,
        /// The log beside it.
        log: PathBuf,
    },
    /// The engine cannot read or write the file now.
    #[error("{} cannot be used", path.display())]
    Engine {
        /// The path of the file, as it was named.
        path: PathBuf,
        /// The error of the engine.
        source: EngineError,
    },
}

/// Describes a schema version that this program does not read, and how an older file is migrated.
fn versions(found: u32, known: u32) -> String {
    let remedy = if found < known {
        ": a server that starts on it migrates it"
    } else {
        ": open it with the version that wrote it, or a newer one"
    };
    format!("schema version {found}, and this program reads version {known}{remedy}")
}

/// Describes a folding rule that this program does not have, and how an older file is migrated.
fn rules(found: u32, known: u32) -> String {
    let remedy = if found < known {
        ": a server that starts on it migrates it"
    } else {
        ": open it with the version that wrote it, or a newer one"
    };
    format!("names that are compared by rule {found}, and this program knows rule {known}{remedy}")
}

/// Describes a form of events that this program does not know.
fn event_version(found: u32, known: u32) -> String {
    format!(
        "events in form {found}, and this program knows form {known}: open it with the version that wrote it, or a newer one"
    )
}

/// The number of records of a kind that a message names.
const LISTED_MAX: usize = 20;

fn name_collisions(categories: &[(CategoryId, CategoryId)], accounts: &[(AccountId, AccountId)]) -> String {
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

fn process(holder: Option<u32>) -> String {
    holder.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"))
}

/// The reason why a backup failed. The message does not include the cause, which is the error's source.
/// [`BackupError::report`] returns both.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A file exists at the target, and is not replaced.
    #[error("{} exists already, and a backup overwrites no file: name another file", path.display())]
    Exists {
        /// The path of the copy.
        path: PathBuf,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Source(#[from] OpenError),
    /// The target cannot be written.
    #[error("{} cannot be written", path.display())]
    Target {
        /// The path of the copy.
        path: PathBuf,
        /// The error of the system or of the engine.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl OpenError {
    /// The message, followed by the messages of all sources, in one line.
    pub fn report(&self) -> String {
        report(self)
    }

    pub(crate) fn engine(path: &Path) -> impl Fn(Error) -> Self {
        |error| {
            let (path, source) = (path.into(), EngineError::of(&error));
            match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase) => Self::NotAJournal { path },
                _ if is_cut(&error) => Self::Damaged { path, source },
                Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, source },
                _ => Self::Engine { path, source },
            }
        }
    }
}

impl BackupError {
    /// The message, followed by the messages of all sources, in one line.
    pub fn report(&self) -> String {
        report(self)
    }

    pub(crate) fn target(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Target { path: path.into(), source: source.into() }
    }
}

fn report(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}

/// The path of the file is left out, because `/ready` shows the error of the store to any client.
impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::InUse { .. } => Self::unavailable("another process holds the data file"),
            OpenError::InUseByAnotherName { .. } => {
                Self::unavailable("another process holds the data file under another name")
            }
            OpenError::UnexpectedSchema { .. } => Self::unavailable("the data file has an unexpected schema"),
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
            OpenError::EventVersion { found, known, .. } => {
                Self::unavailable(format!("the data file has {}", event_version(found, known)))
            }
            OpenError::NameCollisions { categories, accounts, .. } => {
                Self::unavailable(format!("the data file has {}", name_collisions(&categories, &accounts)))
            }
            OpenError::Damaged { source, .. } => Self::corrupt("the data file").with_source(source),
            OpenError::Unreadable { source, .. } => source,
            OpenError::LogDamaged { position, .. } => Self::corrupt(format!(
                "the -wal is damaged in {position}, and acknowledged changes follow the damage"
            )),
            OpenError::LogMissing { .. } => Self::unavailable(
                "the data file's -wal, which holds all changes since the file was created, is missing: bring that back",
            ),
            OpenError::LogIncomplete { missing, .. } => Self::unavailable(format!(
                "the data file's -wal lacks acknowledged changes: batch {} was on disk, and the last one is batch {}",
                missing.marked.0, missing.found.0
            )),
            OpenError::LogOfOther { .. } => {
                Self::unavailable("the -wal does not continue the data file: one of them was replaced")
            }
            OpenError::Engine { source, .. } => {
                Self::unavailable("the data file cannot be used").with_source(source)
            }
        }
    }
}

/// An error of the engine, described by its result code. The engine's message is left out, because it may contain
/// parts of a statement.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    message: Cow<'static, str>,
    code: Option<i32>,
}

impl EngineError {
    /// SQLite's extended result code; none for an error that did not come from SQLite.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.code
    }

    pub(crate) fn new(message: &'static str) -> Self {
        Self { message: message.into(), code: None }
    }

    pub(crate) fn of(error: &Error) -> Self {
        let code = error.sqlite_error().map(|failure| failure.extended_code);
        let message = match code {
            Some(ffi::SQLITE_READONLY_DIRECTORY) => {
                "its folder is not writable, which is necessary even to read it: copy it into another folder"
                    .into()
            }
            Some(ffi::SQLITE_IOERR_SHORT_READ) => "it has been cut short".into(),
            Some(code) => format!("{} (code {code})", ffi::code_to_str(code)).into(),
            None => Cow::Borrowed(match error {
                Error::StatementChangedRows(_) => "the batch does not follow the last one",
                Error::ToSqlConversionFailure(_) => "a number is larger than a column holds",
                _ => "a statement failed",
            }),
        };
        Self { message, code }
    }
}

/// Converts an error of the engine to one of the kind `Unavailable`. `doing` names what failed.
pub(crate) fn unavailable(doing: &str, error: &Error) -> StoreError {
    StoreError::unavailable(doing.to_owned()).with_source(EngineError::of(error))
}

/// Returns true if the file is shorter than it was when the engine wrote it.
fn is_cut(error: &Error) -> bool {
    error.sqlite_error().is_some_and(|failure| failure.extended_code == ffi::SQLITE_IOERR_SHORT_READ)
}

/// Returns true if the engine has found damage.
pub(crate) fn is_damage(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Returns true if no transaction began, because another connection held the lock.
pub(crate) fn is_busy(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// Converts an error of a read. Damage becomes a `Corrupt` error.
pub(crate) fn unreadable(table: &str, error: &Error) -> StoreError {
    if is_damage(error) {
        return StoreError::corrupt(table.to_owned()).with_source(EngineError::of(error));
    }
    unavailable(table, error)
}
