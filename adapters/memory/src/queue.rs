//! The bounded queue of requests to the writer: transitions and housekeeping.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use petstore_domain::Timestamp;
use petstore_ports::{StoreError, StoreErrorKind, Transition};

use crate::group_commit::Target;
use crate::oneshot::Sender;

/// Capacity of the queue. It limits the wait of the last request in the queue to some twenty milliseconds. If the queue
/// is full, requests are refused and the caller should retry later.
pub(crate) const QUEUE_MAX: usize = 4_096;

/// Time after which an unfinished watch request shows that the journal hangs. The service waits for a write for the
/// same time.
const WATCH_MAX: Duration = Duration::from_secs(2);

/// Number of parts into which the delay of a batch is divided. If no request arrives during a part, the batch does not
/// wait for the next part, because all current callers are probably in the batch already.
const WAITS: u32 = 2;

/// A request to the writer.
pub(crate) enum Request {
    /// Run a transition.
    Write { transition: Arc<dyn Transition>, sender: Sender<()> },
    /// Do a part of the housekeeping.
    Housekeeping(HousekeepingPart),
}

/// A part of the housekeeping, with the channel for its outcome.
pub(crate) enum HousekeepingPart {
    /// Drop expired records and events.
    DropExpired {
        now: Timestamp,
        /// Receives the number of records that the first pass dropped.
        sender: Sender<usize>,
    },
    /// Write usage to the journal.
    NoteUsage {
        /// Receives the outcome of the first pass.
        sender: Sender<()>,
    },
    /// Write the progress of webhooks to the journal.
    NoteDeliveries { sender: Sender<()> },
    /// Check that the journal answers.
    Watch { now: Timestamp, sender: Sender<()> },
}

impl Request {
    /// Reports that the request was not run.
    pub(crate) fn refuse(self, error: StoreError) {
        match self {
            Self::Housekeeping(HousekeepingPart::DropExpired { sender, .. }) => sender.send(Err(error)),
            Self::Write { sender, .. }
            | Self::Housekeeping(
                HousekeepingPart::NoteUsage { sender }
                | HousekeepingPart::NoteDeliveries { sender }
                | HousekeepingPart::Watch { sender, .. },
            ) => sender.send(Err(error)),
        }
    }
}

/// A queue between any number of callers and one writer.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    /// Signalled when a request arrives, when the journal fails, and when the queue is closed.
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Request>,
    /// Number of requests in the last batch. Their callers may soon write again.
    taken: usize,
    /// The time of the first watch request that is not finished. The store has no clock. To find out how long the
    /// journal has hung, it compares this time with the time of a later call.
    watched_since: Option<Timestamp>,
    /// Number of waiting requests from which a new request wakes the writer. With fewer requests, the writer would only
    /// continue to wait.
    wake_at: usize,
    /// The journal's error while the journal fails. Requests are then refused.
    failure: Option<StoreError>,
    closed: bool,
}

impl QueueState {
    fn wakes_writer(&self) -> bool {
        self.waiting.len() >= self.wake_at
    }

    /// The target size of the next batch. The callers of the last batch count as concurrent with those that wait.
    fn target(&self, is_cpu_saturated: bool, last_batch: Duration) -> Target {
        Target::of(is_cpu_saturated, self.taken + self.waiting.len(), last_batch)
    }

    /// Returns the journal's own error while the journal fails, and an error once the queue is closed.
    fn health(&self) -> Result<(), StoreError> {
        match &self.failure {
            Some(error) => Err(error.clone()),
            None if self.closed => Err(StoreError::unavailable("the store is closed")),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        self.health().map_err(refusal)
    }
}

/// The answer to a write while the journal fails. Damage of the file is reported as unavailable, because no data of the
/// operation itself was found damaged.
fn refusal(error: StoreError) -> StoreError {
    match error.kind() {
        StoreErrorKind::Corrupt => StoreError::unavailable(error.kind().to_string()).with_source(error),
        StoreErrorKind::Busy | StoreErrorKind::Unavailable | StoreErrorKind::Indeterminate => error,
    }
}

impl Queue {
    /// Returns an error if requests are refused for another reason than a full queue.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.state.lock().check()
    }

    /// Returns the health of the journal. Unlike [`Queue::check`], reports damage as `Corrupt`. Also returns an error
    /// if a watch was requested more than [`WATCH_MAX`] before `now` and has not finished.
    pub(crate) fn check_at(&self, now: Timestamp) -> Result<(), StoreError> {
        let state = self.state.lock();
        state.health()?;
        match state.watched_since.map(|since| now.since(since)) {
            Some(waited) if waited > WATCH_MAX => Err(StoreError::unavailable(format!(
                "the journal's last write has not completed for {} s",
                WATCH_MAX.as_secs()
            ))),
            _ => Ok(()),
        }
    }

    /// The journal's error while it fails.
    pub(crate) fn failure(&self) -> Option<StoreError> {
        self.state.lock().failure.clone()
    }

    /// The number of waiting requests.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Reports that a watch has finished.
    pub(crate) fn watch_done(&self) {
        self.state.lock().watched_since = None;
    }

    /// Adds a request, or refuses it at once.
    pub(crate) fn push(&self, request: Request) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        state.check()?;
        if state.waiting.len() == QUEUE_MAX {
            return Err(StoreError::busy(format!("all {QUEUE_MAX} places of the write queue are taken")));
        }
        if let Request::Housekeeping(HousekeepingPart::Watch { now, .. }) = &request {
            state.watched_since.get_or_insert(*now);
        }
        state.waiting.push_back(request);
        let wakes_writer = state.wakes_writer();
        drop(state);
        if wakes_writer {
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Takes the oldest requests, at most `max` of them.
    pub(crate) fn take(&self, max: usize, into: &mut Vec<Request>) {
        let mut state = self.state.lock();
        state.taken = max.min(state.waiting.len());
        let taken = state.taken;
        into.extend(state.waiting.drain(..taken));
    }

    /// Refuses waiting and further requests until [`Queue::recover`].
    pub(crate) fn fail(&self, error: &StoreError) {
        let mut state = self.state.lock();
        state.failure = Some(error.clone());
        state.watched_since = None;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        // The writer may be asleep if another thread has found the failure. It is woken so that it asks the journal to
        // recover.
        self.changed.notify_all();
        let refused = refusal(error.clone());
        for request in waiting {
            request.refuse(refused.clone());
        }
    }

    /// Accepts requests again.
    pub(crate) fn recover(&self) {
        self.state.lock().failure = None;
    }

    /// Refuses further requests. The waiting requests are still processed.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Waits for a request, or for a failure of the journal. Returns false if the queue is closed and empty.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.state.lock();
        while state.waiting.is_empty() && state.failure.is_none() && !state.closed {
            self.changed.wait(&mut state);
        }
        !state.waiting.is_empty() || !state.closed
    }

    /// If a request waits, delays the batch until it has the size of its [`Target`], or until the target's delay has
    /// passed.
    pub(crate) fn wait_for_batch(&self, is_cpu_saturated: bool, last_batch: Duration) {
        let mut state = self.state.lock();
        let target = state.target(is_cpu_saturated, last_batch);
        let is_below =
            |state: &mut QueueState| (1..target.requests).contains(&state.waiting.len()) && !state.closed;
        let mut seen = 0;
        for _ in 0..WAITS {
            if !is_below(&mut state) || state.waiting.len() == seen {
                break;
            }
            seen = state.waiting.len();
            state.wake_at = target.requests;
            self.changed.wait_while_for(&mut state, is_below, target.delay / WAITS);
            state.wake_at = 0;
        }
    }

    /// Waits for `pause`, or until the queue is closed. Returns true if it is closed.
    pub(crate) fn closes_within(&self, pause: Duration) -> bool {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.closed, pause);
        state.closed
    }
}

#[cfg(test)]
mod tests;
