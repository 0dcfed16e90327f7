//! The signals that end an exam.

use crate::failure::Failure;
use crate::signals::SystemSignals;

/// The signals that end an exam, each with the exit code that shells give to it.
pub(super) struct Interruption(SystemSignals);

impl Interruption {
    /// Listens for the signals.
    pub(super) fn listen() -> Result<Self, Failure> {
        SystemSignals::listen().map(Self).map_err(|error| Failure::because(error.to_string()))
    }

    /// Waits for a signal, and returns the exit code of the exam.
    pub(super) async fn next(&mut self) -> u8 {
        self.0.next().await.exit_code()
    }
}
