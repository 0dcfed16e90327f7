//! Resets: the shop is replaced in one transaction.

use std::sync::Arc;

use petstore_bulk_checks::ShopLoader;
use petstore_domain::{KeyId, KeyRecord, Timestamp};
use petstore_ports::{Row, StoreError};

use super::gate::Gate;
use super::import::commit;
use super::log_restart::{self, NewEpoch, Restarted};
use super::staged::Staged;
use super::{inserts, sequences};
use crate::PostgresStore;
use crate::connection::{Connector, Role, Session};
use crate::error::failed;
use crate::records::{Record, stored_option};
use crate::schema::no_sandbox;

/// A ban that has begun and is not recorded, by its start.
type BegunBan = (KeyId, Timestamp);

/// Replaces the shop, and forgets answers and bans.
pub(super) fn reset(
    store: &PostgresStore,
    shop: &[Row],
    epoch: u64,
    begun: Vec<BegunBan>,
) -> Result<(), StoreError> {
    let mut loader = ShopLoader::new(Staged::default());
    let added = shop.iter().try_for_each(|row| loader.add(row.clone()));
    let checked = added.and_then(|()| loader.check());
    checked.map_err(|contradiction| StoreError::corrupt(contradiction.to_string()))?;
    let (staged, connector) = (loader.into_tables(), Arc::clone(&store.connector));
    let is_sandbox = store.is_sandbox();
    let done =
        store.background.run(async move { replace(&connector, staged, epoch, begun, is_sandbox).await });
    let restarted = done.and_then(|done| done)?;
    store.keys.forget();
    store.events.restarted(restarted.epoch_number, restarted.end);
    store.connector.continuity().set_epoch(epoch);
    Ok(())
}

/// Forgets bans.
pub(super) fn forget_bans(store: &PostgresStore, begun: Vec<BegunBan>) -> Result<(), StoreError> {
    let connector = Arc::clone(&store.connector);
    let done = store.background.run(async move {
        let session = connector.connect_with_retries(Role::Writer).await?;
        super::gate::close_in(&session).await?;
        forget_in(&session, &begun).await?;
        commit(&session).await
    });
    done.and_then(|done| done)?;
    store.keys.forget();
    Ok(())
}

/// The statements that empty the shop. Idempotency records are deleted before their counts, in the order of housekeeping, so
/// that the two cannot deadlock.
const EMPTY: &str = "delete from orders; delete from pets; delete from categories; delete from idempotency_records; \
    delete from idempotency_counts; delete from webhook_leases; delete from webhooks; \
    update webhook_changes set number = number + 1 where one";

async fn replace(
    connector: &Connector,
    mut staged: Staged,
    epoch: u64,
    begun: Vec<BegunBan>,
    is_sandbox: bool,
) -> Result<Restarted, StoreError> {
    let writer = connector.connect_with_retries(Role::Writer).await?;
    // Sequences do not take part in a transaction. So they are set after the commit, and writers are kept out until then by
    // another connection.
    let gate = Gate::close(connector).await?;
    let session = &writer;
    session.batch(&session.begin()).await.map_err(|error| failed("begin a reset", error))?;
    set_epoch(session, epoch, is_sandbox).await?;
    log_restart::lock(session).await?;
    session.batch(EMPTY).await.map_err(|error| failed("empty the shop", error))?;
    let highest = staged.highest_ids();
    let orders = staged.take_orders();
    let (categories, pets) = staged.take_records();
    inserts::categories(session, &categories, &mut |_| {}).await?;
    inserts::pets(session, &pets, &mut |_| {}).await?;
    inserts::orders(session, &orders, &mut |_| {}).await?;
    forget_in(session, &begun).await?;
    let restarted = log_restart::restart(session, NewEpoch::Given(epoch)).await?;
    commit(session).await?;
    // The reset has happened. If this fails, later ids are higher than they need to be.
    let _: Result<(), _> = sequences::set_alone(session, highest).await;
    gate.open().await;
    Ok(restarted)
}

/// Sets the epoch of the shop. If the schema had the mark of a sandbox when this handle was opened (`is_sandbox`),
/// fails if the mark is gone: a server without `--sandbox` has removed it, and its data must not be deleted. The update
/// locks the row of the mark, so the mark cannot be removed until the reset ends.
async fn set_epoch(session: &Session, epoch: u64, is_sandbox: bool) -> Result<(), StoreError> {
    let sql = "update shop set epoch = $1 where is_sandbox or not $2 returning one";
    let updated = session.rows(sql, &[&format!("{epoch:016x}"), &is_sandbox]).await;
    let updated = updated.map_err(|error| failed("set the epoch of the shop", error))?;
    if updated.is_empty() { Err(no_sandbox()) } else { Ok(()) }
}

/// Removes all bans, recorded or begun, as part of a transaction that keeps writers out.
async fn forget_in(session: &Session, begun: &[BegunBan]) -> Result<(), StoreError> {
    let ids: Vec<i64> = begun.iter().map(|(id, _)| i64::try_from(id.get()).unwrap_or(i64::MAX)).collect();
    let sql = format!(
        "select {} from keys where ban_since is not null or id = any($1) order by id for no key update",
        KeyRecord::COLUMNS
    );
    let rows = session.rows(&sql, &[&ids]).await;
    let rows = rows.map_err(|error| failed("read the keys with bans", error))?;
    let mut changed = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut key = KeyRecord::parse(row)?;
        key.forget_ban();
        let start = begun.iter().filter(|(id, _)| *id == key.id).map(|(_, since)| *since).max();
        key.ban_lifted_at = key.ban_lifted_at.max(start);
        changed.push(key);
    }
    write(session, &changed).await
}

async fn write(session: &Session, keys: &[KeyRecord]) -> Result<(), StoreError> {
    if keys.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = keys.iter().map(|key| i64::try_from(key.id.get()).unwrap_or(i64::MAX)).collect();
    let lifted: Vec<_> = keys.iter().map(|key| stored_option(key.ban_lifted_at)).collect();
    let sql = "with changed as (
            update keys set ban_since = null, ban_until = null, ban_length_ms = null, ban_lifted_at = new.lifted_at
            from unnest($1::bigint[], $2::timestamptz[]) as new (id, lifted_at) where keys.id = new.id
        )
        update key_changes set number = number + 1 where one";
    let written = session.rows(sql, &[&ids, &lifted]).await;
    written.map(drop).map_err(|error| failed("forget bans", error))
}
