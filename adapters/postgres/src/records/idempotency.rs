//! Idempotency records.

use petstore_domain::{AccountId, Fingerprint, IdempotencyId, IdempotencyKey, IdempotencyRecord};
use petstore_ports::StoreError;

use super::{Fields, Record};

impl Record for IdempotencyRecord {
    const TABLE: &'static str = "idempotency_records";
    const COLUMNS: &'static str =
        "account_id, scope, idempotency_key, fingerprint, outcome::text, expires_at";

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id: IdempotencyId {
                account: fields.number(AccountId::new)?,
                scope: fields.parsed(|text: &str| {
                    petstore_outcome_json::parse_scope(text).ok_or("is not a kind of request")
                })?,
                key: fields.parsed(parse_key)?,
            },
            fingerprint: Fingerprint(
                fields.parsed(|bytes: &[u8]| bytes.try_into().map_err(|_| "is not a SHA-256"))?,
            ),
            outcome: fields.parsed(petstore_outcome_json::parse)?,
            expires_at: fields.time()?,
        })
    }
}

/// A key is stored without quotes, because parsing would remove them.
fn parse_key(text: &str) -> Result<IdempotencyKey, &'static str> {
    IdempotencyKey::parse(text.as_bytes())
        .ok()
        .filter(|key| key.as_str() == text)
        .ok_or("is not an idempotency key")
}
