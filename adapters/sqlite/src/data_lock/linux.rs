//! The lock on a data file on Linux, and its holder from the kernel's list of locks.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

use crate::lock_file::lock_with_retry;

/// The kernel's list of held locks.
const LOCKS: &str = "/proc/locks";

/// Locks the file. The lock lasts as long as the opened file.
pub(crate) fn lock(data: &File) -> Result<(), TryLockError> {
    lock_with_retry(data)
}

/// The process that holds the lock on a file; none if it is not found.
pub(crate) fn holder(database: &Path) -> Option<u32> {
    let found = fs::metadata(database).ok()?;
    let locks = fs::read_to_string(LOCKS).ok()?;
    holder_in(&locks, major(found.dev()), minor(found.dev()), found.ino())
}

/// Finds the process that holds a lock on a whole file in the kernel's list (proc_locks(5)). The holder may not be
/// found. For a process of another container the list has the process id 0, and for some file systems it has other
/// device numbers than the metadata of the file.
fn holder_in(locks: &str, major: u32, minor: u32, inode: u64) -> Option<u32> {
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    let of_file = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let is_held = words.next()? == "FLOCK" && words.nth(1)? == "WRITE";
        let process = words.next()?.parse().ok()?;
        (is_held && process > 0 && words.next()? == file).then_some(process)
    };
    locks.lines().find_map(of_file)
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
            assert_eq!(holder_in(LOCKS, major, minor, inode), expected, "{major}:{minor}:{inode}");
        }
    }
}
