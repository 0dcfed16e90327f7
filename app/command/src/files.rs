//! Files that replace others.

use std::fs::File;
use std::path::Path;

/// The message for a file that is a mount point. The system's own message says only that the file is busy.
pub(crate) const MOUNTED: &str =
    "it is a mount point, so no file can replace it: mount its folder instead, or name another file";

/// Syncs the folder of a file, so that the file's name survives a power cut. Does nothing for a folder that may not be
/// read.
pub(crate) fn sync_folder_of(file: &Path) -> std::io::Result<()> {
    let file = std::path::absolute(file)?;
    file.parent().and_then(|folder| File::open(folder).ok()).map_or(Ok(()), |folder| folder.sync_all())
}
