//! The tables of records, one file each.

mod accounts;
mod categories;
mod idempotency;
mod keys;
mod orders;
mod pets;
mod usage;
pub(crate) mod webhooks;

use petstore_domain::Progress;
use petstore_ports::Row;
use rusqlite::Connection;

use crate::table::insert;
use webhooks::WebhookProgress;

/// Inserts a new row.
pub(crate) fn add(connection: &Connection, row: &Row) -> rusqlite::Result<()> {
    match row {
        Row::Category(category) => insert(connection, category),
        Row::Pet(pet) => insert(connection, pet),
        Row::Order(order) => insert(connection, order),
        Row::Account(account) => insert(connection, account),
        Row::Key(key) => insert(connection, &**key),
        Row::Idempotency(record) => insert(connection, &**record),
        Row::Usage(count) => insert(connection, count),
        Row::Webhooks(record) => insert(connection, &**record),
        Row::Progress(webhook, progress) => {
            insert(connection, &WebhookProgress { webhook: *webhook, progress: Progress::clone(progress) })
        }
        Row::Delivery(delivery) => insert(connection, &**delivery),
    }
}

/// Empties every table but those of accounts and keys, and forgets all bans, as [`KeyRecord::forget_ban`] does.
///
/// [`KeyRecord::forget_ban`]: petstore_domain::KeyRecord::forget_ban
pub(crate) fn clear(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "DELETE FROM orders; DELETE FROM pets; DELETE FROM categories; DELETE FROM retries; DELETE FROM usage;
         DELETE FROM webhooks; DELETE FROM webhook_progress; DELETE FROM webhook_deliveries;
         UPDATE keys SET ban_lifted_at = max(coalesce(ban_lifted_at, ban_since), ban_since),
         ban_since = NULL, ban_until = NULL, ban_length_ms = NULL WHERE ban_since IS NOT NULL;",
    )
}
