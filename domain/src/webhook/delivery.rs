//! Deliveries: one event for one webhook, with all attempts.

use super::{Attempt, WebhookId};
use crate::{EventId, EventKind, Timestamp};

/// The delivery of one event to one webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The webhook whose receiver gets the event.
    pub webhook: WebhookId,
    /// The event, which names the delivery among those of its webhook.
    pub event: EventId,
    /// The kind of the event.
    pub kind: EventKind,
    /// The state, pending until the delivery is settled.
    pub status: DeliveryStatus,
    /// The number of attempts so far.
    pub attempts: u32,
    /// The latest attempts, in their order: at most [`Delivery::ATTEMPTS_KEPT`]. Only the last one has the receiver's
    /// answer.
    pub log: Vec<Attempt>,
    /// The time of the next attempt, if one is due.
    pub next_attempt_at: Option<Timestamp>,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

/// A change of a delivery: the end of an attempt, or of the whole delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryUpdate {
    /// The event of the delivery that changes.
    pub event: EventId,
    /// The kind of the event.
    pub kind: EventKind,
    /// The attempt that has ended; none if the event was dropped from the log.
    pub attempt: Option<Attempt>,
    /// The state after it.
    pub status: DeliveryStatus,
    /// The time of the next attempt, if one is due.
    pub next_attempt_at: Option<Timestamp>,
    /// The time of the change.
    pub at: Timestamp,
}

impl Delivery {
    /// The maximum number of attempts that a delivery keeps.
    pub const ATTEMPTS_KEPT: usize = 16;

    /// Returns the delivery that begins with a change.
    pub fn begin(webhook: WebhookId, update: DeliveryUpdate) -> Self {
        let mut delivery = Self {
            webhook,
            event: update.event,
            kind: update.kind,
            status: update.status,
            attempts: 0,
            log: Vec::new(),
            next_attempt_at: None,
            updated_at: update.at,
        };
        delivery.apply(update);
        delivery
    }

    /// Applies a change. Drops the receiver's answer of the attempt before it, and the oldest attempt if there are too
    /// many.
    pub fn apply(&mut self, update: DeliveryUpdate) {
        self.status = update.status;
        self.next_attempt_at = update.next_attempt_at;
        self.updated_at = update.at;
        let Some(attempt) = update.attempt else { return };
        if let Some(last) = self.log.last_mut() {
            last.outcome.answer = None;
        }
        self.attempts = self.attempts.saturating_add(1);
        self.log.push(attempt);
        if self.log.len() > Self::ATTEMPTS_KEPT {
            self.log.remove(0);
        }
    }
}

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeliveryStatus {
    /// No attempt has succeeded yet, and another one follows.
    Pending,
    /// The receiver has accepted the event.
    Delivered,
    /// The last attempt of the schedule has failed.
    Failed,
}

impl DeliveryStatus {
    /// Each state, for parsers and tests of the contract.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Delivered, Self::Failed];

    /// The word for clients, such as `pending`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }

    /// Parses a word that [`DeliveryStatus::as_str`] returns.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A set of states; the empty set stands for any state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DeliveryStatusSet(u8);

impl DeliveryStatusSet {
    /// The set without a condition, which every delivery passes.
    pub const ANY: Self = Self(0);

    /// Lets deliveries in this state pass, too.
    pub const fn add(&mut self, status: DeliveryStatus) {
        self.0 |= 1 << status as u8;
    }

    /// Returns whether this state is in the set, or the set stands for any state.
    pub const fn admits(self, status: DeliveryStatus) -> bool {
        self.0 == 0 || self.0 & (1 << status as u8) != 0
    }
}
