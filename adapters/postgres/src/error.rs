//! The failures of the driver as errors of the store.

use petstore_ports::{StoreError, StoreErrorKind};
use tokio_postgres::error::SqlState;

/// The reason why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database refused, or it cannot be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The thread of the store could not be started.
    #[error("the thread of the store cannot be started")]
    Thread(#[source] std::io::Error),
}

/// The consequence of a failed statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The transaction was undone for the sake of another one: it may be run again.
    Conflict,
    /// A unique index found a row that the transaction did not see.
    Duplicate,
    /// The connection, or its server, is of no further use. Another one may be.
    Disconnected,
    /// The statement itself is refused, and would be again.
    Refused,
}

/// Classifies a failure of the driver.
pub(crate) fn fate(error: &tokio_postgres::Error) -> Fate {
    let Some(state) = error.code() else { return Fate::Disconnected };
    match state.code() {
        // Serialization failure, deadlock, lock timeout.
        "40001" | "40P01" | "55P03" => Fate::Conflict,
        _ if *state == SqlState::UNIQUE_VIOLATION => Fate::Duplicate,
        // Read-only transaction: after a failover the old primary. Shutdown, crash, start: classes 57P and 08. Resources
        // such as a full disk or too many connections: class 53.
        "25006" => Fate::Disconnected,
        code if ["08", "57", "53", "58"].contains(&&code[..2]) => Fate::Disconnected,
        _ => Fate::Refused,
    }
}

/// The failure of a read, or of any call that changed nothing.
pub(crate) fn failed(what: &'static str, error: tokio_postgres::Error) -> StoreError {
    let kind = match fate(&error) {
        Fate::Conflict => StoreErrorKind::Busy,
        Fate::Disconnected => StoreErrorKind::Unavailable,
        Fate::Duplicate | Fate::Refused => StoreErrorKind::Corrupt,
    };
    StoreError::new(kind, what).with_source(error)
}
