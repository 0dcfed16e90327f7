//! The table of API keys.

use std::sync::LazyLock;

use std::time::Duration;

use petstore_domain::{AccountId, Ban, KeyDigest, KeyId, KeyLabel, KeyPrefix, KeyRecord, Scopes};
use petstore_ports::StoreError;
use rusqlite::{Statement, params};

use crate::table::{Fields, Sql, Table, written};

impl Table for KeyRecord {
    const NAME: &'static str = "keys";

    fn sql() -> &'static Sql {
        static SQL: LazyLock<Sql> = LazyLock::new(|| {
            Sql::new(
                "SELECT id, account_id, digest, prefix, label, scopes, created_at, expires_at,
         replaced_until, revoked_at, ban_since, ban_until, ban_length_ms, ban_lifted_at FROM keys ORDER BY id",
                "INSERT INTO keys (id, account_id, digest, prefix, label, scopes, created_at,
         expires_at, replaced_until, revoked_at, ban_since, ban_until, ban_length_ms, ban_lifted_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
                "ON CONFLICT (id) DO UPDATE SET account_id = excluded.account_id,
         digest = excluded.digest, prefix = excluded.prefix, label = excluded.label, scopes = excluded.scopes,
         created_at = excluded.created_at, expires_at = excluded.expires_at,
         replaced_until = excluded.replaced_until, revoked_at = excluded.revoked_at,
         ban_since = excluded.ban_since, ban_until = excluded.ban_until, ban_length_ms = excluded.ban_length_ms,
         ban_lifted_at = excluded.ban_lifted_at",
            )
        });
        &SQL
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        statement.execute(params![
            self.id.get(),
            self.account.get(),
            self.digest.0,
            self.prefix.as_str(),
            self.label.as_str(),
            self.scopes.as_str(),
            self.created_at.to_string(),
            written(self.expires_at),
            written(self.replaced_until),
            written(self.revoked_at),
            written(self.ban.map(|ban| ban.since)),
            written(self.ban.map(|ban| ban.until)),
            self.ban.map(length_ms),
            written(self.ban_lifted_at),
        ])
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.number("id", KeyId::new)?,
            account: row.number("account_id", AccountId::new)?,
            digest: KeyDigest(row.plain("digest")?),
            prefix: row.text("prefix", KeyPrefix::parse)?,
            label: row.text("label", KeyLabel::parse)?,
            scopes: row.text("scopes", |list| Scopes::parse(list).ok_or("is not a list of scopes"))?,
            created_at: row.time("created_at")?,
            expires_at: row.optional_time("expires_at")?,
            replaced_until: row.optional_time("replaced_until")?,
            revoked_at: row.optional_time("revoked_at")?,
            ban: parse_ban(row)?,
            ban_lifted_at: row.optional_time("ban_lifted_at")?,
        })
    }
}

fn parse_ban(row: &mut Fields<'_>) -> Result<Option<Ban>, StoreError> {
    let since = row.optional_time("ban_since")?;
    let until = row.optional_time("ban_until")?;
    let length_ms: Option<u64> = row.plain("ban_length_ms")?;
    match (since, until, length_ms) {
        (None, None, None) => Ok(None),
        (Some(since), Some(until), Some(length)) => {
            Ok(Some(Ban { since, until, length: Duration::from_millis(length) }))
        }
        _ => Err(row.damaged("ban", "is not whole")),
    }
}

/// Returns the length of a ban in milliseconds. The column can hold 292 million years, so no ban is too long for it.
fn length_ms(ban: Ban) -> i64 {
    i64::try_from(ban.length.as_millis()).unwrap_or(i64::MAX)
}
