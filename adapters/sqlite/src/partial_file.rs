//! A file that is written under a temporary name and renamed when it is complete.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use petstore_platform::{
    LOCKS_EXCLUDE_OWN_HANDLES, Private, id_of, id_of_entry, make_private, sync_readable_folder,
};

use crate::files::with_suffix;

/// A file that is written under the target's name with `.part` appended. When this value is dropped, an unfinished file
/// is removed, because it could be mistaken for a complete file.
#[derive(Debug)]
pub struct PartialFile {
    path: PathBuf,
    target: PathBuf,
    /// The file. It is locked, so that no other process writes to it.
    file: File,
    is_finished: bool,
}

impl PartialFile {
    /// Returns the temporary name for a target.
    #[must_use]
    pub fn path_of(target: &Path) -> PathBuf {
        with_suffix(target, ".part")
    }

    /// Creates the temporary file. The file is empty, readable only by its owner, and locked. A file that a killed
    /// process has left is overwritten.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] if another process is writing the file.
    pub fn begin(target: &Path) -> io::Result<Self> {
        let path = Self::path_of(target);
        Ok(Self { file: begin(&path)?, path, target: target.into(), is_finished: false })
    }

    /// Returns the temporary name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file to write to.
    #[must_use]
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Syncs the file and renames it to the target, replacing an existing file. If the folder is readable, the new name
    /// is durable when this function returns. Otherwise the system makes the name durable later.
    ///
    /// # Errors
    /// The system's error. Even then the file either has its target name or is removed.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.target)?;
        // Another process may use the temporary name from now on.
        self.is_finished = true;
        let target = std::path::absolute(&self.target)?;
        target.parent().map_or(Ok(()), sync_readable_folder)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // The error is ignored, because the caller already reports a more important error: the reason why the file
            // was not finished.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn begin(path: &Path) -> io::Result<File> {
    let busy = || {
        io::Error::new(io::ErrorKind::ResourceBusy, "another process writes it: wait until that has ended")
    };
    if LOCKS_EXCLUDE_OWN_HANDLES {
        // Such a lock would exclude SQLite, which writes a backup through its own handle. But these systems remove no file
        // that a process has open, so the removal tells that another process writes the file.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(busy()),
            Ok(()) | Err(_) => {}
        }
    }
    // A symbolic link is not followed, because it may belong to another user. A link, or a file without write
    // permission, is removed once and replaced by a new file.
    let is_ours = fs::symlink_metadata(path).map_or(true, |found| found.is_file());
    let open = || OpenOptions::new().write(true).create(true).truncate(false).private().open(path);
    let opened = if is_ours { open() } else { Err(io::ErrorKind::PermissionDenied.into()) };
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            // If there is no file to remove, the folder is not writable. The error of the first attempt says that, so
            // it is returned.
            let is_absent = |failed: &io::Error| failed.kind() == io::ErrorKind::NotFound;
            fs::remove_file(path).map_err(|failed| if is_absent(&failed) { error } else { failed })?;
            OpenOptions::new().write(true).create_new(true).private().open(path)?
        }
        opened => opened?,
    };
    let locked = if LOCKS_EXCLUDE_OWN_HANDLES { Ok(()) } else { file.try_lock() };
    match locked {
        Err(TryLockError::WouldBlock) => return Err(busy()),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    // Another process may have finished and renamed the file before this process got the lock. The path then leads to
    // another file or to none.
    let ours = id_of(&file)?;
    if !id_of_entry(path).is_ok_and(|there| there == ours) {
        return Err(busy());
    }
    file.set_len(0)?;
    make_private(&file, path)?;
    Ok(file)
}
