//! Aliases of a data file: hard links, and other mounts of the same file.
//!
//! SQLite derives the path of the `-wal` from the path of the data file, so each alias has a separate log. Two servers
//! that use two aliases would each write a log for the same file. If a file is opened by another alias than the last
//! time, SQLite does not see the changes that are in the log of the last alias.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use petstore_platform::{id_at, id_of_entry, link_count, mark, mark_at, os_text};

use crate::OpenError;
use crate::data_file::DataFile;
use crate::data_lock;
use crate::files::{companion, with_suffix};

/// Locks the file itself. The lock excludes a process that opens the file by any alias.
pub(crate) fn lock(data: &DataFile, database: &Path) -> Result<(), OpenError> {
    data.lock().map_err(|error| match error {
        TryLockError::WouldBlock => in_use(database),
        TryLockError::Error(source) => OpenError::File { path: database.into(), source },
    })
}

fn in_use(database: &Path) -> OpenError {
    OpenError::InUseByAnotherName { path: database.into(), holder: data_lock::holder(database) }
}

/// Refuses a file that another process has opened by another alias. Call this function before the file is read.
///
/// Do not call it for a file that this process has open, because closing a descriptor of the file would release
/// SQLite's locks on the file.
pub(crate) fn check_in_use(database: &Path) -> Result<(), OpenError> {
    if !has_hard_links(database) {
        return Ok(());
    }
    let is_held = |path: &Path| {
        let opened = File::open(path);
        opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    };
    // If the file is locked and the lock file beside this name is not, the process has opened the file by another name.
    let is_elsewhere = is_held(database) && !is_held(&companion(database, ".lock"));
    if is_elsewhere { Err(in_use(database)) } else { Ok(()) }
}

/// Refuses an alias by which the file has never been opened as a journal. The last server may have been killed. The log
/// with its last changes is then beside another alias, which may be in any folder. A lock file beside an alias shows
/// that the alias was used.
pub(crate) fn check_was_used(database: &Path) -> Result<(), OpenError> {
    const UNUSED: &str = "it is a hard link that has not been opened by this name before, and the last changes may be in the -wal \
                          beside another of its names: open it by that name, or copy the file and open the copy";
    if !has_hard_links(database) || companion(database, ".lock").exists() {
        return Ok(());
    }
    check_in_use(database)?;
    let failed = |source| OpenError::File { path: database.into(), source };
    check_logs(database).map_err(failed)?;
    Err(failed(io::Error::other(UNUSED)))
}

/// Refuses a file if one of its aliases in the same folder has a log, because that log contains the last changes. If
/// the file were opened and written without that log, a later recovery of the log would overwrite the new changes.
pub(crate) fn check_logs(database: &Path) -> io::Result<()> {
    let (Some(folder), true) = (database.parent(), has_hard_links(database)) else { return Ok(()) };
    let this = id_at(database)?;
    // If the folder cannot be read, the aliases in it cannot be found.
    for other in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_same = id_of_entry(&other).is_ok_and(|found| found == this);
        let is_other = is_same && other.file_name() != database.file_name();
        if is_other && fs::metadata(with_suffix(&other, "-wal")).is_ok_and(|found| found.len() > 0) {
            return Err(io::Error::other(format!(
                "it is also named {0}, and {0}-wal holds the last changes: open it by that name",
                other.display()
            )));
        }
    }
    Ok(())
}

/// The extended attribute for the name by which a data file was last opened. The attribute belongs to the inode, so
/// all aliases share it.
const LAST_NAME: &str = "user.petstore.opened_as";

/// The longest name that is recorded, in bytes. File systems have little room for attributes.
const LAST_NAME_MAX: usize = 1024;

/// Records the name by which a file is opened. Does nothing if the file system has no extended attributes.
pub(crate) fn record_name(data: &DataFile, database: &Path) {
    let name = database.as_os_str();
    if name.len() <= LAST_NAME_MAX {
        mark(data.file(), LAST_NAME, name.as_encoded_bytes());
    }
}

/// Refuses a file that was last opened by another alias, unless the log of that alias is known to be empty. Otherwise
/// that log may contain the last changes.
pub(crate) fn check_last_name(database: &Path) -> io::Result<()> {
    if !has_hard_links(database) {
        return Ok(());
    }
    let mut name = [0; LAST_NAME_MAX];
    let Some(last) = mark_at(database, LAST_NAME, &mut name).and_then(os_text) else { return Ok(()) };
    let last = Path::new(&last);
    // Folders are compared by inode, because a link to a folder leads to the same log.
    let folder = |of: &Path| id_at(of.parent()?).ok();
    if last.file_name() == database.file_name() && folder(last) == folder(database) {
        return Ok(());
    }
    let this = id_at(database)?;
    let is_there = id_at(last).is_ok_and(|found| found == this);
    let has_log = fs::metadata(with_suffix(last, "-wal")).is_ok_and(|found| found.len() > 0);
    match (is_there, has_log) {
        (true, false) => Ok(()),
        (true, true) => Err(io::Error::other(format!(
            "it was last opened as {0}, and {0}-wal holds the last changes: open it by that name",
            last.display()
        ))),
        (false, _) => Err(io::Error::other(format!(
            "it has several names and was last opened as {}, which does not exist now, and the last changes may be in the -wal \
             beside that name: open it by that name, or remove its other names",
            last.display()
        ))),
    }
}

/// Returns true if a file has more than one hard link.
fn has_hard_links(database: &Path) -> bool {
    link_count(database).is_ok_and(|names| names > 1)
}
