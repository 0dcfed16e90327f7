//! Reading a file that may be in use: a consistent state of it, while its owner goes on writing.

use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};

use petstore_ports::{Header, Row, StoreError};
use rusqlite::{Connection, ErrorCode};

use crate::error::reason;
use crate::{BackupError, OpenError, Part, after_crash, connection, files, load, meta, mount, names};

/// Hands over everything that a journal holds at one moment, in the order of
/// [`Journal::load`](petstore_ports::Journal::load).
///
/// The file is not changed and may be in use by another process. As long as this reads, the owner's log cannot be begun
/// anew: a sink should be quick.
pub fn read_snapshot(
    path: &Path,
    into: &mut dyn FnMut(Row) -> Result<(), StoreError>,
) -> Result<Header, StoreError> {
    let path = absolute(path)?;
    check(&path)?;
    after_crash::check_at_rest(&path)?;
    load::hand_over(&connection::reader(&path)?, into)
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
///
/// It has no epoch: it gets one when it is opened. Whoever restores it goes back in time, and versions that were given
/// since then are given again, to other content; an entity tag that a client has kept must not fit that.
pub fn backup(source: &Path, target: &Path) -> Result<Copied, BackupError> {
    let unwritten = |reason: String| BackupError::Target { path: target.into(), reason };
    let failed = |error: io::Error| unwritten(error.to_string());
    let unread = |error| OpenError::File { path: source.into(), source: error };
    let original = path::absolute(source).map_err(unread)?;
    check(&original)?;
    after_crash::check_at_rest(&original)?;
    let connection = connection::original(&original)?;
    let place = path::absolute(target).map_err(failed)?;
    is_free(&place, target)?;
    let part = begin(&place, source).map_err(failed)?;
    let undo = files::ending(part.path(), "-journal");
    // What a process left behind that was killed.
    let _ = fs::remove_file(&undo);
    let filled = fill(&connection, &part, source, unwritten);
    if filled.is_err() {
        let _ = fs::remove_file(&undo);
    }
    let (pets, orders) = filled?;
    // The engine does not sync a copy.
    part.file().sync_all().map_err(failed)?;
    let bytes = part.file().metadata().map_err(failed)?.len();
    is_free(&place, target)?;
    part.finish().map_err(failed)?;
    Ok(Copied { pets, orders, bytes })
}

/// Refuses a place where there is something.
pub(crate) fn is_free(place: &Path, target: &Path) -> Result<(), BackupError> {
    match fs::symlink_metadata(place) {
        Ok(_) => Err(BackupError::Exists { path: target.into() }),
        Err(_) => Ok(()),
    }
}

/// Begins a copy, but not where the data itself is, if it has that name.
pub(crate) fn begin(target: &Path, source: &Path) -> io::Result<Part> {
    let place = fs::canonicalize(Part::path_of(target));
    if place.is_ok_and(|found| fs::canonicalize(source).is_ok_and(|data| data == found)) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the copy would begin where the data is"));
    }
    Part::begin(target)
}

/// Copies everything, and says how many pets and orders that is.
fn fill(
    connection: &Connection,
    part: &Part,
    source: &Path,
    unwritten: impl Fn(String) -> BackupError,
) -> Result<(u64, u64), BackupError> {
    let name = part.path().to_str().ok_or_else(|| unwritten("its name is not UTF-8".to_owned()))?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            BackupError::from(OpenError::engine(source)(error))
        }
        _ => unwritten(reason(&error)),
    })?;
    Ok(finish(part.path()).map_err(OpenError::engine(part.path()))?)
}

/// Takes its epoch from a copy, and says how many pets and orders it holds.
fn finish(copy: &Path) -> rusqlite::Result<(u64, u64)> {
    let connection = connection::open(copy)?;
    meta::forget_epoch(&connection)?;
    let sql = "SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM orders)";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Refuses a file whose log stands beside another name of it: without that, what was written last would be missing.
fn check(path: &Path) -> Result<(), OpenError> {
    let path = files::followed(path);
    let failed = |source| OpenError::File { path: path.clone(), source };
    mount::check(&path).map_err(failed)?;
    names::check_in_use(&path)?;
    names::check_logs(&path).map_err(failed)?;
    names::check_last_name(&path).map_err(failed)
}

/// An absolute path: SQLite would take one that begins with `file:` for a URI.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    path::absolute(path).map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: io::Error) -> StoreError {
    StoreError::unavailable(path.display().to_string()).with_source(error)
}
