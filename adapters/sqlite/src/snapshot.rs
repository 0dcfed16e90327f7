//! Snapshots and backups of a file that may be in use. They contain a consistent state, even if another process writes
//! the file meanwhile.

use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};

use petstore_ports::{Header, Row, StoreError};
use rusqlite::{Connection, ErrorCode};

use crate::error::EngineError;
use crate::{
    BackupError, OpenError, PartialFile, aliases, connection, crash_recovery, event_batches, files, load,
    meta, mount, schema,
};

/// Reads all rows of a journal in the state of one moment, in the order of
/// [`Journal::load`](petstore_ports::Journal::load).
///
/// The file is not changed and may be in use by another process. That process cannot restart the log during the read,
/// so the sink should be quick.
pub fn read_snapshot(
    path: &Path,
    into: &mut dyn FnMut(Row) -> Result<(), StoreError>,
) -> Result<Header, StoreError> {
    let path = absolute(path)?;
    check(&path)?;
    crash_recovery::check_at_rest(&path)?;
    load::read_all(&connection::reader(&path)?, into)
}

/// The content of a finished copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// The number of pets.
    pub pets: u64,
    /// The number of orders.
    pub orders: u64,
    /// The size of the file in bytes.
    pub bytes: u64,
}

/// Copies a journal that may be in use by another process. The copy has the state of one moment, without events and
/// unused pages. It is on disk when this function returns. The target must not exist.
///
/// The copy has no epoch, and gets a new one when it is opened for the first time. A store that is restored from the
/// copy issues the versions since the backup again, for other content. The new epoch ensures that entity tags that
/// clients have kept do not match this content.
pub fn backup(source: &Path, target: &Path) -> Result<Copied, BackupError> {
    let failed = |error: io::Error| BackupError::target(target, error);
    let unread = |error| OpenError::File { path: source.into(), source: error };
    let original = path::absolute(source).map_err(unread)?;
    check(&original)?;
    crash_recovery::check_at_rest(&original)?;
    let connection = connection::reader_of_any_version(&original)?;
    let place = path::absolute(target).map_err(failed)?;
    check_target(&place, target)?;
    let partial = begin_copy(&place, source).map_err(failed)?;
    let undo = files::with_suffix(partial.path(), "-journal");
    // A killed process may have left the rollback journal of an earlier copy.
    let _ = fs::remove_file(&undo);
    let filled = fill(&connection, &partial, source, target);
    if filled.is_err() {
        let _ = fs::remove_file(&undo);
    }
    let (pets, orders) = filled?;
    // The engine does not sync the copy, so it is synced here.
    partial.file().sync_all().map_err(failed)?;
    let bytes = partial.file().metadata().map_err(failed)?.len();
    check_target(&place, target)?;
    partial.finish().map_err(failed)?;
    Ok(Copied { pets, orders, bytes })
}

/// Refuses a target that exists.
pub(crate) fn check_target(place: &Path, target: &Path) -> Result<(), BackupError> {
    match fs::symlink_metadata(place) {
        Ok(_) => Err(BackupError::Exists { path: target.into() }),
        Err(_) => Ok(()),
    }
}

/// Begins a copy, unless its temporary name is that of the data file.
pub(crate) fn begin_copy(target: &Path, source: &Path) -> io::Result<PartialFile> {
    let place = fs::canonicalize(PartialFile::path_of(target));
    if place.is_ok_and(|found| fs::canonicalize(source).is_ok_and(|data| data == found)) {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "the temporary file of the copy would overwrite the data file: name another file",
        ));
    }
    PartialFile::begin(target)
}

/// Copies the database. Returns the number of pets and orders.
fn fill(
    connection: &Connection,
    partial: &PartialFile,
    source: &Path,
    target: &Path,
) -> Result<(u64, u64), BackupError> {
    if schema::has_events(connection).map_err(OpenError::engine(source))? {
        let failed = |error: io::Error| BackupError::target(target, error);
        let with_events =
            begin_copy(&files::with_suffix(partial.path(), ".events"), source).map_err(failed)?;
        vacuum_into(connection, with_events.path(), source, target)?;
        let failed = OpenError::engine(with_events.path());
        let without = without_events(with_events.path()).map_err(failed)?;
        vacuum_into(&without, partial.path(), source, target)?;
    } else {
        vacuum_into(connection, partial.path(), source, target)?;
    }
    Ok(finish(partial.path()).map_err(OpenError::engine(partial.path()))?)
}

fn vacuum_into(
    connection: &Connection,
    copy: &Path,
    source: &Path,
    target: &Path,
) -> Result<(), BackupError> {
    let name = copy
        .to_str()
        .ok_or_else(|| BackupError::target(target, "its name is not UTF-8: name another file"))?;
    match connection.execute("VACUUM INTO ?1", [name]) {
        Ok(_) => Ok(()),
        Err(error) => Err(match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                BackupError::from(OpenError::engine(source)(error))
            }
            _ => BackupError::target(target, EngineError::of(&error)),
        }),
    }
}

/// Opens a copy and drops its events. A restored copy begins a new event log. The event ids of this log are ids that no
/// reader has seen.
fn without_events(copy: &Path) -> rusqlite::Result<Connection> {
    let connection = connection::open(copy)?;
    connection::configure_copy(&connection)?;
    event_batches::restart(&connection, meta::NO_EPOCH)?;
    Ok(connection)
}

/// Removes the epoch of a copy. Returns the number of pets and orders.
fn finish(copy: &Path) -> rusqlite::Result<(u64, u64)> {
    let connection = connection::open(copy)?;
    meta::forget_epoch(&connection)?;
    let sql = "SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM orders)";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Refuses a file whose log is beside another name of the file, because a snapshot would lack the changes in that log.
pub(crate) fn check(path: &Path) -> Result<(), OpenError> {
    let path = files::resolve_link(path);
    let failed = |source| OpenError::File { path: path.clone(), source };
    mount::check(&path).map_err(failed)?;
    aliases::check_in_use(&path)?;
    aliases::check_logs(&path).map_err(failed)?;
    aliases::check_last_name(&path).map_err(failed)
}

/// Returns an absolute path, because SQLite would take a path that begins with `file:` for a URI.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    path::absolute(path).map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: io::Error) -> StoreError {
    StoreError::unavailable(path.display().to_string()).with_source(error)
}
