//! A timer on tokio's runtimes, for the service that the transport calls.

use std::time::Duration;

use petstore_ports::{Reply, Timer};
use tokio::time::Instant;

/// A [`Timer`] that waits on the runtime in which a reply is polled. That runtime must be a tokio runtime with its time
/// driver enabled. The runtimes of the transport meet this condition.
#[derive(Debug, Clone, Copy)]
pub struct TokioTimer(Instant);

impl TokioTimer {
    /// A timer that measures from now on.
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Default for TokioTimer {
    fn default() -> Self {
        Self::new()
    }
}

impl Timer for TokioTimer {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Reply<()> {
        // `sleep` is called when the future is first polled, because it needs the runtime in which the future is
        // polled.
        Reply::later(async move { tokio::time::sleep(duration).await })
    }
}
