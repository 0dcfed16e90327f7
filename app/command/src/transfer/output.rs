//! Where an export goes: standard output, a device, or a file that is whole or stays what it was.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// For this user alone: what the shop holds may be nobody else's business.
const PRIVATE: u32 = 0o600;

/// Under what name a file begins.
pub(super) fn part_of(target: &Path) -> PathBuf {
    let mut part = target.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

/// What is written to. A file has its name when all is written; until then it is another beside it.
pub(super) struct Output {
    writer: BufWriter<Box<dyn Write>>,
    file: Option<Unfinished>,
}

/// A file on its way, which goes unless it is finished.
struct Unfinished {
    part: PathBuf,
    target: PathBuf,
    file: File,
}

impl Output {
    pub(super) fn standard() -> Self {
        Self { writer: BufWriter::new(Box::new(io::stdout())), file: None }
    }

    pub(super) fn create(path: &Path) -> io::Result<Self> {
        // Through a link to what it leads to, which has a mode of its own.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mode = match fs::metadata(&target) {
            Ok(found) if found.is_file() => found.permissions().mode(),
            // A pipe or a device is written as it comes; a folder refuses that.
            Ok(_) => {
                let file = OpenOptions::new().write(true).open(&target)?;
                return Ok(Self { writer: BufWriter::new(Box::new(file)), file: None });
            }
            Err(_) => PRIVATE,
        };
        let part = part_of(&target);
        // What a process left behind that was killed, or a link that somebody else has laid.
        let _ = fs::remove_file(&part);
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&part)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        let writer = BufWriter::new(Box::new(file.try_clone()?) as Box<dyn Write>);
        Ok(Self { writer, file: Some(Unfinished { part, target, file }) })
    }

    /// All is written: from now on it is there.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        match &self.file {
            Some(Unfinished { part, target, file }) => {
                file.sync_all()?;
                fs::rename(part, target)
            }
            None => Ok(()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A finished one has this name no longer.
        let _ = fs::remove_file(&self.part);
    }
}
