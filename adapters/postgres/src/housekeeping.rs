//! Dropping what is no longer needed. Several nodes may do so at once.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use petstore_domain::Timestamp;
use petstore_ports::{Clock as _, Housekeeping, StoreError};
use tokio::time::Instant;

use crate::PostgresStore;
use crate::records::stored;

/// The statement that drops one slice of expired records and of old tokens, and the rows of nodes that are gone. Rows that another node is dropping are
/// skipped. The dropped records are subtracted from the counts in the slot of this handle, account by account in the
/// order in which writers lock the counts.
/// - `$1`: the time of the shop, which a sandbox may turn
/// - `$2`: the slot of this handle
/// - `$3`: the time of the database, without its steps
/// - `$4`: true if old tokens may be dropped
const DROP_EXPIRED: &str = "
    with due as materialized (
        select account_id, scope, idempotency_key from idempotency_records where expires_at <= $1
        order by expires_at limit 1000 for update skip locked
    ), dropped as (
        delete from idempotency_records record using due
        where record.account_id = due.account_id and record.scope = due.scope
            and record.idempotency_key = due.idempotency_key
        returning record.account_id
    ), counted as (
        insert into idempotency_counts as counts (account_id, slot, records)
        select account_id, $2::smallint, -count(*) from dropped group by account_id order by account_id
        on conflict (account_id, slot) do update set records = counts.records + excluded.records
    ), old as materialized (
        select token from commits where at < $3::timestamptz - interval '10 minutes' and $4
        order by at limit 1000 for update skip locked
    ), forgotten as (
        delete from commits using old where commits.token = old.token
    ), gone as materialized (
        select id from nodes where seen_at < $3::timestamptz - interval '10 minutes' for update skip locked
    ), removed as (
        delete from nodes using gone where nodes.id = gone.id
    )
    select count(*) from dropped";

/// The number of calls of which one drops the leases of deleted webhooks. The statement reads all webhooks.
const LEASES_EVERY: u64 = 60;

/// The statement that drops the leases of deleted webhooks with their deliveries.
const DROP_LEASES: &str = "
    delete from webhook_leases where until < clock_timestamp() - interval '1 minute' and webhook not in (
        select element.value ->> 'id' from webhooks, json_array_elements(webhooks.webhooks) as element
    )";

#[async_trait]
impl Housekeeping for PostgresStore {
    async fn drop_expired(&self, now: Timestamp) -> Result<usize, StoreError> {
        self.events.keep_up().await?;
        if !self.clock.may_drop() {
            // One of the clocks is wrong, and what it takes for old may not be.
            return Ok(0);
        }
        self.events.prune(now).await?;
        if self.drops.fetch_add(1, Ordering::Relaxed).is_multiple_of(LEASES_EVERY) {
            self.chores.rows(DROP_LEASES.to_owned(), Vec::new()).await?;
        }
        let parameters = vec![
            Box::new(stored(now)) as _,
            Box::new(self.slot) as _,
            Box::new(stored(self.clock.now())) as _,
            Box::new(self.clock.may_drop_tokens(Instant::now())) as _,
        ];
        let rows = self.chores.rows(DROP_EXPIRED.to_owned(), parameters).await?;
        let dropped: i64 = rows.first().map_or(Ok(0), |row| {
            row.try_get(0).map_err(|error| StoreError::corrupt("a count cannot be read").with_source(error))
        })?;
        Ok(usize::try_from(dropped).unwrap_or(0))
    }

    /// This store counts no usage.
    async fn note_usage(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The poll for changed keys already asks the database several times a second, and [`StoreHealth::check`] looks at
    /// its last answer. So this call only refreshes the counts for monitoring.
    ///
    /// [`StoreHealth::check`]: petstore_ports::StoreHealth::check
    async fn watch(&self, _now: Timestamp) -> Result<(), StoreError> {
        self.refresh_counts().await
    }
}
