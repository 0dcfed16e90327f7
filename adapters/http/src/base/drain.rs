//! The wish to stop, which everything that serves waits for.

use std::sync::OnceLock;

use tokio::sync::Notify;
use tokio::time::Instant;

/// A wish that comes once and stays. Those who wait for it are woken in the order in which they came, so that a
/// simulation of a stop is the same at every run; a `watch` channel would wake them in any order.
#[derive(Default)]
pub(crate) struct Drain {
    wished: OnceLock<Instant>,
    told: Notify,
}

impl Drain {
    /// Wishes to stop. Where several stop one after the other, the time of all runs since the first of them.
    pub(crate) fn wish(&self, since: Instant) {
        self.wished.get_or_init(|| since);
        self.told.notify_waiters();
    }

    pub(crate) fn is_wished(&self) -> bool {
        self.since().is_some()
    }

    /// Since when the time of the end runs, if it does.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.wished.get().copied()
    }

    /// Waits for the wish.
    pub(crate) async fn wished(&self) {
        // Made before the look, it hears of a wish that comes after it.
        let told = self.told.notified();
        if !self.is_wished() {
            told.await;
        }
    }
}
