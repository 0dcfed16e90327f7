//! Systems on which only the `.lock` file is locked.

use std::fs::{File, TryLockError};
use std::path::Path;

/// Locks nothing.
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
pub(crate) fn lock(_: &File) -> Result<(), TryLockError> {
    Ok(())
}

/// No holder is known.
pub(crate) fn holder(_: &Path) -> Option<u32> {
    None
}
