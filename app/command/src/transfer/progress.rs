//! The progress of a transfer.

use std::io::{self, IsTerminal, Write};

/// Lines between two reports.
const PROGRESS: u64 = 10_000;

/// Reports progress, but only on a terminal.
pub(super) struct Progress {
    done: &'static str,
    is_watched: bool,
    is_shown: bool,
}

impl Progress {
    pub(super) fn new(done: &'static str, quiet: bool) -> Self {
        Self { done, is_watched: !quiet && io::stderr().is_terminal(), is_shown: false }
    }

    pub(super) fn show(&mut self, lines: u64) {
        if self.is_watched && lines.is_multiple_of(PROGRESS) {
            let _ = write!(io::stderr(), "\rpetstore: {lines} lines {}", self.done);
            self.is_shown = true;
        }
    }
}

impl Drop for Progress {
    /// Ends the line of the last report.
    fn drop(&mut self) {
        if self.is_shown {
            let _ = writeln!(io::stderr());
        }
    }
}
