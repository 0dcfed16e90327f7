//! Readers that wait for the log to grow.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use petstore_domain::{EventFilter, EventSummary, Position};
use petstore_ports::LogEnd;
use slab::Slab;

use super::EventLog;

/// The end of the log, and the readers that wait for events after it.
pub(super) struct Waiters {
    epoch: AtomicU64,
    last: AtomicU64,
    /// The bits of the kinds of events for which readers wait. A writer of other kinds of events need not search the
    /// list of readers.
    kinds: AtomicU32,
    readers: Mutex<Slab<Reader>>,
}

/// A reader that waits, or that was woken and has not left the list yet.
struct Reader {
    filter: EventFilter,
    /// The waker of the reader; `None` once the reader was woken.
    waker: Option<Waker>,
}

impl Waiters {
    pub(super) fn new(end: LogEnd) -> Self {
        Self {
            epoch: AtomicU64::new(end.epoch),
            last: AtomicU64::new(end.last.get()),
            kinds: AtomicU32::new(0),
            readers: Mutex::new(Slab::new()),
        }
    }

    /// The end of the log. Epoch and position are read one after the other. If the log restarts between the two reads,
    /// the reader is woken and reads the end again.
    pub(super) fn end(&self) -> LogEnd {
        let epoch = self.epoch.load(Ordering::SeqCst);
        let last = Position::new(self.last.load(Ordering::SeqCst)).unwrap_or(Position::MAX);
        LogEnd { epoch, last }
    }

    /// Sets the end of the log, and wakes the readers that wait for one of the events up to it.
    pub(super) fn wake(&self, end: LogEnd, events: &EventSummary) {
        self.set_end(end);
        if self.kinds.load(Ordering::SeqCst) & events.bits() != 0 {
            self.wake_if(|filter| events.has_one_for(filter));
        }
    }

    /// Sets the end of the log, and wakes all readers.
    pub(super) fn wake_all(&self, end: LogEnd) {
        self.set_end(end);
        self.wake_if(|_| true);
    }

    /// Sets the end of the log. Within an epoch, a position below the current one is ignored, because two writers may
    /// call this function in another order than that of their events.
    fn set_end(&self, end: LogEnd) {
        if self.epoch.swap(end.epoch, Ordering::SeqCst) == end.epoch {
            self.last.fetch_max(end.last.get(), Ordering::SeqCst);
        } else {
            self.last.store(end.last.get(), Ordering::SeqCst);
        }
    }

    fn wake_if(&self, is_for: impl Fn(&EventFilter) -> bool) {
        let mut woken = Vec::new();
        let mut readers = self.readers.lock();
        let mut kinds = 0;
        for (_, reader) in readers.iter_mut().filter(|(_, reader)| reader.waker.is_some()) {
            if is_for(&reader.filter) {
                woken.extend(reader.waker.take());
            } else {
                kinds |= reader.filter.kinds.bits();
            }
        }
        self.kinds.store(kinds, Ordering::SeqCst);
        drop(readers);
        woken.into_iter().for_each(Waker::wake);
    }

    fn register(&self, filter: EventFilter, waker: &Waker) -> usize {
        let mut readers = self.readers.lock();
        let place = readers.insert(Reader { filter, waker: Some(waker.clone()) });
        self.kinds.fetch_or(filter.kinds.bits(), Ordering::SeqCst);
        place
    }

    /// Returns `true` if the reader at this place was woken. Otherwise stores `waker` for it.
    fn is_woken(&self, place: usize, waker: &Waker) -> bool {
        match &mut self.readers.lock()[place].waker {
            Some(known) => {
                known.clone_from(waker);
                false
            }
            None => true,
        }
    }

    fn leave(&self, place: usize) {
        self.readers.lock().remove(place);
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.readers.lock().is_empty()
    }
}

/// A future that is ready once the filter admits an event after the known end, or the log has another epoch.
pub(crate) struct Changed {
    log: Arc<EventLog>,
    known: LogEnd,
    filter: EventFilter,
    /// The place in the list of readers; none before the first poll.
    place: Option<usize>,
}

impl Changed {
    pub(super) const fn new(log: Arc<EventLog>, known: LogEnd, filter: EventFilter) -> Self {
        Self { log, known, filter, place: None }
    }
}

impl Future for Changed {
    type Output = LogEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<LogEnd> {
        if let Some(place) = self.place {
            let is_woken = self.log.waiters.is_woken(place, context.waker());
            return if is_woken { Poll::Ready(self.log.end()) } else { Poll::Pending };
        }
        self.place = Some(self.log.waiters.register(self.filter, context.waker()));
        // The log may have grown before the reader was registered.
        self.log.end_beyond(self.known, &self.filter).map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.log.waiters.leave(place);
        }
    }
}
