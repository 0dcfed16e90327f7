//! Reading a file that may be in use: a consistent state of it, while its owner goes on writing.

use std::fs::{self, File};
use std::path::{self, Path, PathBuf};

use petstore_ports::{Header, Row, StoreError};

use crate::error::unreadable;
use crate::{connection, files, load};

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

/// Makes a copy of a journal that may be in use by another process: its state at one moment, without unused pages, on
/// disk when this returns. There must be no file at the target.
pub fn backup(source: &Path, target: &Path) -> Result<(), StoreError> {
    let (source, target) = (absolute(source)?, absolute(target)?);
    let connection = connection::reader(&source)?;
    let name = target
        .to_str()
        .ok_or_else(|| StoreError::Unavailable(format!("{} is not UTF-8", target.display())))?;
    files::create(&target).map_err(|error| failed(&target, &error))?;
    let copied = connection
        .execute("VACUUM INTO ?1", [name])
        .map_err(|error| unreadable("copy", &error))
        .and_then(|_| {
            // The engine does not sync a copy.
            let synced = File::open(&target).and_then(|file| file.sync_all());
            synced.and_then(|()| files::sync_directory_of(&target)).map_err(|error| failed(&target, &error))
        });
    if copied.is_err() {
        // Half a copy is worth nothing; that it cannot be removed is less than why it was not made.
        let _ = fs::remove_file(&target);
    }
    copied
}

/// An absolute path: SQLite would take one that begins with `file:` for a URI.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    path::absolute(path).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}
