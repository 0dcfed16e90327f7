//! Webhooks and the progress of their deliveries.

use std::time::Duration;

use petstore_domain::{
    AccountId, AccountWebhooks, Delivery, DeliveryStatusSet, DeliveryUpdate, EventId, EventKinds, Progress,
    Timestamp, WebhookId,
};

use crate::{Reply, SortDirection, StoreError};

/// The time after which a lease ends that is not renewed.
pub const DELIVERY_LEASE: Duration = Duration::from_secs(30);

/// The number of settled deliveries of a webhook that are kept.
pub const SETTLED_KEPT: usize = 1_000;

/// The time for which settled deliveries are kept.
pub const SETTLED_KEPT_FOR: Duration = Duration::from_hours(7 * 24);

/// Reads webhooks for their accounts and for the dispatcher.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait WebhookReader: Send + Sync {
    /// The webhooks of an account, with each change that was answered before the call, also by another handle of the same
    /// data. The dispatcher asks before each attempt, so that it sends no event that happened after such an answer.
    fn webhooks_of(&self, account: AccountId) -> Reply<Result<AccountWebhooks, StoreError>>;

    /// The accounts whose webhooks have changed since a revision, each with all of its webhooks. The revision 0 is before
    /// every change.
    ///
    /// The call is cheap if nothing has changed. A change is visible within one second of its commit. An account may be
    /// included although its webhooks have not changed.
    fn changed_webhooks(&self, since: u64) -> Reply<Result<WebhookChanges, StoreError>>;
}

/// The changes of webhooks since a revision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebhookChanges {
    /// The revision to ask for next.
    pub revision: u64,
    /// The changed accounts. An account whose last webhook was deleted is included with none, unless the list is
    /// complete.
    pub accounts: Vec<AccountWebhooks>,
    /// `true` if the list has every account with webhooks, so that other accounts have none.
    pub is_complete: bool,
}

/// The right to deliver the events of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeliveryLease {
    /// The webhook that is delivered under this lease.
    pub webhook: WebhookId,
    /// The number of the lease. It rises each time the webhook is claimed by another handle.
    pub number: u64,
}

/// A lease that was granted, and the progress of the webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedWebhook {
    /// The lease, which each save of progress must show.
    pub lease: DeliveryLease,
    /// The progress; none before the first save.
    pub progress: Option<Progress>,
}

/// The result of [`DeliveryLog::save`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// The lease is valid, and the progress is saved.
    Held,
    /// Another handle has the webhook, or it was deleted. Nothing is saved.
    Lost,
}

/// A page of the deliveries of a webhook, by event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryQuery {
    /// The webhook whose deliveries are listed.
    pub webhook: WebhookId,
    /// The states that pass.
    pub statuses: DeliveryStatusSet,
    /// The kinds of events that pass.
    pub kinds: EventKinds,
    /// The direction of the page.
    pub order: SortDirection,
    /// The event after which the page begins.
    pub after: Option<EventId>,
    /// The maximum number of deliveries, at least 1.
    pub limit: usize,
}

/// Keeps the progress of webhooks and their deliveries, and decides which of several handles delivers.
///
/// An implementation must keep these rules, which the suite in `petstore-tests` tests:
/// - At any time one handle at most holds the lease of a webhook. A lease ends if it is not renewed for
///   [`DELIVERY_LEASE`]. A save with a lease that has ended saves nothing if another handle has claimed the webhook.
/// - A claim returns the progress of the last save, or, after a crash, at least that of the last save before a flush.
/// - The deliveries of a webhook that was deleted are gone.
/// - Each delivery that is pending is kept. Of those that are settled, the latest [`SETTLED_KEPT`] of each
///   webhook are kept, for [`SETTLED_KEPT_FOR`].
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait DeliveryLog: Send + Sync {
    /// Claims webhooks that no other handle holds, as many of them as is fair among the handles.
    fn claim(
        &self,
        webhooks: Vec<WebhookId>,
        now: Timestamp,
    ) -> Reply<Result<Vec<ClaimedWebhook>, StoreError>>;

    /// Renews leases, and returns those that are still held.
    fn renew(
        &self,
        leases: Vec<DeliveryLease>,
        now: Timestamp,
    ) -> Reply<Result<Vec<DeliveryLease>, StoreError>>;

    /// Gives leases up, so that other handles can claim the webhooks at once.
    fn release(&self, leases: Vec<DeliveryLease>) -> Reply<Result<(), StoreError>>;

    /// Saves the progress of a webhook, and changes of its deliveries.
    fn save(
        &self,
        lease: DeliveryLease,
        progress: Progress,
        updates: Vec<DeliveryUpdate>,
    ) -> Reply<Result<LeaseState, StoreError>>;

    /// Makes everything durable that was saved before the call. The dispatcher calls this some times a second.
    fn flush(&self) -> Reply<Result<(), StoreError>>;

    /// The progress of a webhook as it was saved last.
    fn progress(&self, webhook: WebhookId) -> Reply<Result<Option<Progress>, StoreError>>;

    /// A page of deliveries.
    fn deliveries(&self, query: DeliveryQuery) -> Reply<Result<Vec<Delivery>, StoreError>>;

    /// Reads a delivery; none if the webhook has none of this event, or it is no longer kept.
    fn delivery(&self, webhook: WebhookId, event: EventId) -> Reply<Result<Option<Delivery>, StoreError>>;
}
