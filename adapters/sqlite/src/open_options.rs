//! Choices that an owner makes for opening a data file.

use crate::{DamagedLog, IfNamesakes};

/// Answers to states of a data file in which opening it would change more than its form. The default refuses each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// The answer to a log that is damaged before its last transaction.
    pub damaged_log: DamagedLog,
    /// The answer to categories whose names read the same.
    pub if_namesakes: IfNamesakes,
}
