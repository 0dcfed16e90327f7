//! Webhooks, their leases and their deliveries.

use std::collections::BTreeMap;

use petstore_domain::{
    AccountId, AccountWebhooks, Delivery, DeliveryStatus, DeliveryUpdate, EventId, Progress, Timestamp,
    WebhookId,
};
use petstore_ports::{
    ClaimedWebhook, DELIVERY_LEASE, DeliveryLease, DeliveryLog, DeliveryQuery, LeaseState, Reply,
    SETTLED_KEPT, SETTLED_KEPT_FOR, SortDirection, StoreError, WebhookChanges, WebhookReader,
};

use super::{Bug, ReferenceStore};

/// The progress of each webhook.
#[derive(Debug, Default)]
pub(super) struct Webhooks(BTreeMap<WebhookId, Kept>);

#[derive(Debug, Default)]
struct Kept {
    lease: u64,
    held_until: Option<Timestamp>,
    progress: Option<Progress>,
    deliveries: BTreeMap<EventId, Delivery>,
}

impl Kept {
    fn holds(&self, lease: DeliveryLease) -> bool {
        self.lease == lease.number
    }

    /// Drops settled deliveries: all but the latest ones, and those of long ago.
    fn prune(&mut self, most: usize, now: Timestamp) {
        let is_settled = |delivery: &Delivery| delivery.status != DeliveryStatus::Pending;
        let mut excess = self.deliveries.values().filter(|one| is_settled(one)).count().saturating_sub(most);
        self.deliveries.retain(|_, delivery| {
            if !is_settled(delivery) {
                return true;
            }
            let is_excess = excess > 0;
            excess = excess.saturating_sub(1);
            !is_excess && delivery.updated_at >= now.minus(SETTLED_KEPT_FOR)
        });
    }
}

impl WebhookReader for ReferenceStore {
    fn webhooks_of(&self, account: AccountId) -> Reply<Result<AccountWebhooks, StoreError>> {
        let found = self.lock().tables.webhooks.get(&account).cloned();
        Reply::now(Ok(found.unwrap_or_else(|| AccountWebhooks::none(account))))
    }

    fn changed_webhooks(&self, since: u64) -> Reply<Result<WebhookChanges, StoreError>> {
        let state = self.lock();
        let revision = state.tables.webhook_changes;
        let is_complete = revision != since && !self.has(Bug::WebhookDeletionsUntold);
        let accounts: Vec<_> =
            if revision == since { Vec::new() } else { state.tables.webhooks.values().cloned().collect() };
        Reply::now(Ok(WebhookChanges { revision, accounts, is_complete }))
    }
}

impl DeliveryLog for ReferenceStore {
    fn claim(
        &self,
        webhooks: Vec<WebhookId>,
        now: Timestamp,
    ) -> Reply<Result<Vec<ClaimedWebhook>, StoreError>> {
        let mut state = self.lock();
        let mut claimed = Vec::new();
        for webhook in webhooks {
            let kept = state.webhooks.0.entry(webhook).or_default();
            let is_held = kept.held_until.is_some_and(|until| until > now);
            if !is_held || self.has(Bug::LeasesShared) {
                kept.lease += 1;
                kept.held_until = Some(now.plus(DELIVERY_LEASE));
                let lease = DeliveryLease { webhook, number: kept.lease };
                claimed.push(ClaimedWebhook { lease, progress: kept.progress.clone() });
            }
        }
        Reply::now(Ok(claimed))
    }

    fn renew(
        &self,
        leases: Vec<DeliveryLease>,
        now: Timestamp,
    ) -> Reply<Result<Vec<DeliveryLease>, StoreError>> {
        let mut state = self.lock();
        let mut held = leases;
        held.retain(|lease| match state.webhooks.0.get_mut(&lease.webhook) {
            Some(kept) if kept.holds(*lease) => {
                kept.held_until = Some(now.plus(DELIVERY_LEASE));
                true
            }
            _ => false,
        });
        Reply::now(Ok(held))
    }

    fn release(&self, leases: Vec<DeliveryLease>) -> Reply<Result<(), StoreError>> {
        let mut state = self.lock();
        for lease in leases {
            if let Some(kept) = state.webhooks.0.get_mut(&lease.webhook).filter(|kept| kept.holds(lease)) {
                kept.held_until = None;
            }
        }
        Reply::now(Ok(()))
    }

    fn save(
        &self,
        lease: DeliveryLease,
        progress: Progress,
        updates: Vec<DeliveryUpdate>,
    ) -> Reply<Result<LeaseState, StoreError>> {
        let mut state = self.lock();
        let ignores_lease = self.has(Bug::LostLeaseSaves);
        let kept = state.webhooks.0.get_mut(&lease.webhook);
        let Some(kept) = kept.filter(|kept| ignores_lease || kept.holds(lease)) else {
            return Reply::now(Ok(LeaseState::Lost));
        };
        kept.progress = Some(progress);
        let most = if self.has(Bug::DeliveriesUncounted) { usize::MAX } else { SETTLED_KEPT };
        for update in updates {
            let now = update.at;
            let before = kept.deliveries.remove(&update.event).filter(|_| !self.has(Bug::AttemptsReplaced));
            let event = update.event;
            let delivery = match before {
                Some(mut delivery) => {
                    delivery.apply(update);
                    delivery
                }
                None => Delivery::begin(lease.webhook, update),
            };
            kept.deliveries.insert(event, delivery);
            if !self.has(Bug::DeliveriesKept) {
                kept.prune(most, now);
            }
        }
        Reply::now(Ok(LeaseState::Held))
    }

    fn flush(&self) -> Reply<Result<(), StoreError>> {
        Reply::now(Ok(()))
    }

    fn progress(&self, webhook: WebhookId) -> Reply<Result<Option<Progress>, StoreError>> {
        Reply::now(Ok(self.lock().webhooks.0.get(&webhook).and_then(|kept| kept.progress.clone())))
    }

    fn deliveries(&self, query: DeliveryQuery) -> Reply<Result<Vec<Delivery>, StoreError>> {
        let state = self.lock();
        let Some(kept) = state.webhooks.0.get(&query.webhook) else { return Reply::now(Ok(Vec::new())) };
        let mut found: Vec<Delivery> = kept.deliveries.values().cloned().collect();
        if query.order == SortDirection::Descending {
            found.reverse();
        }
        found.retain(|delivery| {
            let is_after = query.after.is_none_or(|after| match query.order {
                SortDirection::Ascending => delivery.event > after,
                SortDirection::Descending => delivery.event < after,
            });
            let passes = query.statuses.admits(delivery.status) && query.kinds.admits(delivery.kind);
            is_after && (passes || self.has(Bug::DeliveryFilterIgnored))
        });
        found.truncate(query.limit);
        Reply::now(Ok(found))
    }

    fn delivery(&self, webhook: WebhookId, event: EventId) -> Reply<Result<Option<Delivery>, StoreError>> {
        let state = self.lock();
        let kept = state.webhooks.0.get(&webhook);
        Reply::now(Ok(kept.and_then(|kept| kept.deliveries.get(&event).cloned())))
    }
}
