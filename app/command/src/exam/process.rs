//! A command that is examined, with all its processes.

#[cfg(unix)]
mod strays;
#[cfg(unix)]
#[path = "process/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "process/windows.rs"]
mod system;

use std::time::Duration;

pub(super) use self::system::RunningCommand;

/// The pause between two looks at the command.
const TICK: Duration = Duration::from_millis(10);

/// The time that the processes have to end by themselves when they are asked to. On Windows, where they cannot be asked, the
/// time in which they end when they are terminated.
const GRACE: Duration = Duration::from_secs(2);

/// The remains of a command that has ended.
pub(super) struct Remains {
    pub(super) output: String,
    /// The number of processes that were left when the command itself had ended; 0 on Windows, where they are not known.
    pub(super) left_behind: usize,
}
