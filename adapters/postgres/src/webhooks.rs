//! Webhooks: their settings, the leases of their deliveries, and the deliveries.

mod deliveries;
mod leases;

use petstore_domain::{
    AccountId, AccountWebhooks, Delivery, DeliveryUpdate, EventId, Progress, Timestamp, WebhookId,
};
use petstore_ports::{
    ClaimedWebhook, DeliveryLease, DeliveryLog, DeliveryQuery, LeaseState, Reply, StoreError, WebhookChanges,
    WebhookReader,
};

use crate::PostgresStore;
use crate::records::{Fields, Record, stored_id};

/// Returns the number of changes, and all webhooks unless the number is the known one.
const CHANGED: &str = "select changes.number, account_id, webhooks::text from webhook_changes as changes
    left join webhooks on changes.number + 1 <> $1 order by account_id";

impl WebhookReader for PostgresStore {
    fn webhooks_of(&self, account: AccountId) -> Reply<Result<AccountWebhooks, StoreError>> {
        let sql = format!("select {} from webhooks where account_id = $1", AccountWebhooks::COLUMNS);
        let (pool, id) = (self.pages.clone(), stored_id(account.get()));
        Reply::later(async move {
            let rows = pool.rows(sql, vec![Box::new(id)]).await?;
            rows.first().map_or_else(|| Ok(AccountWebhooks::none(account)), AccountWebhooks::parse)
        })
    }

    fn changed_webhooks(&self, since: u64) -> Reply<Result<WebhookChanges, StoreError>> {
        let pool = self.pages.clone();
        Reply::later(async move {
            let known = i64::try_from(since).unwrap_or(i64::MAX);
            let rows = pool.rows(CHANGED.to_owned(), vec![Box::new(known)]).await?;
            let mut changes = WebhookChanges::default();
            for row in &rows {
                let mut fields = Fields::of("webhook_changes", row);
                let number = fields.number(Ok::<_, &str>)?;
                // The revision 0 is before every change.
                changes.revision = number + 1;
                changes.is_complete = changes.revision != since;
                let account: Option<i64> = fields.plain()?;
                if account.is_some() {
                    changes.accounts.push(AccountWebhooks::read(&mut Fields::after(1, "webhooks", row))?);
                }
            }
            Ok(changes)
        })
    }
}

impl DeliveryLog for PostgresStore {
    fn claim(
        &self,
        webhooks: Vec<WebhookId>,
        _now: Timestamp,
    ) -> Reply<Result<Vec<ClaimedWebhook>, StoreError>> {
        if self.clock.is_wrong() {
            return Reply::now(Ok(Vec::new()));
        }
        Reply::later(leases::claim(self.chores.clone(), self.lease_holder, webhooks))
    }

    fn renew(
        &self,
        held: Vec<DeliveryLease>,
        _now: Timestamp,
    ) -> Reply<Result<Vec<DeliveryLease>, StoreError>> {
        if self.clock.is_wrong() {
            // A node whose clock is wrong leaves its webhooks to others.
            let released = leases::release(self.chores.clone(), self.lease_holder, held);
            return Reply::later(async { released.await.map(|()| Vec::new()) });
        }
        Reply::later(leases::renew(self.chores.clone(), self.lease_holder, held))
    }

    fn release(&self, held: Vec<DeliveryLease>) -> Reply<Result<(), StoreError>> {
        Reply::later(leases::release(self.chores.clone(), self.lease_holder, held))
    }

    fn save(
        &self,
        lease: DeliveryLease,
        progress: Progress,
        updates: Vec<DeliveryUpdate>,
    ) -> Reply<Result<LeaseState, StoreError>> {
        Reply::later(deliveries::save(self.chores.clone(), self.lease_holder, lease, progress, updates))
    }

    /// A save is durable at once.
    fn flush(&self) -> Reply<Result<(), StoreError>> {
        Reply::now(Ok(()))
    }

    fn progress(&self, webhook: WebhookId) -> Reply<Result<Option<Progress>, StoreError>> {
        Reply::later(leases::progress(self.pages.clone(), webhook))
    }

    fn deliveries(&self, query: DeliveryQuery) -> Reply<Result<Vec<Delivery>, StoreError>> {
        Reply::later(deliveries::page(self.pages.clone(), query))
    }

    fn delivery(&self, webhook: WebhookId, event: EventId) -> Reply<Result<Option<Delivery>, StoreError>> {
        Reply::later(deliveries::one(self.pages.clone(), webhook, event))
    }
}
