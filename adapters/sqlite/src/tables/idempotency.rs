//! The table of idempotency records, which is named `retries` in the file.

use std::sync::LazyLock;

use petstore_domain::{AccountId, Fingerprint, IdempotencyId, IdempotencyKey, IdempotencyRecord};
use petstore_outcome_json as outcome;
use petstore_ports::StoreError;
use rusqlite::{Statement, params};

use crate::table::{Fields, Sql, Table};

impl Table for IdempotencyRecord {
    const NAME: &'static str = "retries";

    fn sql() -> &'static Sql {
        static SQL: LazyLock<Sql> = LazyLock::new(|| {
            Sql::new(
                "SELECT id, account_id, scope, idempotency_key, fingerprint, outcome, expires_at FROM retries ORDER BY id",
                "INSERT INTO retries (account_id, scope, idempotency_key, fingerprint, outcome, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                "ON CONFLICT (account_id, scope, idempotency_key) DO UPDATE SET
         fingerprint = excluded.fingerprint, outcome = excluded.outcome, expires_at = excluded.expires_at",
            )
        });
        &SQL
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        statement.execute(params![
            self.id.account.get(),
            outcome::scope_text(self.id.scope),
            self.id.key.as_str(),
            self.fingerprint.0,
            outcome::write(&self.outcome),
            self.expires_at.to_string(),
        ])
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        let _id: i64 = row.plain("id")?;
        Ok(Self {
            id: IdempotencyId {
                account: row.number("account_id", AccountId::new)?,
                scope: row
                    .text("scope", |text| outcome::parse_scope(text).ok_or("is not a kind of request"))?,
                key: row.text("idempotency_key", parse_key)?,
            },
            fingerprint: Fingerprint(row.plain("fingerprint")?),
            outcome: row.text("outcome", outcome::parse)?,
            expires_at: row.time("expires_at")?,
        })
    }
}

/// Parses a stored key. A key that begins with a quote was not stored by this program, because the program removes the
/// quotes before it stores a key.
fn parse_key(text: &str) -> Result<IdempotencyKey, &'static str> {
    IdempotencyKey::parse(text.as_bytes())
        .ok()
        .filter(|key| key.as_str() == text)
        .ok_or("is not an idempotency key")
}
