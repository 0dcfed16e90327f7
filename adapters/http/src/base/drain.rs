//! The stop signal of a server, for which all of its tasks wait.

use std::sync::OnceLock;

use tokio::sync::Notify;
use tokio::time::Instant;

/// A signal that is set once. Waiting tasks are woken in the order in which they began to wait, so a simulated stop is
/// deterministic. A `watch` channel would wake the tasks in an unspecified order.
#[derive(Default)]
pub(crate) struct Drain {
    begun: OnceLock<Instant>,
    notify: Notify,
}

impl Drain {
    /// Begins the stop. The drain time of all servers of one petstore runs from `since`, the instant at which the
    /// first of them began to stop.
    pub(crate) fn begin(&self, since: Instant) {
        self.begun.get_or_init(|| since);
        self.notify.notify_waiters();
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.since().is_some()
    }

    /// The instant from which the drain time runs, once the stop has begun.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.begun.get().copied()
    }

    /// Waits until the stop begins.
    pub(crate) async fn begun(&self) {
        // The future is created before the check, so that a signal between the check and the wait is not lost.
        let notify = self.notify.notified();
        if !self.has_begun() {
            notify.await;
        }
    }
}
