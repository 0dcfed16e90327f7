//! The write-ahead log that the connection uses, held open so that its removal, replacement or damage is noticed.

use std::fs::File;
use std::io;
use std::path::Path;

use petstore_platform::read_exact_at;

use crate::file_identity::{FileIdentity, FileLoss};
use crate::files::with_suffix;
use crate::wal::MAGIC;

/// The log, held open. This value lives as long as the connection that opened the log.
#[derive(Debug)]
pub(crate) struct LogFile(FileIdentity);

impl LogFile {
    /// Opens the log of a database.
    pub(crate) fn of(database: &Path) -> io::Result<Self> {
        FileIdentity::open(&with_suffix(database, "-wal")).map(Self)
    }

    pub(crate) fn file(&self) -> &File {
        self.0.file()
    }

    /// Reads bytes at an offset. None if they cannot be read.
    pub(crate) fn bytes<const N: usize>(&self, at: u64) -> Result<Option<[u8; N]>, FileLoss> {
        let mut bytes = [0; N];
        Ok(self.fill(&mut bytes, at)?.then_some(bytes))
    }

    /// Fills a buffer from an offset. Returns false if the log cannot be read, and an error if it is too short.
    pub(crate) fn fill(&self, bytes: &mut [u8], at: u64) -> Result<bool, FileLoss> {
        match read_exact_at(self.file(), bytes, at) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(FileLoss::Data("the data file's -wal has been cut short"))
            }
            read => Ok(read.is_ok()),
        }
    }

    /// Checks that the path still leads to this log.
    pub(crate) fn check_path(&self) -> Result<(), &'static str> {
        const REPLACED: &str = "another file is in the place of the data file's -wal that was opened";
        self.0.check_path("the data file's -wal has been removed", REPLACED)
    }

    /// Checks the first bytes of the log. `is_used` is true if the log has frames, according to the engine.
    pub(crate) fn check_contents(&self, is_used: bool) -> Result<(), &'static str> {
        let magic = self.0.first_bytes().map(u32::from_be_bytes);
        let is_sound = !is_used || magic.is_none_or(|magic| magic & !1 == MAGIC);
        if is_sound { Ok(()) } else { Err("the data file's -wal has been overwritten") }
    }
}
