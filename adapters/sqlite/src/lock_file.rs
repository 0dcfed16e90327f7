//! The lock file, which keeps a second process away from a database.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use petstore_platform::Private;

use crate::OpenError;
use crate::files::companion;

/// Takes the lock file of a database. The lock lasts as long as the returned file.
///
/// The lock file is never removed, because a process could remove the file just after another process has locked it.
pub(crate) fn lock(database: &Path) -> Result<File, OpenError> {
    let path = companion(database, ".lock");
    let failed = |source: io::Error| {
        // If the folder is missing, the error names the database, because the database cannot be created either.
        // Otherwise it names the lock file, which may be inaccessible because it belongs to another user.
        let is_folder_missing =
            matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        let path = if is_folder_missing { database } else { path.as_path() };
        OpenError::File { path: path.into(), source }
    };
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(false).private().open(&path).map_err(failed)?;
    match lock_with_retry(&file) {
        Ok(()) => {
            // A process that finds the file locked reads the process id for its message. If the id cannot be written,
            // for example because the disk is full, the lock is still valid.
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

/// Takes a lock, and waits up to two seconds for another process to release the lock. The wait is useful because a
/// command holds the lock only for as long as it loads the file.
pub(crate) fn lock_with_retry(file: &File) -> Result<(), TryLockError> {
    const TRIES: u32 = 40;
    const DELAY: Duration = Duration::from_millis(50);
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(DELAY),
            done => return done,
        }
    }
    file.try_lock()
}
