//! The temporary folder of a program: its working folder, its socket and its log.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use petstore_environment::SystemEntropy;

use crate::error::TestingError;

/// The number of log lines in a message.
const LOG_LINES: usize = 40;

/// The number of bytes at the end of the log that are read for a message.
const LOG_BYTES: u64 = 64 * 1024;

/// A temporary folder. It is removed when it is dropped, except after a failure, so that its log can be read.
#[derive(Debug)]
pub(crate) struct ProgramFolder {
    path: PathBuf,
    is_kept: AtomicBool,
}

impl ProgramFolder {
    pub(crate) fn create() -> Result<Self, TestingError> {
        let number = SystemEntropy::number().map_err(|error| TestingError::Start(error.report()))?;
        let path = std::env::temp_dir().join(format!("petstore-{number:016x}"));
        let created = petstore_platform::create_private_folder(&path);
        created.map_err(|error| TestingError::Start(format!("cannot create {}: {error}", path.display())))?;
        Ok(Self { path, is_kept: AtomicBool::new(false) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file to which the program logs.
    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Keeps the folder after the end of the program.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Adds the path and the last lines of the log to a message.
    pub(crate) fn with_log(&self, message: &str) -> String {
        let path = self.log();
        match end_of(&path) {
            Ok(lines) if lines.is_empty() => format!("{message}; its log, {}, is empty", path.display()),
            Ok(lines) => format!("{message}; its log, {}, ends with:\n{lines}", path.display()),
            Err(error) => format!("{message}; its log, {}, cannot be read: {error}", path.display()),
        }
    }
}

impl Drop for ProgramFolder {
    fn drop(&mut self) {
        if !*self.is_kept.get_mut() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Reads the last lines of a file.
fn end_of(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES)))?;
    let mut bytes = vec![];
    file.take(LOG_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.trim_end().lines().collect();
    Ok(lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"))
}
