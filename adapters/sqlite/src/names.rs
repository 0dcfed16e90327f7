//! Further names of a data file: hard links, and other mounts of the same file.
//!
//! SQLite finds the `-wal` by the file's name, and each name has another. So two servers by two names would each write a
//! log of their own over the same file, and whoever opens a file by another name than its last server did does not see what
//! that one has left in its log.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{XattrFlags, major, minor};

use crate::OpenError;
use crate::files::{beside, ending};
use crate::original::DataFile;

/// The kernel's list of the locks that are held.
const LOCKS: &str = "/proc/locks";

/// Takes the lock on the file itself, which another process has by whatever name it has opened it.
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

/// The process that has a lock on a whole file, by the kernel's list (proc_locks(5)): it is 0 where that is of another
/// container, and there are file systems whose devices the list numbers otherwise.
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

/// Refuses a file that another process writes under another name, to be asked before it is read.
///
/// Not for a process that has the file open itself: SQLite's locks on it would be gone.
pub(crate) fn check_in_use(database: &Path) -> Result<(), OpenError> {
    if !has_names(database) {
        return Ok(());
    }
    let is_held = |path: &Path| {
        let opened = File::open(path);
        opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    };
    // Who has it by this name has locked what is beside this name, too.
    let is_elsewhere = is_held(database) && !is_held(&beside(database, ".lock"));
    if is_elsewhere { Err(in_use(database)) } else { Ok(()) }
}

/// Refuses a further name of a file that no journal has been opened by: its last one may have ended without copying its
/// log, which then stands beside another name, in any folder. A name that was used has a lock file beside it.
pub(crate) fn check_is_used(database: &Path) -> Result<(), OpenError> {
    const UNUSED: &str = "it is a hard link, and was not opened by this name before: what was written last may be in the -wal \
                          beside another name of it; open it by that name, or make a copy and open that";
    if !has_names(database) || beside(database, ".lock").exists() {
        return Ok(());
    }
    check_in_use(database)?;
    let failed = |source| OpenError::File { path: database.into(), source };
    check_logs(database).map_err(failed)?;
    Err(failed(io::Error::other(UNUSED)))
}

/// Refuses a file of whose other names in the same folder one has a log: it holds what was written last, and what would
/// be written without it would be overwritten.
pub(crate) fn check_logs(database: &Path) -> io::Result<()> {
    let (Some(folder), true) = (database.parent(), has_names(database)) else { return Ok(()) };
    let id = |of: &Metadata| (of.dev(), of.ino());
    let this = id(&fs::metadata(database)?);
    // A folder that may not be listed hides them.
    for other in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_same = fs::symlink_metadata(&other).is_ok_and(|found| id(&found) == this);
        let is_other = is_same && other.file_name() != database.file_name();
        if is_other && fs::metadata(ending(&other, "-wal")).is_ok_and(|found| found.len() > 0) {
            return Err(io::Error::other(format!(
                "it is also named {0}, and {0}-wal holds what was written last: open it by that name",
                other.display()
            )));
        }
    }
    Ok(())
}

/// The attribute of a data file that holds the name by which it was opened last: it is the file's, whatever it is called.
const LAST_NAME: &str = "user.petstore.opened_as";

/// Bytes of such a name. Longer ones are not noted: file systems have little room for attributes.
const LAST_NAME_MAX: usize = 1024;

/// Notes the name by which a file is opened. A file system without attributes keeps none.
pub(crate) fn note_name(data: &DataFile, database: &Path) {
    let name = database.as_os_str().as_bytes();
    if name.len() <= LAST_NAME_MAX {
        let _ = rustix::fs::fsetxattr(data.file(), LAST_NAME, name, XattrFlags::empty());
    }
}

/// Refuses a file with several names that was opened last by another one of them, unless its log is known to be empty: what
/// was written last is in the log beside that name.
pub(crate) fn check_last_name(database: &Path) -> io::Result<()> {
    let mut name = [0; LAST_NAME_MAX];
    if !has_names(database) {
        return Ok(());
    }
    let Ok(length) = rustix::fs::getxattr(database, LAST_NAME, &mut name) else { return Ok(()) };
    let last = Path::new(OsStr::from_bytes(&name[..length]));
    let id = |of: &Metadata| (of.dev(), of.ino());
    // By the folder and not by its spelling: a link to the folder leads to the same log.
    let folder = |of: &Path| Some(id(&fs::metadata(of.parent()?).ok()?));
    if last.file_name() == database.file_name() && folder(last) == folder(database) {
        return Ok(());
    }
    let this = id(&fs::metadata(database)?);
    let is_there = fs::metadata(last).is_ok_and(|found| id(&found) == this);
    let has_log = fs::metadata(ending(last, "-wal")).is_ok_and(|found| found.len() > 0);
    match (is_there, has_log) {
        (true, false) => Ok(()),
        (true, true) => Err(io::Error::other(format!(
            "it was last opened as {0}, and {0}-wal holds what was written last: open it by that name",
            last.display()
        ))),
        (false, _) => Err(io::Error::other(format!(
            "it has several names and was last opened as {}, which is not found: what was written last may be in the -wal beside \
             that name; open it by that name, or remove its other names",
            last.display()
        ))),
    }
}

/// Whether a file has more than one name.
fn has_names(database: &Path) -> bool {
    fs::metadata(database).is_ok_and(|found| found.nlink() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_by_the_file() {
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
