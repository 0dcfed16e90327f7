//! The mark of the last batch that is known to be on disk, as an extended attribute of the data file.
//!
//! For SQLite an empty log is a log without changes, so the log of a killed server can be emptied or lost unnoticed. The
//! mark is written after the commit of its batch, so a sound file with its log is never behind the mark. The mark is
//! not synced: after a power cut it may be older. It belongs to the inode and is not in a copy of the file. A use that
//! ends normally removes it, because the data file then holds everything by itself.

use std::fs::File;
use std::path::Path;

use petstore_ports::BatchNumber;
use rustix::fs::XattrFlags;

/// The name of the attribute. Its value is the number of the batch as decimal text.
const MARK: &str = "user.petstore.last_batch";

/// The longest value in bytes: that of the largest number.
const MARK_MAX: usize = 20;

/// Sets the mark. Does nothing if the file system has no extended attributes.
pub(crate) fn set(data: &File, last: BatchNumber) {
    let _ = rustix::fs::fsetxattr(data, MARK, last.0.to_string().as_bytes(), XattrFlags::empty());
}

/// Returns the mark of a database; none without a mark.
pub(crate) fn read(database: &Path) -> Option<BatchNumber> {
    let mut value = [0; MARK_MAX];
    let length = rustix::fs::getxattr(database, MARK, &mut value).ok()?;
    std::str::from_utf8(value.get(..length)?).ok()?.parse().ok().map(BatchNumber)
}

/// Removes the mark.
pub(crate) fn remove(database: &Path) {
    let _ = rustix::fs::removexattr(database, MARK);
}
