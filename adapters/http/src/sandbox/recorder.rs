//! The journal of a sandbox, with what the transport needs to write and to follow it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use petstore_request_journal::{
    Hints, JournalBounds, JournalPage, RecordTicket, RecordedAnswer, RecordedRequest, RequestJournal,
};
use tokio::sync::futures::Notified;
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// The maximum number of open streams of the journal. A console needs one.
const STREAMS_MAX: usize = 16;

/// The hints of the records at a revision of the journal.
#[derive(Default)]
struct HintsCache {
    clears: u64,
    revision: u64,
    hints: Arc<Hints>,
}

/// The journal, and the readers that wait for its changes.
pub(crate) struct RequestRecorder {
    journal: RequestJournal,
    changed: Notify,
    start: Instant,
    connections: AtomicU64,
    /// The hints of the records at one moment. The lock is held while they are computed, so that readers who ask at the
    /// same time share one computation.
    hints: Mutex<HintsCache>,
    streams: Arc<Semaphore>,
}

impl RequestRecorder {
    pub(crate) fn new(bounds: JournalBounds) -> Self {
        Self {
            journal: RequestJournal::new(bounds),
            changed: Notify::new(),
            start: Instant::now(),
            connections: AtomicU64::new(0),
            hints: Mutex::default(),
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

    /// Returns the rules of the client report that name each record of a page. They are computed once for each revision
    /// of the journal, and not on the thread that serves connections, because a journal with a high limit takes long to
    /// judge. The hints may be those of a later revision.
    pub(crate) async fn hints(&self, page: &JournalPage) -> Arc<Hints> {
        let mut cache = self.hints.lock().await;
        if cache.revision < page.revision {
            // The rules need all records, while a page may have changes only.
            let all = self.journal.page();
            let (clears, revision) = (all.clears, all.revision);
            let judged =
                tokio::task::spawn_blocking(move || petstore_client_report::hints(&all.records)).await;
            // Without an answer the rules have panicked; a list without hints is better than none.
            *cache = HintsCache { clears, revision, hints: Arc::new(judged.unwrap_or_default()) };
        }
        // The journal was cleared after the page was read, so its numbers belong to other requests.
        if cache.clears != page.clears {
            return Arc::default();
        }
        Arc::clone(&cache.hints)
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
