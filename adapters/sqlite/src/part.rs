//! A file on its way: it has its name when it is whole, and until then it is another beside it.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::files::{PRIVATE, ending};

/// A file that is being written under its name and `.part`, and goes unless it is finished: half of one is worth nothing,
/// and would be taken for one.
#[derive(Debug)]
pub struct Part {
    path: PathBuf,
    target: PathBuf,
    /// Locked, so that nobody else begins one of the same name.
    file: File,
    is_named: bool,
}

impl Part {
    /// Under what name a file begins.
    #[must_use]
    pub fn path_of(target: &Path) -> PathBuf {
        ending(target, ".part")
    }

    /// Begins a file: for its owner alone, empty, and nobody else's. What a process that was killed has left there goes.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`]: somebody else writes it.
    pub fn begin(target: &Path) -> io::Result<Self> {
        let path = Self::path_of(target);
        Ok(Self { file: begin(&path)?, path, target: target.into(), is_named: false })
    }

    /// Where it is written.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is written to.
    #[must_use]
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// All is written: when this returns it is on disk, and has its name, which another file had until then if there was
    /// one. That the name lasts is sure where its folder may be read; elsewhere the system writes it in its own time.
    ///
    /// # Errors
    /// What the system says. It has its name or is gone.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.target)?;
        // Its first name may be another's from now on.
        self.is_named = true;
        let target = std::path::absolute(&self.target)?;
        target.parent().and_then(|folder| File::open(folder).ok()).map_or(Ok(()), |folder| folder.sync_all())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_named {
            // That it cannot be removed is less than why it was not finished.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn begin(part: &Path) -> io::Result<File> {
    let busy = || io::Error::new(io::ErrorKind::ResourceBusy, "somebody else writes it");
    // A link that somebody else has laid, or what may not be written: it is removed as what it is, once.
    let is_ours = fs::symlink_metadata(part).map_or(true, |found| found.is_file());
    let open = || OpenOptions::new().write(true).create(true).truncate(false).mode(PRIVATE).open(part);
    let opened = if is_ours { open() } else { Err(io::ErrorKind::PermissionDenied.into()) };
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            // Where there is nothing to remove, it is the folder that may not be written.
            let is_absent = |failed: &io::Error| failed.kind() == io::ErrorKind::NotFound;
            fs::remove_file(part).map_err(|failed| if is_absent(&failed) { error } else { failed })?;
            OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(part)?
        }
        opened => opened?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(busy()),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    // Whoever had it before may have given it another name meanwhile, and then it is theirs.
    let (ours, there) = (file.metadata()?, fs::symlink_metadata(part));
    if !there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
        return Err(busy());
    }
    file.set_len(0)?;
    file.set_permissions(Permissions::from_mode(PRIVATE))?;
    Ok(file)
}
