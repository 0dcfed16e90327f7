//! A signal that makes the dispatcher begin its next round at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;

/// Makes the dispatcher begin its next round at once, because a test has turned the clock or waits for its deliveries.
#[derive(Debug, Default)]
pub(super) struct DispatchNudge {
    is_given: AtomicBool,
    waker: AtomicWaker,
}

impl DispatchNudge {
    /// Gives the signal. It is kept until the dispatcher takes it.
    pub(super) fn give(&self) {
        self.is_given.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Takes the signal once it is given.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<()> {
        self.waker.register(context.waker());
        if self.is_given.swap(false, Ordering::AcqRel) { Poll::Ready(()) } else { Poll::Pending }
    }
}
