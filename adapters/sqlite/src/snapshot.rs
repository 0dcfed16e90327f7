//! Reading a file that may be in use: a consistent state of it, while its owner goes on writing.

use std::fs::{self, File};
use std::io;
use std::path::{self, Path, PathBuf};

use petstore_ports::{Header, Row, StoreError};
use rusqlite::ErrorCode;

use crate::error::reason;
use crate::{BackupError, OpenError, connection, files, load, meta};

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
///
/// It has no epoch: it gets one when it is opened. Whoever restores it goes back in time, and versions that were given
/// since then are given again, to other content; an entity tag that a client has kept must not fit that.
pub fn backup(source: &Path, target: &Path) -> Result<Copied, BackupError> {
    let unwritten = |reason: String| BackupError::Target { path: target.into(), reason };
    let failed = |error: io::Error| unwritten(error.to_string());
    let unread = |error| OpenError::File { path: source.into(), source: error };
    let connection = connection::reader(&path::absolute(source).map_err(unread)?)?;
    let place = path::absolute(target).map_err(failed)?;
    let is_free = || match fs::symlink_metadata(&place) {
        Ok(_) => Err(BackupError::Exists { path: target.into() }),
        Err(_) => Ok(()),
    };
    is_free()?;
    let mut part = Part::new(&place, source).map_err(failed)?;
    let name = part.path.to_str().ok_or_else(|| unwritten("its name is not UTF-8".to_owned()))?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            BackupError::from(OpenError::engine(source)(error))
        }
        _ => unwritten(reason(&error)),
    })?;
    let (pets, orders) = finish(&part.path).map_err(OpenError::engine(&part.path))?;
    // The engine does not sync a copy.
    part.file.sync_all().map_err(failed)?;
    is_free()?;
    fs::rename(&part.path, &place).map_err(failed)?;
    part.is_named = true;
    files::sync_directory_of(&place).map_err(failed)?;
    Ok(Copied { pets, orders, bytes: part.file.metadata().map_err(failed)?.len() })
}

/// A copy on its way, which goes unless it is given its name: half of one is worth nothing, and would be taken for one.
struct Part {
    path: PathBuf,
    /// Locked, so that nobody else begins one of the same name.
    file: File,
    is_named: bool,
}

impl Part {
    fn new(target: &Path, source: &Path) -> io::Result<Self> {
        let path = files::ending(target, ".part");
        // Not so the data itself, if it has that name.
        if fs::canonicalize(&path).is_ok_and(|found| fs::canonicalize(source).is_ok_and(|data| data == found))
        {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the copy would begin where the data is",
            ));
        }
        let file = files::begin_part(&path)?;
        // What a process left behind that was killed.
        let _ = fs::remove_file(journal_of(&path));
        Ok(Self { path, file, is_named: false })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.is_named {
            return;
        }
        for path in [&self.path, &journal_of(&self.path)] {
            // That it cannot be removed is less than why it was not made.
            let _ = fs::remove_file(path);
        }
    }
}

/// Where the engine keeps what it needs to undo a copy that fails.
fn journal_of(copy: &Path) -> PathBuf {
    files::ending(copy, "-journal")
}

/// Takes its epoch from a copy, and says how many pets and orders it holds.
fn finish(copy: &Path) -> rusqlite::Result<(u64, u64)> {
    let connection = connection::open(copy)?;
    meta::forget_epoch(&connection)?;
    let sql = "SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM orders)";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// An absolute path: SQLite would take one that begins with `file:` for a URI.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    path::absolute(path).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}
