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
    let part = Part::new(&place, source).map_err(failed)?;
    let name = part.0.to_str().ok_or_else(|| unwritten("its name is not UTF-8".to_owned()))?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            BackupError::from(OpenError::engine(source)(error))
        }
        _ => unwritten(reason(&error)),
    })?;
    let (pets, orders) = finish(&part.0).map_err(OpenError::engine(&part.0))?;
    // The engine does not sync a copy.
    let file = File::open(&part.0).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    is_free()?;
    fs::rename(&part.0, &place).and_then(|()| files::sync_directory_of(&place)).map_err(failed)?;
    Ok(Copied { pets, orders, bytes: file.metadata().map_err(failed)?.len() })
}

/// A copy on its way, which goes unless it is given its name: half of one is worth nothing, and would be taken for one.
struct Part(PathBuf);

impl Part {
    fn new(target: &Path, source: &Path) -> io::Result<Self> {
        let part = files::ending(target, ".part");
        // Not so the data itself, if it has that name.
        if fs::canonicalize(&part).is_ok_and(|found| fs::canonicalize(source).is_ok_and(|data| data == found))
        {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the copy would begin where the data is",
            ));
        }
        let part = Self(part);
        // What a process left behind that was killed.
        part.remove();
        files::create(&part.0)?;
        Ok(part)
    }

    fn remove(&self) {
        for path in [&self.0, &files::ending(&self.0, "-journal")] {
            // That it cannot be removed is less than why it was not made.
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.remove();
    }
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
