//! Aliases of a data file: hard links, and other mounts of the same file.
//!
//! SQLite derives the path of the `-wal` from the path of the data file, so each alias has a separate log. Two servers
//! that use two aliases would each write a log for the same file. If a file is opened by another alias than the last
//! time, SQLite does not see the changes that are in the log of the last alias.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{XattrFlags, major, minor};

use crate::OpenError;
use crate::data_file::DataFile;
use crate::files::{companion, with_suffix};

/// The kernel's list of held locks.
const LOCKS: &str = "/proc/locks";

/// Locks the file itself. The lock excludes a process that opens the file by any alias.
pub(crate) fn lock(data: &DataFile, database: &Path) -> Result<(), OpenError> {
    data.lock().map_err(|error| match error {
        TryLockError::WouldBlock => in_use(database),
        TryLockError::Error(source) => OpenError::File { path: database.into(), source },
    })
}

fn in_use(database: &Path) -> OpenError {
    let holder = fs::metadata(database).ok().and_then(|found| {
        let locks = fs::read_to_string(LOCKS).ok()?;
        holder(&locks, major(found.dev()), minor(found.dev()), found.ino())
    });
    OpenError::InUseByAnotherName { path: database.into(), holder }
}

/// Finds the process that holds a lock on a whole file in the kernel's list (proc_locks(5)). The holder may not be
/// found. For a process of another container the list has the process id 0, and for some file systems it has other
/// device numbers than the metadata of the file.
fn holder(locks: &str, major: u32, minor: u32, inode: u64) -> Option<u32> {
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    let of_file = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let is_held = words.next()? == "FLOCK" && words.nth(1)? == "WRITE";
        let process = words.next()?.parse().ok()?;
        (is_held && process > 0 && words.next()? == file).then_some(process)
    };
    locks.lines().find_map(of_file)
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
    let id = |of: &Metadata| (of.dev(), of.ino());
    let this = id(&fs::metadata(database)?);
    // If the folder cannot be read, the aliases in it cannot be found.
    for other in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_same = fs::symlink_metadata(&other).is_ok_and(|found| id(&found) == this);
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
    let name = database.as_os_str().as_bytes();
    if name.len() <= LAST_NAME_MAX {
        let _ = rustix::fs::fsetxattr(data.file(), LAST_NAME, name, XattrFlags::empty());
    }
}

/// Refuses a file that was last opened by another alias, unless the log of that alias is known to be empty. Otherwise
/// that log may contain the last changes.
pub(crate) fn check_last_name(database: &Path) -> io::Result<()> {
    let mut name = [0; LAST_NAME_MAX];
    if !has_hard_links(database) {
        return Ok(());
    }
    let Ok(length) = rustix::fs::getxattr(database, LAST_NAME, &mut name) else { return Ok(()) };
    let last = Path::new(OsStr::from_bytes(&name[..length]));
    let id = |of: &Metadata| (of.dev(), of.ino());
    // Folders are compared by inode, because a link to a folder leads to the same log.
    let folder = |of: &Path| Some(id(&fs::metadata(of.parent()?).ok()?));
    if last.file_name() == database.file_name() && folder(last) == folder(database) {
        return Ok(());
    }
    let this = id(&fs::metadata(database)?);
    let is_there = fs::metadata(last).is_ok_and(|found| id(&found) == this);
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
    fs::metadata(database).is_ok_and(|found| found.nlink() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_by_device_and_inode() {
        const LOCKS: &str = "1: POSIX  ADVISORY  READ 11 08:01:42 1073741826 1073742335\n\
            2: FLOCK  ADVISORY  WRITE 12 08:01:43 0 EOF\n\
            3: FLOCK  ADVISORY  WRITE 13 08:01:42 0 EOF\n\
            3: -> FLOCK  ADVISORY  WRITE 14 fe:10:42 0 EOF\n\
            4: FLOCK  ADVISORY  WRITE 0 fe:10:44 0 EOF\n\
            5: FLOCK\n";
        for (major, minor, inode, expected) in [
            (8, 1, 42, Some(13)),
            (8, 1, 43, Some(12)),
            (0xfe, 0x10, 42, None),
            (0xfe, 0x10, 44, None),
            (8, 2, 42, None),
        ] {
            assert_eq!(holder(LOCKS, major, minor, inode), expected, "{major}:{minor}:{inode}");
        }
    }
}
