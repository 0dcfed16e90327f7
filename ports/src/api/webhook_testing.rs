//! Testing aids for webhooks: checks of signatures, and waiting until no delivery is due. Only a sandbox has them.

use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::{EventId, Timestamp, WebhookId};

use crate::{SignatureVerdict, SignedRequest, StoreError, WebhookSecret};

/// The webhooks of a petstore for tests.
#[async_trait]
pub trait WebhookTesting: Send + Sync {
    /// Reads a secret that a tester wrote. Returns none if it is not one.
    fn read_secret(&self, text: &str) -> Option<WebhookSecret>;

    /// Checks the signature of a request that was sent to `path`: against `secret`, or without one against the secrets of
    /// all webhooks whose URL has this path. Returns none if there is no such webhook.
    async fn check_signature(
        &self,
        path: &str,
        secret: Option<&WebhookSecret>,
        request: SignedRequest<'_>,
    ) -> Result<Option<SignatureVerdict>, StoreError>;

    /// Begins the attempts that have become due because the clock was set. Without this call they begin a little later.
    fn clock_was_set(&self);

    /// Waits until no attempt of the webhooks that a reset has deleted is in flight, and none begins any more. The wait has a
    /// bound, because a receiver may hang.
    async fn shop_was_reset(&self);

    /// Waits until every event that is in the log now is delivered or waits for a retry at a later time of the clock, and
    /// until the results are visible to readers. The wait ends after `within` at the latest.
    async fn settle(&self, within: Duration) -> Result<DeliveriesLeft, StoreError>;
}

/// The deliveries that are not settled after a wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveriesLeft {
    /// `true` if no attempt is due or in flight.
    pub is_settled: bool,
    /// The number of deliveries that are not settled.
    pub count: usize,
    /// The first of them by the time of their next attempt, at most [`DeliveriesLeft::SHOWN_MAX`].
    pub shown: Vec<DeliveryLeft>,
}

impl DeliveriesLeft {
    /// The number of deliveries that are shown.
    pub const SHOWN_MAX: usize = 100;
}

/// A delivery that is not settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryLeft {
    /// The webhook whose receiver has not accepted the event.
    pub webhook: WebhookId,
    /// The event that is still to be delivered.
    pub event: EventId,
    /// The number of attempts that have failed.
    pub attempts: u32,
    /// The time of the next attempt.
    pub next_attempt_at: Timestamp,
}
