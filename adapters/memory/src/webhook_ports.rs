//! The ports of webhooks.

use std::sync::Arc;

use petstore_domain::{
    AccountId, AccountWebhooks, Delivery, DeliveryUpdate, EventId, Progress, Scope, Timestamp, WebhookId,
};
use petstore_ports::{
    ClaimedWebhook, DeliveryLease, DeliveryLog, DeliveryQuery, LeaseState, Reply, ScopeReader, StoreError,
    WebhookChanges, WebhookReader,
};

use crate::oneshot::channel;
use crate::queue::{HousekeepingPart, Request};
use crate::store::MemoryStore;

impl WebhookReader for MemoryStore {
    fn webhooks_of(&self, account: AccountId) -> Reply<Result<AccountWebhooks, StoreError>> {
        let found = self.tables.webhooks.get(account);
        Reply::now(Ok(found.unwrap_or_else(|| AccountWebhooks::none(account))))
    }

    fn changed_webhooks(&self, since: u64) -> Reply<Result<WebhookChanges, StoreError>> {
        Reply::now(Ok(self.tables.webhooks.changes(since)))
    }
}

impl ScopeReader for MemoryStore {
    fn accounts_with(
        &self,
        scope: Scope,
        mut accounts: Vec<AccountId>,
        now: Timestamp,
    ) -> Reply<Result<Vec<AccountId>, StoreError>> {
        accounts.retain(|account| self.tables.keys.grant(*account, scope, now));
        Reply::now(Ok(accounts))
    }
}

impl DeliveryLog for MemoryStore {
    fn claim(
        &self,
        webhooks: Vec<WebhookId>,
        now: Timestamp,
    ) -> Reply<Result<Vec<ClaimedWebhook>, StoreError>> {
        let known: Vec<WebhookId> =
            webhooks.into_iter().filter(|id| self.tables.webhooks.owner(*id).is_some()).collect();
        Reply::now(Ok(self.tables.deliveries.claim(&known, now)))
    }

    fn renew(
        &self,
        leases: Vec<DeliveryLease>,
        now: Timestamp,
    ) -> Reply<Result<Vec<DeliveryLease>, StoreError>> {
        Reply::now(Ok(self.tables.deliveries.renew(leases, now)))
    }

    fn release(&self, leases: Vec<DeliveryLease>) -> Reply<Result<(), StoreError>> {
        self.tables.deliveries.release(&leases);
        Reply::now(Ok(()))
    }

    fn save(
        &self,
        lease: DeliveryLease,
        progress: Progress,
        updates: Vec<DeliveryUpdate>,
    ) -> Reply<Result<LeaseState, StoreError>> {
        Reply::now(Ok(self.tables.deliveries.save(lease, progress, updates)))
    }

    fn flush(&self) -> Reply<Result<(), StoreError>> {
        let Some(durable) = &self.durable else { return Reply::now(Ok(())) };
        let (sender, answer) = channel();
        let part = HousekeepingPart::NoteDeliveries { sender };
        match Arc::clone(&durable.queue).push(Request::Housekeeping(part)) {
            Ok(()) => Reply::later(answer),
            Err(error) => Reply::now(Err(error)),
        }
    }

    fn progress(&self, webhook: WebhookId) -> Reply<Result<Option<Progress>, StoreError>> {
        Reply::now(Ok(self.tables.deliveries.progress(webhook)))
    }

    fn deliveries(&self, query: DeliveryQuery) -> Reply<Result<Vec<Delivery>, StoreError>> {
        Reply::now(Ok(self.tables.deliveries.page(&query)))
    }

    fn delivery(&self, webhook: WebhookId, event: EventId) -> Reply<Result<Option<Delivery>, StoreError>> {
        Reply::now(Ok(self.tables.deliveries.delivery(webhook, event)))
    }
}
