//! The measurement of time that passes, as a port.

use std::time::Duration;

use crate::Reply;

/// Measures and waits for spans of time, by a clock that never steps back.
///
/// Separate from [`Clock`](crate::Clock): an operator or a test may set the time of day, which must not change the end of a
/// deadline.
///
/// ```
/// use std::sync::Arc;
/// use std::time::{Duration, Instant};
/// use petstore_ports::{Reply, Timer};
///
/// /// A timer for a program without a runtime: each poll of a wait starts a thread.
/// struct ThreadTimer(Instant);
///
/// impl Timer for ThreadTimer {
///     fn elapsed(&self) -> Duration {
///         self.0.elapsed()
///     }
///
///     fn sleep(&self, duration: Duration) -> Reply<()> {
///         let mut end = None;
///         Reply::later(std::future::poll_fn(move |context| {
///             let end = *end.get_or_insert_with(|| Instant::now() + duration);
///             let left = end.saturating_duration_since(Instant::now());
///             if left.is_zero() {
///                 return std::task::Poll::Ready(());
///             }
///             let waker = context.waker().clone();
///             std::thread::spawn(move || {
///                 std::thread::sleep(left);
///                 waker.wake();
///             });
///             std::task::Poll::Pending
///         }))
///     }
/// }
///
/// let timer: Arc<dyn Timer> = Arc::new(ThreadTimer(Instant::now()));
/// # let mut reply = std::pin::pin!(timer.sleep(Duration::ZERO));
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # assert!(reply.as_mut().poll(&mut context).is_ready());
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Timer: Send + Sync {
    /// The time since a fixed moment in the past.
    fn elapsed(&self) -> Duration;

    /// Completes when this much time has passed since the first poll. The service does not call it for a reply that is
    /// ready at once.
    fn sleep(&self, duration: Duration) -> Reply<()>;
}
