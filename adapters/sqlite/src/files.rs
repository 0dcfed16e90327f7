//! Paths, permissions and creation of the files.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use petstore_platform::{Private, open_to_sync, sync_folder};

use crate::batch_mark;

/// Returns the path of a companion file of a database. If the path of the database is a symbolic link, the companion
/// file is in the folder of the file that the link leads to.
pub fn companion(database: &Path, suffix: &str) -> PathBuf {
    with_suffix(&resolve_link(database), suffix)
}

/// The suffixes of the companion files of a database: SQLite's log, the index of the log, and the lock. See [`companion`].
pub const COMPANIONS: [&str; 3] = ["-wal", "-shm", ".lock"];

/// The first bytes of every SQLite database (file format, section 1.2).
pub(crate) const MAGIC: &[u8] = b"SQLite format 3\0";

/// Returns true if a file begins like an SQLite database. Do not call it for a file that this process has open, because
/// closing a descriptor would release SQLite's locks on the file.
pub fn is_database(file: &Path) -> bool {
    let mut begin = [0; MAGIC.len()];
    File::open(file).and_then(|mut file| file.read_exact(&mut begin)).is_ok_and(|()| begin == *MAGIC)
}

/// Appends a suffix to a path.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Returns the path that a symbolic link leads to, or the path itself. For hard links see [`aliases`](crate::aliases).
pub(crate) fn resolve_link(path: &Path) -> PathBuf {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let target = if is_link { fs::canonicalize(path).ok() } else { None };
    target.unwrap_or_else(|| path.to_owned())
}

/// Refuses a path that cannot be the path of a database. Also refuses a path if only the log exists and the data file
/// does not. The log contains the last changes, and the engine would remove the log if a new data file were created.
pub(crate) fn check_path(database: &Path) -> io::Result<()> {
    const MISSING: &str = "it does not exist, but its -wal does, which holds the last changes: bring the data file back, or move the -wal away";
    const EMPTY: &str = "it is empty, but its -wal is not, which holds the last changes: bring the data file back, or move the -wal away";
    const EMPTIED: &str = "it is empty, but an attribute of it says that it had changes: bring it and its -wal back, or remove it to begin a new store";
    let no = |why| Err(io::Error::other(why));
    let is_absent = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let has_log = fs::metadata(with_suffix(database, "-wal")).is_ok_and(|found| found.len() > 0);
    match (fs::symlink_metadata(database), fs::metadata(database)) {
        (_, Ok(found)) if !found.is_file() => no("it is not a regular file: name another path"),
        (Ok(_), Err(error)) if is_absent(&error) => {
            no("it is a symbolic link to a file that does not exist: remove the link, or name another path")
        }
        (Err(error), _) if has_log && is_absent(&error) => no(MISSING),
        // The engine removes the log of an empty file.
        (_, Ok(found)) if has_log && found.len() == 0 => no(EMPTY),
        // The attributes of a file stay when it is emptied.
        (_, Ok(found)) if found.len() == 0 && batch_mark::read(database).is_some() => no(EMPTIED),
        _ => Ok(()),
    }
}

/// Returns true if a database has a log, even an empty one. The engine removes the log when a use ends normally.
pub(crate) fn has_log(database: &Path) -> bool {
    fs::symlink_metadata(with_suffix(database, "-wal")).is_ok()
}

/// Creates an empty file for its owner only, because it will contain key digests and customers' data, and makes its name
/// durable. SQLite gives the log the same mode. Fails if the file exists. So it never opens an existing database;
/// closing the descriptor of such a file would release SQLite's locks on it.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).private().open(path)?.sync_all()?;
    sync_directory_of(path)
}

/// Syncs the log of a database, if there is one. SQLite has no locks on the log, so closing it here is harmless.
pub(crate) fn sync_log(database: &Path) -> io::Result<()> {
    match open_to_sync(&with_suffix(database, "-wal")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        log => log?.sync_all(),
    }
}

/// Syncs the directory of a file, so that changes to its names are durable.
pub(crate) fn sync_directory_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), sync_folder)
}
