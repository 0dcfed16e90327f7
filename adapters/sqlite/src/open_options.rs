//! The options for opening a data file.

use crate::{DamagedLog, NameCollisions};

/// The policies for data files that cannot be opened without a loss or a change of data. The default refuses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// The policy for a log that is damaged before its last transaction.
    pub damaged_log: DamagedLog,
    /// The answer to categories whose names read the same.
    pub name_collisions: NameCollisions,
}
