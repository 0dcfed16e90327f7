//! The identity of an opened file. It shows if the path by which the file was opened still leads to this file.
//!
//! A file can be removed or replaced while a server has it open. The server would then write to a file that no later start
//! finds.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use petstore_platform::{id_at, id_of, read_exact_at};
use petstore_ports::StoreError;

/// A file that was opened, and the path by which it was found.
#[derive(Debug)]
pub(crate) struct FileIdentity {
    path: PathBuf,
    file: File,
}

impl FileIdentity {
    /// Opens a file for reading and writing.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Self { path: path.into(), file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Checks that the path still leads to this file. Compares the device and the inode number of the opened file with
    /// those of the file at the path. Both files are queried each time, because some file systems change the inode
    /// number of a file. If a query fails although the path exists, the file counts as unchanged.
    pub(crate) fn check_path(
        &self,
        removed: &'static str,
        replaced: &'static str,
    ) -> Result<(), &'static str> {
        match (id_at(&self.path), id_of(&self.file)) {
            (Ok(found), Ok(opened)) if found != opened => Err(replaced),
            (Err(error), _) if is_missing(&error) => Err(removed),
            _ => Ok(()),
        }
    }

    /// Returns the first bytes, padded with zeros at the end of the file. None if the file cannot be read.
    pub(crate) fn first_bytes<const N: usize>(&self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        match read_exact_at(&self.file, &mut bytes, 0) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => None,
            Ok(()) | Err(_) => Some(bytes),
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A change to the files by another program. Once such a change is found, the journal writes nothing more.
#[derive(Debug)]
pub(crate) enum FileLoss {
    /// The content of a file was changed, or the path of the data file leads elsewhere or nowhere.
    Data(&'static str),
    /// The path of the log leads elsewhere or nowhere. The content of the log is intact.
    LogPath(&'static str),
}

impl From<FileLoss> for StoreError {
    fn from((FileLoss::Data(what) | FileLoss::LogPath(what)): FileLoss) -> Self {
        Self::unavailable(format!("{what} while it was in use: nothing more is written until a restart"))
    }
}
