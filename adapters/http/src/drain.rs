//! The wish to stop, which everything that serves waits for.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A wish that comes once and stays. Those who wait for it are woken in the order in which they came, so that a
/// simulation of a stop is the same at every run; a `watch` channel would wake them in any order.
#[derive(Default)]
pub(crate) struct Drain {
    wished: AtomicBool,
    told: Notify,
}

impl Drain {
    /// Wishes to stop.
    pub(crate) fn wish(&self) {
        self.wished.store(true, Ordering::Release);
        self.told.notify_waiters();
    }

    pub(crate) fn is_wished(&self) -> bool {
        self.wished.load(Ordering::Acquire)
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
