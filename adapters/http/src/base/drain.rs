//! The wish to stop, which everything that serves waits for.

use std::sync::OnceLock;

use tokio::sync::Notify;
use tokio::time::Instant;

/// A wish that comes once and stays. Those who wait for it are woken in the order in which they came, so that a
/// simulation of a stop is the same at every run; a `watch` channel would wake them in any order.
#[derive(Default)]
pub(crate) struct Drain {
    begun: OnceLock<Instant>,
    notify: Notify,
}

impl Drain {
    /// Wishes to stop. Where several stop one after the other, the time of all runs since the first of them.
    pub(crate) fn begin(&self, since: Instant) {
        self.begun.get_or_init(|| since);
        self.notify.notify_waiters();
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.since().is_some()
    }

    /// Since when the time of the end runs, if it does.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.begun.get().copied()
    }

    /// Waits for the wish.
    pub(crate) async fn begun(&self) {
        // Made before the look, it hears of a wish that comes after it.
        let notify = self.notify.notified();
        if !self.has_begun() {
            notify.await;
        }
    }
}
