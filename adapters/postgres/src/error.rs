//! The failures of the driver as errors of the store.

use std::error::Error;
use std::fmt;

use petstore_ports::{StoreError, StoreErrorKind};
use tokio_postgres::error::{Severity, SqlState};

/// The reason why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database refused, or it cannot be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A newer program has changed the tables.
    #[error(
        "the schema {schema} has version {found}, which programs from version {oldest_reader} on can use; this one has \
         version {known}: use a newer release"
    )]
    Version {
        /// The schema that the URL names.
        schema: String,
        /// The version of its tables.
        found: i32,
        /// The oldest version of a program that may use them.
        oldest_reader: i32,
        /// The version of this program.
        known: i32,
    },
    /// Another rule has folded the names.
    #[error(
        "the names in the schema {schema} are folded by rule {found}, and this program has rule {known}: export the shop \
         with the release that wrote it, and import it into another schema"
    )]
    Folding {
        /// The schema that the URL names.
        schema: String,
        /// The rule of its names.
        found: i32,
        /// The rule of this program.
        known: i32,
    },
    /// The events are in a newer form.
    #[error(
        "the events in the schema {schema} have form {found}, and this program knows {known}: use a newer release"
    )]
    EventForm {
        /// The schema that the URL names.
        schema: String,
        /// The newest form of its events.
        found: i32,
        /// The newest form that this program knows.
        known: i32,
    },
    /// The schema belongs to another program.
    #[error(
        "the schema {schema} has tables of another program: name an empty one in the URL, such as ?schema=petstore"
    )]
    Foreign {
        /// The schema that the URL names.
        schema: String,
    },
    /// The schema is not a sandbox's.
    #[error(
        "the schema {schema} was not created by a sandbox, and a reset would delete its data: name a new one in the URL, \
         such as ?schema=sandbox"
    )]
    NotASandbox {
        /// The schema that the URL names.
        schema: String,
    },
    /// Another node migrates the schema for too long.
    #[error(
        "the schema {schema} is being migrated by another connection ({holder}): wait until it ends, or end it"
    )]
    Locked {
        /// The schema that the URL names.
        schema: String,
        /// The connection that holds the lock.
        holder: String,
    },
    /// The role must not create or change the tables.
    #[error(
        "the schema {schema} cannot be created or migrated: {reason}; as a superuser: create schema {schema} \
         authorization the-role"
    )]
    NotAllowed {
        /// The schema that the URL names.
        schema: String,
        /// The refusal of the server.
        reason: String,
    },
    /// A table has no unique index on these columns.
    #[error(
        "the table {table} has no unique index on ({columns}), so a copy of the tables is not complete: copy the schema with \
         pg_dump --schema-only before the rows, or execute: create unique index on {table} ({columns})"
    )]
    NotUnique {
        /// The name of the table.
        table: String,
        /// The columns, separated by commas.
        columns: String,
    },
    /// A table or a sequence lacks a property that changes rely on.
    #[error(
        "{found}, so a copy of the tables is not complete: copy the schema with pg_dump --schema-only before the rows, or execute: {remedy}"
    )]
    Incomplete {
        /// The object, and what it lacks.
        found: String,
        /// The statement that mends it.
        remedy: String,
    },
    /// A trigger or a rule of another program may leave out rows of a change.
    #[error(
        "{found} may leave out or replace what a change writes, and the change would be answered as done: let a trigger run after \
         the change, or execute: {remedy}"
    )]
    Added {
        /// The trigger or the rule, and its table.
        found: String,
        /// The statement that removes its effect.
        remedy: String,
    },
    /// Row-level security hides rows from the role, or refuses its changes.
    #[error(
        "row-level security of the table {table} applies to the role: let the role own the table without forcing row-level \
         security on it, or execute: alter table {table} disable row level security"
    )]
    RowSecurity {
        /// The name of the table.
        table: String,
    },
    /// A pooler gives each transaction another connection, and statements are prepared.
    #[error(
        "the database is behind a pooler in transaction mode, such as PgBouncer, where prepared statements and settings of a \
         connection get lost: set pg-prepare to off, or use the pooler's session mode"
    )]
    Pooled,
    /// A pooler allows no transactions.
    #[error(
        "the database is behind a pooler in statement mode, such as PgBouncer, which allows no transactions: use its transaction \
         mode with pg-prepare off, or its session mode"
    )]
    WithoutTransactions,
    /// The role lacks a privilege.
    #[error("the role lacks the privilege {missing}: grant it, or let the role own the schema")]
    Privilege {
        /// The privilege and its object.
        missing: String,
    },
    /// The thread of the store could not be started.
    #[error("the thread of the store cannot be started")]
    Thread(#[source] std::io::Error),
}

/// The consequence of a failed statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The transaction was rolled back because of another one: it may be run again.
    Conflict,
    /// A unique index found a row that the transaction did not see.
    Duplicate,
    /// The connection is of no further use. Another one may be.
    Disconnected,
    /// The whole server is of no further use: it stops, or it accepts no writes any more. So its other connections must be
    /// given up, too.
    ServerLost,
    /// The server lacks a resource, such as disk space or memory. The connection can be used again.
    Exhausted,
    /// The role may not execute the statement, or something in the database prevents it. An operator can change that.
    Denied,
    /// The statement itself is refused, and would be again.
    Refused,
}

/// Classifies a failure of the driver.
pub(crate) fn fate(error: &tokio_postgres::Error) -> Fate {
    let Some(failure) = error.as_db_error() else { return Fate::Disconnected };
    // After an error of a higher severity the server closes the connection.
    let is_error = failure.parsed_severity() == Some(Severity::Error);
    match failure.code().code() {
        // Serialization failure, deadlock, lock timeout.
        "40001" | "40P01" | "55P03" => Fate::Conflict,
        // Unique violation.
        "23505" => Fate::Duplicate,
        // Read-only transaction: after a failover the old primary. Shutdown, crash, start.
        "25006" | "57P01" | "57P02" | "57P03" => Fate::ServerLost,
        // A transaction that paused or lasted for too long, which ends its connection.
        "25P03" | "25P04" => Fate::Disconnected,
        // A full disk, no memory, too many locks; a failure of the file system.
        code if is_error && ["53", "58"].contains(&&code[..2]) => Fate::Exhausted,
        // A failure of the connection itself.
        code if code.starts_with("08") => Fate::ServerLost,
        // The connection is not in the state that it was left in: a transaction has ended or begun, or a prepared statement
        // or a cursor is missing or outdated. A pooler has replaced it, or another node has changed the tables.
        "0A000" | "26000" | "34000" | "42P03" | "42P05" => Fate::Disconnected,
        code if ["25", "55"].contains(&&code[..2]) => Fate::Disconnected,
        // A privilege, or a policy of row-level security. An exception of a trigger that is not ours. A table or its schema
        // that has another name now; or the connection has lost its search path, behind a pooler that was set to transaction
        // mode.
        "42501" | "P0001" | "42P01" | "3F000" => Fate::Denied,
        code if ["57", "53", "58"].contains(&&code[..2]) => Fate::Disconnected,
        _ => Fate::Refused,
    }
}

/// Returns whether the server does not tell the role what a function would: it lacks the function or does not support it, or
/// the role may not execute it. Another attempt would not help.
pub(crate) fn is_withheld(error: &tokio_postgres::Error) -> bool {
    let is_of = |code: &str| ["0A", "42", "55"].contains(&&code[..2]);
    error.as_db_error().is_some_and(|refusal| is_of(refusal.code().code()))
}

/// The failure of a read, or of any call that changed nothing.
pub(crate) fn failed(what: &'static str, error: tokio_postgres::Error) -> StoreError {
    let kind = match fate(&error) {
        Fate::Conflict => StoreErrorKind::Busy,
        Fate::Disconnected | Fate::ServerLost | Fate::Exhausted | Fate::Denied => StoreErrorKind::Unavailable,
        Fate::Duplicate | Fate::Refused => StoreErrorKind::Corrupt,
    };
    StoreError::new(kind, what).with_source(Driver(error))
}

/// The failure of a read for a request. A read waits for no row, so a lock that was not free in time is one of a whole table, and
/// all reads of the table fail.
pub(crate) fn failed_read(what: &'static str, error: tokio_postgres::Error) -> StoreError {
    if is_lock_timeout(&error) {
        StoreError::unavailable(what).with_source(Driver(error))
    } else {
        failed(what, error)
    }
}

/// Returns whether a lock was not free in time.
pub(crate) fn is_lock_timeout(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// A failure of the driver, as the source of a [`StoreError`]. It leaves out the details that the server adds to a refusal,
/// because they quote the refused row: a client's text, or the digest of a key.
pub(crate) struct Driver(pub(crate) tokio_postgres::Error);

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_db_error() {
            Some(refusal) => {
                write!(f, "{}: {} ({})", refusal.severity(), refusal.message(), refusal.code().code())
            }
            None => self.0.fmt(f),
        }
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_db_error() {
            Some(_) => write!(f, "Driver({self})"),
            None => f.debug_tuple("Driver").field(&self.0).finish(),
        }
    }
}

impl Error for Driver {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        if self.0.as_db_error().is_some() { None } else { self.0.source() }
    }
}
