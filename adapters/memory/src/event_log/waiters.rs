//! Readers that wait for the log to grow.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use petstore_domain::Position;
use petstore_ports::LogEnd;

use super::EventLog;

/// The end of the log and the wakers of those that wait for another one.
pub(super) struct Waiters {
    epoch: AtomicU64,
    last: AtomicU64,
    /// `true` if there may be a waker: a writer looks at the list only then.
    any: AtomicBool,
    wakers: Mutex<Vec<(u64, Waker)>>,
    next_ticket: AtomicU64,
}

impl Waiters {
    pub(super) fn new(end: LogEnd) -> Self {
        Self {
            epoch: AtomicU64::new(end.epoch),
            last: AtomicU64::new(end.last.get()),
            any: AtomicBool::new(false),
            wakers: Mutex::new(Vec::new()),
            next_ticket: AtomicU64::new(0),
        }
    }

    /// The end of the log. Epoch and position are read one after the other: a reader that catches a restart between them
    /// wakes and looks again.
    pub(super) fn end(&self) -> LogEnd {
        let epoch = self.epoch.load(Ordering::SeqCst);
        let last = Position::new(self.last.load(Ordering::SeqCst)).unwrap_or(Position::MAX);
        LogEnd { epoch, last }
    }

    /// Sets the end of the log, and wakes all that wait. Of two writers that come here in another order than they wrote,
    /// the later position wins.
    pub(super) fn wake(&self, end: LogEnd) {
        if self.epoch.swap(end.epoch, Ordering::SeqCst) == end.epoch {
            self.last.fetch_max(end.last.get(), Ordering::SeqCst);
        } else {
            self.last.store(end.last.get(), Ordering::SeqCst);
        }
        if self.any.swap(false, Ordering::SeqCst) {
            let wakers = std::mem::take(&mut *self.wakers.lock());
            for (_, waker) in wakers {
                waker.wake();
            }
        }
    }

    fn register(&self, ticket: u64, waker: &Waker) {
        let mut wakers = self.wakers.lock();
        match wakers.iter_mut().find(|(other, _)| *other == ticket) {
            Some((_, known)) => known.clone_from(waker),
            None => wakers.push((ticket, waker.clone())),
        }
        self.any.store(true, Ordering::SeqCst);
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.wakers.lock().is_empty()
    }

    fn forget(&self, ticket: u64) {
        self.wakers.lock().retain(|(other, _)| *other != ticket);
    }
}

/// Ready once the end of the log is another one than the one that is known.
pub(crate) struct Changed {
    log: Arc<EventLog>,
    known: LogEnd,
    ticket: u64,
    is_registered: bool,
}

impl Changed {
    pub(super) fn new(log: Arc<EventLog>, known: LogEnd) -> Self {
        let ticket = log.waiters.next_ticket.fetch_add(1, Ordering::Relaxed);
        Self { log, known, ticket, is_registered: false }
    }
}

impl Future for Changed {
    type Output = LogEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<LogEnd> {
        let end = self.log.end();
        if end != self.known {
            return Poll::Ready(end);
        }
        self.log.waiters.register(self.ticket, context.waker());
        self.is_registered = true;
        // The log may have grown between the look and the registration.
        let end = self.log.end();
        if end == self.known { Poll::Pending } else { Poll::Ready(end) }
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        if self.is_registered {
            self.log.waiters.forget(self.ticket);
        }
    }
}
