//! Reading a file that may be in use: a consistent state of it, while its owner goes on writing.

use std::fs::{self, File};
use std::io;
use std::path::{self, Path, PathBuf};

use petstore_ports::{Header, Row, StoreError};
use rusqlite::ErrorCode;

use crate::error::reason;
use crate::{BackupError, OpenError, connection, files, load};

/// Hands over everything that a journal holds at one moment, in the order of
/// [`Journal::load`](petstore_ports::Journal::load).
///
/// The file is not changed and may be in use by another process. As long as this reads, the owner's log cannot be begun
/// anew: a sink should be quick.
pub fn read_snapshot(
    path: &Path,
    into: &mut dyn FnMut(Row) -> Result<(), StoreError>,
) -> Result<Header, StoreError> {
    load::hand_over(&connection::reader(&absolute(path)?)?, into)
}

/// A copy that was made, and what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// How many pets.
    pub pets: u64,
    /// How many orders.
    pub orders: u64,
    /// The size of the file.
    pub bytes: u64,
}

/// Makes a copy of a journal that may be in use by another process: its state at one moment, without unused pages, on
/// disk when this returns. There must be no file at the target.
pub fn backup(source: &Path, target: &Path) -> Result<Copied, BackupError> {
    let unwritten = |reason: String| BackupError::Target { path: target.into(), reason };
    let failed = |error: io::Error| unwritten(error.to_string());
    let unread = |error| OpenError::File { path: source.into(), source: error };
    let connection = connection::reader(&path::absolute(source).map_err(unread)?)?;
    let place = path::absolute(target).map_err(failed)?;
    let name = place.to_str().ok_or_else(|| unwritten("its name is not UTF-8".to_owned()))?;
    files::create(&place).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => BackupError::Exists { path: target.into() },
        _ => failed(error),
    })?;
    let copied = connection
        .execute("VACUUM INTO ?1", [name])
        .map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                OpenError::engine(source)(error).into()
            }
            _ => unwritten(reason(&error)),
        })
        .and_then(|_| {
            let (pets, orders) = counts(&place)?;
            // The engine does not sync a copy.
            let file = File::open(&place).map_err(failed)?;
            file.sync_all().and_then(|()| files::sync_directory_of(&place)).map_err(failed)?;
            Ok(Copied { pets, orders, bytes: file.metadata().map_err(failed)?.len() })
        });
    if copied.is_err() {
        // Half a copy is worth nothing; that it cannot be removed is less than why it was not made.
        let _ = fs::remove_file(&place);
    }
    copied
}

/// How many pets and orders a journal holds.
fn counts(path: &Path) -> Result<(u64, u64), OpenError> {
    let sql = "SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM orders)";
    let counted = connection::reader(path)?.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    counted.map_err(OpenError::engine(path))
}

/// An absolute path: SQLite would take one that begins with `file:` for a URI.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    path::absolute(path).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}
