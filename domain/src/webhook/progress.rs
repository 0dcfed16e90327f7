//! The progress of a webhook's deliveries.

use std::time::Duration;

use super::{DeliveryOrder, DeliveryRun, WebhookId};
use crate::{EventKinds, Position, Timestamp};

/// The number of attempts of one webhook that may be in flight at a time.
pub const IN_FLIGHT_MAX: usize = 8;

/// The number of deliveries of one webhook that may wait for a retry. No first attempt begins while there are more.
pub const RETRIES_MAX: usize = 1_000;

/// The number of events that may wait for their first attempt.
pub const FRESH_MAX: usize = 100;

/// The number of failed attempts in a row after which a webhook gets one attempt at a time.
pub const FAILURES_MAX: u32 = 5;

/// How far a webhook has got in the event log.
///
/// A store may keep an older progress than the one in use. Deliveries since then are repeated if the newer one is lost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// The number of the [`DeliveryRun`] that it follows.
    pub run: u32,
    /// The epoch of the event log.
    pub epoch: u64,
    /// The position up to which all events have been looked at.
    pub scanned: Position,
    /// The deliveries that have begun or are to begin, and are not settled: by position.
    pub pending: Vec<PendingDelivery>,
    /// The time of the first failed attempt since the last success.
    pub failing_since: Option<Timestamp>,
    /// The number of failed attempts since the last success.
    pub failures: u32,
    /// The time of the last success.
    pub last_success_at: Option<Timestamp>,
    /// The number of the last [`Redelivery`](super::Redelivery) that was taken.
    pub redelivered: u64,
    /// `true` once the webhook is to be disabled. Nothing is sent until the next run.
    pub is_stopped: bool,
    /// The pause that the receiver asked for. It outlasts a start of deliveries: the receiver is the same.
    pub asked: Option<DeliveryPause>,
    /// The pause after a failed attempt of a webhook whose attempts fail one after the other.
    pub rest: Option<DeliveryPause>,
    /// `true` if the next events, or one that is pending, cannot be read, because the event log is damaged there.
    pub is_unreadable: bool,
    /// The fingerprint of the receiver's address to which the pauses, failures and retries belong; none without any, or
    /// if it is not known.
    pub receiver: Option<u64>,
    /// The types of events with which the log was read; none if they are not known.
    pub seen: Option<SeenTypes>,
}

/// The types of events of a webhook as its deliveries know them.
///
/// A webhook may have got further types that its deliveries did not know yet when their progress was saved. Then they have
/// passed over events of those types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenTypes {
    /// The types.
    pub kinds: EventKinds,
    /// The position up to which the webhook certainly had no other types.
    pub certain_to: Position,
}

/// A time in which no attempt of a webhook begins, unless a client asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryPause {
    /// The end of the pause.
    pub until: Timestamp,
    /// The length of the pause. A clock that was set back cannot make `until` lie further away.
    pub length: Duration,
}

impl DeliveryPause {
    /// Returns a pause that begins now.
    pub fn begin(now: Timestamp, length: Duration) -> Self {
        Self { until: now.plus(length), length }
    }

    /// Brings the end forward if the clock was set back.
    pub(crate) fn bound(&mut self, now: Timestamp) {
        self.until = self.until.min(now.plus(self.length));
    }
}

/// The delivery of one event that is not settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingDelivery {
    /// The position of the event.
    pub position: Position,
    /// The number of attempts that have failed.
    pub attempts: u32,
    /// The time from which the next attempt may begin.
    pub due: Timestamp,
    /// The time from the last failed attempt to the next one. A clock that was set back cannot make `due` lie further away.
    pub wait: Duration,
    /// `true` while an attempt is in flight. A store need not keep it: the attempt is repeated after a crash.
    pub is_in_flight: bool,
    /// `true` if a client has asked for the next attempt.
    pub is_manual: bool,
}

/// The settings of a webhook that decide on its deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryRules {
    /// The webhook, from which the jitter of its retries is derived.
    pub webhook: WebhookId,
    /// The order of its events.
    pub ordering: DeliveryOrder,
    /// `false` if retries are due exactly by the schedule, and a webhook that fails does not pause: for tests that turn the
    /// clock.
    pub has_jitter: bool,
}

impl Progress {
    /// Returns the progress of a webhook whose deliveries begin after a position.
    pub fn new(run: u32, epoch: u64, after: Position) -> Self {
        Self { run, epoch, scanned: after, ..Self::default() }
    }

    /// Follows a start of deliveries, unless it follows it already. Deliveries either begin after the place of the start,
    /// or they continue: then each event that is not settled gets all attempts of the schedule again, the first of them
    /// at once, or after the pause that the receiver asked for.
    pub fn follow(&mut self, run: &DeliveryRun) {
        if run.number <= self.run {
            return;
        }
        if let Some(after) = run.after {
            *self = Self {
                last_success_at: self.last_success_at,
                redelivered: self.redelivered,
                // Another place in the log does not make the receiver a healthy one.
                failures: self.failures,
                asked: self.asked,
                receiver: self.receiver,
                ..Self::new(run.number, after.epoch, after.position)
            };
            return;
        }
        self.run = run.number;
        (self.is_stopped, self.is_unreadable) = (false, false);
        (self.failing_since, self.failures, self.rest) = (None, 0, None);
        for delivery in &mut self.pending {
            (delivery.attempts, delivery.due) = (0, Timestamp::MIN);
        }
    }

    /// Returns the progress under a new lease: no attempt is in flight. If the webhook was to be disabled and is not, its
    /// deliveries go on.
    #[must_use]
    pub fn resumed(mut self) -> Self {
        for delivery in &mut self.pending {
            delivery.is_in_flight = false;
        }
        self.is_stopped = false;
        // Damage is found again if it is still there.
        self.is_unreadable = false;
        self
    }

    /// The position up to which all events are settled.
    pub fn settled(&self) -> Position {
        self.pending.first().map_or(self.scanned, |first| first.position.before().min(self.scanned))
    }

    /// The end of the pauses of the webhook, which may be over; none if it has not paused.
    pub fn paused_until(&self) -> Option<Timestamp> {
        self.asked.into_iter().chain(self.rest).map(|pause| pause.until).max()
    }

    /// The time from which the next attempt of a pending delivery may begin.
    pub fn next_attempt_at(&self, delivery: &PendingDelivery) -> Timestamp {
        let pause = self.paused_until().filter(|_| !delivery.is_manual);
        pause.map_or(delivery.due, |until| delivery.due.max(until))
    }

    /// The number of attempts in flight.
    pub fn in_flight(&self) -> usize {
        self.pending.iter().filter(|delivery| delivery.is_in_flight).count()
    }

    /// The number of further events that may be taken from the log.
    pub fn room(&self) -> usize {
        if self.is_stopped || self.waiting_retries() >= RETRIES_MAX {
            return 0;
        }
        FRESH_MAX.saturating_sub(self.pending.iter().filter(|delivery| delivery.attempts == 0).count())
    }

    /// The number of deliveries that wait for a retry.
    pub(crate) fn waiting_retries(&self) -> usize {
        self.pending.iter().filter(|delivery| delivery.attempts > 0 && !delivery.is_in_flight).count()
    }

    /// The index of a delivery, or the one at which it is to be inserted.
    pub(crate) fn find(&self, position: Position) -> Result<usize, usize> {
        self.pending.binary_search_by_key(&position, |delivery| delivery.position)
    }
}
