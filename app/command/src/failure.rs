//! The failure of a command.

/// A message for standard error, and the exit code of the process.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) code: u8,
}

impl Failure {
    /// A failure while the command ran: exit code 1.
    pub(crate) fn because(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }

    /// A fault of the command line or of the settings: exit code 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 2 }
    }
}
