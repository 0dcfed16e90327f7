//! Where an export goes: standard output, a device, or a file that is whole or stays what it was.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use petstore_sqlite::PartialFile;

use crate::MOUNTED;
use crate::terminal::Lines;

/// What is written to. A file has its name when all is written; until then it is another beside it.
pub(super) struct Output {
    writer: BufWriter<Box<dyn Write>>,
    file: Option<PartialFile>,
    /// Whoever read it has gone.
    unread: bool,
}

impl Output {
    /// Standard output. On a terminal, what would be a command to that is written out.
    pub(super) fn standard() -> Self {
        let output = io::stdout();
        if output.is_terminal() { Self::unnamed(Lines::new(output)) } else { Self::unnamed(output) }
    }

    /// What is written as it comes.
    fn unnamed(writer: impl Write + 'static) -> Self {
        Self { writer: BufWriter::new(Box::new(writer)), file: None, unread: false }
    }

    pub(super) fn create(path: &Path) -> io::Result<Self> {
        // Through a link to what it leads to, which has a mode of its own.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let permissions = match fs::metadata(&target) {
            Ok(found) if found.is_file() => Some(found.permissions()),
            // A pipe or a device is written as it comes; a folder refuses that.
            Ok(_) => {
                return Ok(Self::unnamed(OpenOptions::new().write(true).open(&target)?));
            }
            // For this user alone: what the shop holds may be nobody else's business.
            Err(_) => None,
        };
        let part = PartialFile::begin(&target)?;
        if let Some(permissions) = permissions {
            part.file().set_permissions(permissions)?;
        }
        let writer = BufWriter::new(Box::new(part.file().try_clone()?) as Box<dyn Write>);
        Ok(Self { writer, file: Some(part), unread: false })
    }

    /// All is written: from now on it is there.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        let finished = self.file.take().map_or(Ok(()), PartialFile::finish);
        finished.map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => io::Error::other(MOUNTED),
            _ => error,
        })
    }

    /// Whether a write has failed because nobody reads any more: whoever did has seen enough.
    pub(super) fn is_unread(&self) -> bool {
        self.unread
    }

    fn noting<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        self.unread |= written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        written
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes);
        self.noting(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.writer.flush();
        self.noting(flushed)
    }
}
