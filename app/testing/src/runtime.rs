//! The runtime of this crate.
//!
//! Time limits of requests must be real time, even in a test whose runtime has a paused clock: that clock jumps to the next
//! time limit while the test waits for an answer. So this crate's requests run on a runtime with a clock that no test pauses.

use std::future::{Future, pending};
use std::sync::LazyLock;

use tokio::runtime::{Builder, Handle};
use tokio::task::JoinSet;

static RUNTIME: LazyLock<Result<Handle, String>> = LazyLock::new(start);

/// Starts the runtime on a separate thread, which lives as long as the process.
fn start() -> Result<Handle, String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
    let handle = runtime.handle().clone();
    std::thread::Builder::new()
        .name("petstore-client".to_owned())
        .spawn(move || runtime.block_on(pending::<()>()))
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok(handle)
}

/// Runs the work to its end. It is cancelled when the caller drops the future.
pub(crate) async fn run<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, String> {
    let mut tasks = JoinSet::new();
    tasks.spawn_on(work, RUNTIME.as_ref().map_err(Clone::clone)?);
    match tasks.join_next().await {
        Some(Ok(done)) => Ok(done),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("the task was not started".to_owned()),
    }
}

/// Starts the work, and does not wait for its end.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Result<(), String> {
    RUNTIME.as_ref().map_err(Clone::clone)?.spawn(work);
    Ok(())
}
