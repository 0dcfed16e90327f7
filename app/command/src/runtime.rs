//! The runtime for everything but serving.

use crate::failure::Failure;

/// Starts a runtime of one thread: for signals, the admin socket and commands.
pub(crate) fn single_threaded() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::because(format!("cannot start the runtime: {error}")))
}
