//! Deliveries: one event for one webhook, with all attempts.

use super::{Attempt, WebhookId};
use crate::{EventId, EventKind, Timestamp};

/// The delivery of one event to one webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The webhook.
    pub webhook: WebhookId,
    /// The event.
    pub event: EventId,
    /// The kind of the event.
    pub kind: EventKind,
    /// The state.
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

impl Delivery {
    /// The maximum number of attempts that a delivery keeps.
    pub const ATTEMPTS_KEPT: usize = 16;

    /// Adds an attempt. Drops the answer of the attempt before it, and the oldest attempt if there are too many.
    pub fn add(&mut self, attempt: Attempt) {
        if let Some(last) = self.log.last_mut() {
            last.outcome.answer = None;
        }
        self.attempts = attempt.number;
        self.updated_at = attempt.at;
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
    /// Each state.
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
