//! The journal of a sandbox, with what the transport needs to write and to follow it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use petstore_request_journal::{
    JournalBounds, JournalPage, RecordTicket, RecordedAnswer, RecordedRequest, RequestJournal,
};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// The maximum number of open streams of the journal. A console needs one.
const STREAMS_MAX: usize = 16;

/// The journal, and the readers that wait for its changes.
pub(crate) struct RequestRecorder {
    journal: RequestJournal,
    changed: Notify,
    start: Instant,
    connections: AtomicU64,
    streams: Arc<Semaphore>,
}

impl RequestRecorder {
    pub(crate) fn new(bounds: JournalBounds) -> Self {
        Self {
            journal: RequestJournal::new(bounds),
            changed: Notify::new(),
            start: Instant::now(),
            connections: AtomicU64::new(0),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
        }
    }

    /// The journal.
    pub(crate) const fn journal(&self) -> &RequestJournal {
        &self.journal
    }

    /// Returns the time since the start.
    pub(crate) fn uptime(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.start)
    }

    /// Returns the number of a further connection.
    pub(crate) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds a request that has arrived.
    pub(crate) fn add(&self, request: RecordedRequest) -> RecordTicket {
        let ticket = self.journal.add(request);
        self.changed.notify_waiters();
        ticket
    }

    /// Sets the answer of a request.
    pub(crate) fn answer(&self, ticket: RecordTicket, answer: RecordedAnswer) {
        self.journal.answer(ticket, answer);
        self.changed.notify_waiters();
    }

    /// Deletes all records.
    pub(crate) fn clear(&self) {
        self.journal.clear();
        self.changed.notify_waiters();
    }

    /// Returns all records.
    pub(crate) fn page(&self) -> JournalPage {
        self.journal.page()
    }

    /// Completes at the next change after this call, also if the future is polled later.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Returns a permit for one more stream; none if the maximum number of streams is open.
    pub(crate) fn stream_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }
}
