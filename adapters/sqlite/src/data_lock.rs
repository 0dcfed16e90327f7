//! The lock on the data file itself, beside that of the `.lock` file, and the process that holds it.
//!
//! The file is locked only on Linux, where `flock` locks and SQLite's POSIX locks do not conflict. On systems derived from
//! BSD they conflict, so SQLite would wait for this lock; on Windows SQLite's handle could not read the file.

#[cfg(all(target_os = "linux", not(petstore_portable)))]
#[path = "data_lock/linux.rs"]
mod system;
#[cfg(not(all(target_os = "linux", not(petstore_portable))))]
#[path = "data_lock/elsewhere.rs"]
mod system;

pub(crate) use self::system::{holder, lock};
