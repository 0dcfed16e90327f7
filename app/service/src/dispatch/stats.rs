//! Counts of the dispatcher, for monitoring and for tests that wait until nothing is due.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use petstore_domain::{AttemptError, AttemptOutcome, Timestamp};
use petstore_ports::LogEnd;

use super::notices::{DispatchNotice, Notices};

/// Webhooks by state. A webhook that another node delivers is counted by that node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WebhookCounts {
    /// Webhooks of this node that get their events.
    pub active: usize,
    /// Webhooks of this node whose last attempt failed.
    pub failing: usize,
    /// Webhooks of this node that get nothing, because no valid key of their account has the scope `webhooks`.
    pub withheld: usize,
    /// Webhooks of all nodes that are disabled.
    pub disabled: usize,
    /// Webhooks of all nodes that are enabled and get nothing, because their master key is missing or is another one.
    pub without_key: usize,
}

/// Counts of a dispatcher since its start.
#[derive(Debug, Default)]
pub struct DispatchStats {
    delivered: AtomicU64,
    failed: [AtomicU64; AttemptError::ALL.len()],
    in_flight: AtomicUsize,
    held: AtomicUsize,
    round: AtomicU64,
    settled_round: AtomicU64,
    /// The end of the event log at the last time at which nothing was due: its epoch and its last position.
    settled_end: [AtomicU64; 2],
    webhooks: Mutex<WebhookCounts>,
    oldest_active: OldestEvent,
    oldest_failing: OldestEvent,
    notices: Notices,
}

/// The time of the oldest event that some webhooks have not got, in milliseconds; 0 if they have got all.
#[derive(Debug, Default)]
pub(super) struct OldestEvent(AtomicI64);

impl OldestEvent {
    pub(super) fn set(&self, at: Option<Timestamp>) {
        self.0.store(at.map_or(0, Timestamp::as_millis), Ordering::Relaxed);
    }

    fn age(&self, now: Timestamp) -> Duration {
        match self.0.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            at => Duration::from_millis(now.as_millis().saturating_sub(at).try_into().unwrap_or(0)),
        }
    }
}

impl DispatchStats {
    /// The webhooks by state, as of the last second.
    pub fn webhooks(&self) -> WebhookCounts {
        *self.webhooks.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The age of the oldest event that an active webhook of this node has not got, as of the last second.
    pub fn active_lag(&self, now: Timestamp) -> Duration {
        self.oldest_active.age(now)
    }

    /// The age of the oldest event that a failing webhook of this node has not got, as of the last second.
    pub fn failing_lag(&self, now: Timestamp) -> Duration {
        self.oldest_failing.age(now)
    }

    /// Removes and returns what an operator should know.
    pub fn take_notices(&self) -> Vec<DispatchNotice> {
        self.notices.take()
    }

    /// The number of attempts that succeeded.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// The number of attempts that failed for each reason.
    pub fn failed(&self) -> impl Iterator<Item = (AttemptError, u64)> {
        let counts = self.failed.iter().map(|count| count.load(Ordering::Relaxed));
        AttemptError::ALL.into_iter().zip(counts)
    }

    /// The number of attempts in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// The number of webhooks that the dispatcher delivers.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }

    /// The number of the dispatcher's current round. A round takes at most a fifth of a second, and less while a
    /// [`WebhookTester`](super::WebhookTester) waits.
    pub fn round(&self) -> u64 {
        self.round.load(Ordering::Acquire)
    }

    /// Returns whether nothing was due, in flight or unsaved at some time after a round, with the webhooks as they were
    /// after that round, and with all events up to `end`.
    pub fn was_settled_after(&self, round: u64, end: LogEnd) -> bool {
        let is_new = self.settled_round.load(Ordering::Acquire) > round;
        let [epoch, last] = self.settled_end.each_ref().map(|part| part.load(Ordering::Acquire));
        is_new && epoch == end.epoch && last >= end.last.get()
    }

    pub(super) fn set_webhooks(&self, counts: WebhookCounts) {
        *self.webhooks.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = counts;
    }

    /// The times of the oldest events that active and failing webhooks have not got.
    pub(super) const fn oldest(&self) -> [&OldestEvent; 2] {
        [&self.oldest_active, &self.oldest_failing]
    }

    pub(super) const fn notices(&self) -> &Notices {
        &self.notices
    }

    pub(super) fn count(&self, outcome: &AttemptOutcome) {
        let counter = match outcome.error {
            None => &self.delivered,
            Some(error) => {
                let index = AttemptError::ALL.iter().position(|other| *other == error).unwrap_or_default();
                &self.failed[index]
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn set_held(&self, webhooks: usize) {
        self.held.store(webhooks, Ordering::Release);
    }

    pub(super) fn set_in_flight(&self, attempts: usize) {
        self.in_flight.store(attempts, Ordering::Relaxed);
    }

    /// Begins a round, and returns its number.
    pub(super) fn begin_round(&self) -> u64 {
        self.round.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Notes that nothing is due now: with the webhooks that were read in a round, and with all events up to `end`.
    pub(super) fn note_settled(&self, round: u64, end: LogEnd) {
        self.settled_end[0].store(end.epoch, Ordering::Release);
        self.settled_end[1].store(end.last.get(), Ordering::Release);
        self.settled_round.store(round, Ordering::Release);
    }
}
