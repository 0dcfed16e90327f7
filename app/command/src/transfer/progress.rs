//! How far a transfer is.

use std::io::{self, IsTerminal, Write};

/// Lines between two signs of progress.
const PROGRESS: u64 = 10_000;

/// Signs of progress for a person; a pipe is told nothing.
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
    /// What is said next has a line of its own.
    fn drop(&mut self) {
        if self.is_shown {
            let _ = writeln!(io::stderr());
        }
    }
}
