//! Files that replace others, and folders of files that a start makes.

use std::path::Path;
use std::{fs, io};

/// The message for a file that is a mount point. The system's own message says only that the file is busy.
pub(crate) const MOUNTED: &str =
    "it is a mount point, so no file can replace it: mount its folder instead, or name another file";

/// Syncs the folder of a file, so that the file's name survives a power cut. Does nothing for a folder that may not be
/// read.
pub(crate) fn sync_folder_of(file: &Path) -> std::io::Result<()> {
    let file = std::path::absolute(file)?;
    file.parent().map_or(Ok(()), petstore_platform::sync_readable_folder)
}

/// Returns whether the folder of a file may exist. A folder that this user may not see counts as existing, because the
/// server may run as a user that sees it.
pub(crate) fn has_folder(file: &Path) -> bool {
    let found = std::path::absolute(file).ok().and_then(|file| file.parent().map(fs::metadata));
    match found {
        Some(Ok(found)) => found.is_dir(),
        Some(Err(error)) => error.kind() == io::ErrorKind::PermissionDenied,
        None => false,
    }
}
