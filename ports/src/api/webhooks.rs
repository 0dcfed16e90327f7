//! The webhooks of an account.

use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::{
    AccountId, Attempt, CreateWebhookRejection, DeleteWebhookRejection, Delivery, DisabledReason, Event,
    EventId, EventKind, NewWebhook, Precondition, RotateWebhookSecretRejection, StartDeliveriesRejection,
    Target, TargetRefusal, Timestamp, UpdateWebhookRejection, Webhook, WebhookId, WebhookPatch,
};

use super::{Failure, IdempotentRequest, Repeated};
use crate::{DeliveryQuery, StoreError};

/// A webhook as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookListing {
    /// The record, with the settings that the client chose.
    pub webhook: Webhook,
    /// The state, from the record and from the progress of its deliveries.
    pub status: WebhookStatus,
    /// The time of the first failed attempt since the last success.
    pub failing_since: Option<Timestamp>,
    /// `true` if its next events, or one that is to be sent again, cannot be read, because the event log is damaged there.
    pub is_unreadable: bool,
    /// `true` if it is enabled and gets no events, because no valid key of its account has the scope `webhooks`. Only the views of
    /// an operator tell it: a client that reads a webhook has such a key.
    pub is_withheld: bool,
    /// The end of a pause that its receiver asked for, or that failed attempts led to. It may be over.
    pub paused_until: Option<Timestamp>,
    /// The time of the last success.
    pub last_success_at: Option<Timestamp>,
    /// The event up to which all events are settled.
    pub cursor: EventId,
    /// The number of events in the log after that, at most [`WebhookListing::LAG_MAX`].
    pub lag: u64,
}

impl WebhookListing {
    /// The highest lag that is reported.
    pub const LAG_MAX: u64 = 10_000;

    /// Why it is failing, if it is.
    pub const fn failing_reason(&self) -> FailingReason {
        if self.is_unreadable { FailingReason::LogDamaged } else { FailingReason::Attempts }
    }
}

/// The reason why a webhook is failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailingReason {
    /// Its last attempt failed.
    Attempts,
    /// Its events cannot be read, because the event log is damaged.
    LogDamaged,
}

impl FailingReason {
    /// The word for clients.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::LogDamaged => "log_damaged",
        }
    }
}

/// The state of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookStatus {
    /// It is enabled, and its last attempt has succeeded, or there was none.
    Active,
    /// It is enabled, and its last attempt failed, or its events cannot be read.
    Failing,
    /// It gets no events.
    Disabled(DisabledReason),
}

/// A webhook with its current secret. The secret is derived and not stored, so it is shown only when it is new.
#[derive(Clone, PartialEq, Eq)]
pub struct RevealedWebhook {
    /// The webhook with its state, as a list shows it.
    pub listing: WebhookListing,
    /// The secret as text: `whsec_` and base64.
    pub secret: String,
}

impl std::fmt::Debug for RevealedWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RevealedWebhook").field("listing", &self.listing).finish_non_exhaustive()
    }
}

/// A place in the event log at which deliveries begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogPlace {
    /// The end of the log: only later events are delivered.
    #[default]
    Now,
    /// The oldest event that is kept.
    Oldest,
    /// The event after this one.
    After(EventId),
}

/// A delivery and its event, while the event is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryDetail {
    /// The delivery with its latest attempts.
    pub delivery: Delivery,
    /// The event that is posted; none if the log has dropped it.
    pub event: Option<Event>,
}

/// The reason why no sample event was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TestWebhookRejection {
    /// The account has no such webhook.
    #[error("there is no such webhook")]
    NotFound,
    /// Too many sample events of the account are being sent.
    #[error("too many sample events of the account are being sent")]
    TooMany,
}

/// The webhooks of accounts. Each method finds only the webhooks of the account that it names.
#[async_trait]
pub trait Webhooks: Send + Sync {
    /// Judges the receiver of a webhook by the policy of the server, before a webhook gets its address. A transport calls
    /// this method for each address that a client sets. Each attempt is judged again.
    ///
    /// # Errors
    /// The reason why webhooks may not be sent there.
    fn judge_target(&self, target: &Target) -> Result<(), TargetRefusal>;

    /// The webhooks of an account, in the order in which they were created. An account has few of them.
    async fn list_webhooks(&self, account: AccountId) -> Result<Vec<WebhookListing>, StoreError>;

    /// Reads a webhook; none if the account has no webhook with this id.
    async fn webhook(&self, account: AccountId, id: WebhookId) -> Result<Option<WebhookListing>, StoreError>;

    /// Creates a webhook whose deliveries begin at a place of the log. A repeated answer has the same secret.
    async fn create_webhook(
        &self,
        account: AccountId,
        new: NewWebhook,
        from: LogPlace,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<RevealedWebhook, CreateWebhookRejection>;

    /// Changes a webhook. If it becomes enabled, its deliveries go on at `from`, or after the last settled event if `from`
    /// is none.
    async fn update_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        patch: WebhookPatch,
        from: Option<LogPlace>,
        precondition: Precondition,
    ) -> Result<WebhookListing, Failure<UpdateWebhookRejection>>;

    /// Deletes a webhook. Its deliveries end.
    async fn delete_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        precondition: Precondition,
    ) -> Result<(), Failure<DeleteWebhookRejection>>;

    /// Gives a webhook another secret. Requests are signed with the old one, too, for the overlap.
    async fn rotate_webhook_secret(
        &self,
        account: AccountId,
        id: WebhookId,
        overlap: Duration,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<RevealedWebhook, RotateWebhookSecretRejection>;

    /// Sends a sample event and returns the attempt, whatever its result. A disabled webhook gets it, too.
    async fn test_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        kind: EventKind,
    ) -> Result<Attempt, Failure<TestWebhookRejection>>;

    /// Begins the deliveries of a webhook at another place of the log.
    async fn replay_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        from: LogPlace,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<WebhookListing, StartDeliveriesRejection>;

    /// A page of deliveries; none if the account has no such webhook.
    async fn list_deliveries(
        &self,
        account: AccountId,
        query: DeliveryQuery,
    ) -> Result<Option<Vec<Delivery>>, StoreError>;

    /// One delivery; none if the account has no such webhook, or the webhook has no such delivery.
    async fn delivery(
        &self,
        account: AccountId,
        id: WebhookId,
        event: EventId,
    ) -> Result<Option<DeliveryDetail>, StoreError>;

    /// Delivers one event once more, whether it was delivered or not, and returns the delivery.
    async fn redeliver(
        &self,
        account: AccountId,
        id: WebhookId,
        event: EventId,
    ) -> Result<Delivery, Failure<StartDeliveriesRejection>>;
}
