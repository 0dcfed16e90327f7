//! The options for opening a data file.

use crate::{DamagedLog, NameCollisions};

/// The policies for data files that cannot be opened unless data is lost or changed. By default such files are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// The policy for a log that is damaged before its last transaction.
    pub damaged_log: DamagedLog,
    /// The policy for categories whose names read the same.
    pub name_collisions: NameCollisions,
}
