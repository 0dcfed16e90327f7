//! The files themselves: who may read them, and who has them open.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::OpenError;

/// The owner alone: key digests and customers' data are nobody else's. The log gets the database's mode from SQLite.
pub(crate) const PRIVATE: u32 = 0o600;

/// What belongs to a database, its lock above all: it stands beside the file, by whatever link to it that is asked for.
pub fn beside(database: &Path, end: &str) -> PathBuf {
    ending(&followed(database), end)
}

/// Where the names end of what stands beside a database: SQLite's log and its index, and the lock. See [`beside`].
pub const COMPANIONS: [&str; 3] = ["-wal", "-shm", ".lock"];

/// What every SQLite database begins with (file format, section 1.2).
pub(crate) const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether a file begins as every SQLite database does. It must not be one that this process
/// has open: SQLite's locks on it would be gone.
pub fn is_database(file: &Path) -> bool {
    let mut begin = [0; MAGIC.len()];
    File::open(file).and_then(|mut file| file.read_exact(&mut begin)).is_ok_and(|()| begin == *MAGIC)
}

/// A path and some more.
pub(crate) fn ending(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

/// Where a database is: the file itself, if the path is a symbolic link to it. Hard links are found by their inode, see
/// [`names`](crate::names).
pub(crate) fn followed(path: &Path) -> PathBuf {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let followed = if is_link { fs::canonicalize(path).ok() } else { None };
    followed.unwrap_or_else(|| path.to_owned())
}

/// Takes the lock that goes with a database. It lasts as long as the file that is returned.
///
/// The lock file stays when the lock is gone: whoever removed it could remove one that has just been taken.
pub(crate) fn lock(database: &Path) -> Result<File, OpenError> {
    let path = beside(database, ".lock");
    let failed = |source: io::Error| {
        // Without the folder it is the database that cannot be; else the lock alone may belong to somebody else.
        let is_folder_missing =
            matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        let path = if is_folder_missing { database } else { path.as_path() };
        OpenError::File { path: path.into(), source }
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE)
        .open(&path)
        .map_err(failed)?;
    match lock_soon(&file) {
        Ok(()) => {
            // For whoever comes next. A full disk is no reason to refuse the lock.
            let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let holder = fs::read_to_string(&path).ok().and_then(|id| id.trim().parse().ok());
            Err(OpenError::InUse { path: database.into(), lock: path.clone(), holder })
        }
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// A lock that somebody else may give back soon: a command on a file at rest has it for as long as it takes to load it.
pub(crate) fn lock_soon(file: &File) -> Result<(), TryLockError> {
    const TRIES: u32 = 40;
    const REST: Duration = Duration::from_millis(50);
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(REST),
            done => return done,
        }
    }
    file.try_lock()
}

/// Refuses a place where no database can be, or where one has been: a log without its file holds what was acknowledged last,
/// and would go when a new file is made beside it.
pub(crate) fn check_place(database: &Path) -> io::Result<()> {
    const GONE: &str = "it is not there, and its -wal is, which holds what was written last: bring it back, or move that away";
    const EMPTY: &str = "it is empty, and its -wal is not, which holds what was written last: bring it back, or move that away";
    let no = |why| Err(io::Error::other(why));
    let is_absent = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let has_log = fs::metadata(ending(database, "-wal")).is_ok_and(|found| found.len() > 0);
    match (fs::symlink_metadata(database), fs::metadata(database)) {
        (_, Ok(found)) if !found.is_file() => no("it is no file"),
        (Ok(_), Err(error)) if is_absent(&error) => no("it is a link that leads nowhere"),
        (Err(error), _) if has_log && is_absent(&error) => no(GONE),
        // The engine takes the log of an empty file away.
        (_, Ok(found)) if has_log && found.len() == 0 => no(EMPTY),
        _ => Ok(()),
    }
}

/// Whether there is a log beside a database, be it an empty one: the engine takes it away when a use ends in order.
pub(crate) fn has_log(database: &Path) -> bool {
    fs::symlink_metadata(ending(database, "-wal")).is_ok()
}

/// Makes an empty file, whose name survives a power cut. Fails if there is one: an existing database is never opened
/// here, since closing it would drop the locks that SQLite holds on it.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path)?.sync_all()?;
    sync_directory_of(path)
}

/// Makes what is in a database's log last, or that nothing is. SQLite's locks are on other files.
pub(crate) fn sync_log(database: &Path) -> io::Result<()> {
    match File::open(ending(database, "-wal")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        log => log?.sync_all(),
    }
}

/// Makes what was done to a directory's names last.
pub(crate) fn sync_directory_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}
