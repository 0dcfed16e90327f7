//! The tables of records, one a file.

mod accounts;
mod categories;
mod keys;
mod orders;
mod outcome;
mod pets;
mod retries;
mod usage;

pub(crate) use keys::note_ban;

use rusqlite::Connection;

/// Empties every table but those of accounts and keys, and lifts all bans.
pub(crate) fn clear(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "DELETE FROM orders; DELETE FROM pets; DELETE FROM categories; DELETE FROM retries; DELETE FROM usage;
         UPDATE keys SET ban_since = NULL, ban_until = NULL, ban_length_ms = NULL WHERE ban_since IS NOT NULL;",
    )
}
