//! The output of an export: standard output, a device, or a file that is replaced atomically.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use petstore_sqlite::PartialFile;

use crate::files::MOUNTED;
use crate::terminal::Lines;

/// The output of an export. A file is written under a temporary name beside its path, and renamed at the end.
pub(super) struct Output {
    writer: BufWriter<Box<dyn Write>>,
    file: Option<PartialFile>,
    /// Set when the reader of the pipe has closed the pipe.
    unread: bool,
}

impl Output {
    /// Standard output. On a terminal control characters are escaped.
    pub(super) fn standard() -> Self {
        let output = io::stdout();
        if output.is_terminal() { Self::unnamed(Lines::new(output)) } else { Self::unnamed(output) }
    }

    /// An output that is written directly.
    fn unnamed(writer: impl Write + 'static) -> Self {
        Self { writer: BufWriter::new(Box::new(writer)), file: None, unread: false }
    }

    pub(super) fn create(path: &Path) -> io::Result<Self> {
        // A symbolic link is followed, and the mode of its target is kept.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let permissions = match fs::metadata(&target) {
            Ok(found) if found.is_file() => Some(found.permissions()),
            // A pipe or a device is written directly; opening a folder fails.
            Ok(_) => {
                return Ok(Self::unnamed(OpenOptions::new().write(true).open(&target)?));
            }
            // A new file is readable by this user only, because the shop's data may be confidential.
            Err(_) => None,
        };
        let part = PartialFile::begin(&target)?;
        if let Some(permissions) = permissions {
            part.file().set_permissions(permissions)?;
        }
        let writer = BufWriter::new(Box::new(part.file().try_clone()?) as Box<dyn Write>);
        Ok(Self { writer, file: Some(part), unread: false })
    }

    /// Completes the output. A file is renamed from its temporary name.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        let finished = self.file.take().map_or(Ok(()), PartialFile::finish);
        finished.map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => io::Error::other(MOUNTED),
            _ => error,
        })
    }

    /// Returns whether a write failed because the reader of the pipe has closed the pipe, which is no failure of the
    /// export.
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
