//! Webhooks as a store keeps them: all webhooks of an account in one record.

use std::fmt;

use super::{DeliveryOrder, DisabledReason, EventPatterns, WebhookId, WebhookUrl};
use crate::{AccountId, Description, EventId, EventKind, Timestamp, Version};

/// The webhooks of one account, in the order in which they were created.
///
/// They are one record, because an account may have a limited number of them: a store that locks this record keeps the
/// limit without counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountWebhooks {
    /// The account that owns the webhooks and whose events they get.
    pub account: AccountId,
    /// The webhooks. Without one there is no record.
    pub webhooks: Vec<Webhook>,
}

impl AccountWebhooks {
    /// The highest number of webhooks that an account may be allowed.
    pub const MAX: usize = 100;

    /// The default of the number of webhooks that an account may have.
    pub const DEFAULT_MAX: usize = 10;

    /// Returns the webhooks of an account without any.
    pub const fn none(account: AccountId) -> Self {
        Self { account, webhooks: Vec::new() }
    }

    /// Looks up a webhook.
    pub fn get(&self, id: WebhookId) -> Option<&Webhook> {
        self.webhooks.iter().find(|webhook| webhook.id == id)
    }
}

/// A webhook: a receiver that gets events by HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The random id, which clients cannot guess.
    pub id: WebhookId,
    /// The version, which rises with each change of its settings.
    pub version: Version,
    /// The address of the receiver.
    pub url: WebhookUrl,
    /// The types of events that it gets.
    pub types: EventPatterns,
    /// The end of the event log when its types were last narrowed; none if they never were. Later events are judged by the
    /// types as they are now, also by a dispatcher that has read them under the types before.
    pub narrowed_at: Option<EventId>,
    /// A note of the client, which the shop does not read.
    pub description: Option<Description>,
    /// The order in which it gets events.
    pub ordering: DeliveryOrder,
    /// The reason why it gets no events; none if it is enabled.
    pub disabled: Option<DisabledReason>,
    /// The values from which its secrets are derived.
    pub secret: SecretSource,
    /// The latest time at which deliveries were started.
    pub run: DeliveryRun,
    /// The latest requests for single events.
    pub redeliveries: Vec<Redelivery>,
    /// The time at which it was created.
    pub created_at: Timestamp,
}

/// The values from which the secrets of a webhook are derived, together with a master key that no store has.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretSource {
    /// Random bits of this webhook.
    pub nonce: [u8; 32],
    /// The number of the current secret, from 1.
    pub generation: u32,
    /// The master key with which the current secret is derived.
    pub master: MasterKeyId,
    /// The end of the secret before the current one, if it has not been ended at once. The secret is valid until then.
    pub previous_until: Option<Timestamp>,
}

impl fmt::Debug for SecretSource {
    /// Leaves out the nonce, which is of no use in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretSource(generation {}, until {:?})", self.generation, self.previous_until)
    }
}

/// A short digest of a master key, by which a server recognises the key. The key cannot be derived from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MasterKeyId(pub [u8; 8]);

/// A start of deliveries: at the creation of a webhook, when it is enabled, and by a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryRun {
    /// The number of the start, from 1.
    pub number: u32,
    /// The place in the event log after which the deliveries begin; none if they continue where they stopped.
    pub after: Option<EventId>,
}

/// A client's request to deliver one event once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redelivery {
    /// The number of the request for this webhook, from 1.
    pub number: u64,
    /// The event that is delivered once more.
    pub event: EventId,
    /// The time of the request.
    pub at: Timestamp,
}

impl Webhook {
    /// Returns whether it gets events.
    pub const fn is_enabled(&self) -> bool {
        self.disabled.is_none()
    }

    /// Returns whether an event happened after its type was left out of those that the webhook gets.
    pub fn has_left_out(&self, id: EventId, kind: EventKind) -> bool {
        let is_later = |end: EventId| id.epoch != end.epoch || id.position > end.position;
        !self.types.kinds().admits(kind) && self.narrowed_at.is_some_and(is_later)
    }
}
