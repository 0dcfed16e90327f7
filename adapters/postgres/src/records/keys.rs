//! API keys.

use std::time::Duration;

use petstore_domain::{AccountId, Ban, KeyDigest, KeyId, KeyLabel, KeyPrefix, KeyRecord, Scopes};
use petstore_ports::StoreError;

use super::{Fields, Record};

impl Record for KeyRecord {
    const TABLE: &'static str = "keys";
    const COLUMNS: &'static str = "id, account_id, digest, prefix, label, scopes, created_at, expires_at, replaced_until, \
         revoked_at, ban_since, ban_until, ban_length_ms, ban_lifted_at";

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id: fields.number(KeyId::new)?,
            account: fields.number(AccountId::new)?,
            digest: KeyDigest(
                fields.parsed(|bytes: &[u8]| bytes.try_into().map_err(|_| "is not a SHA-256"))?,
            ),
            prefix: fields.parsed(KeyPrefix::parse)?,
            label: fields.parsed(KeyLabel::parse)?,
            scopes: fields.parsed(|list| Scopes::parse(list).ok_or("is not a list of scopes"))?,
            created_at: fields.time()?,
            expires_at: fields.optional_time()?,
            replaced_until: fields.optional_time()?,
            revoked_at: fields.optional_time()?,
            ban: ban(fields)?,
            ban_lifted_at: fields.optional_time()?,
        })
    }
}

fn ban(fields: &mut Fields<'_>) -> Result<Option<Ban>, StoreError> {
    let (since, until) = (fields.optional_time()?, fields.optional_time()?);
    let length_ms: Option<i64> = fields.plain()?;
    let length_ms = length_ms.map(|length| u64::try_from(length).unwrap_or(0));
    match (since, until, length_ms) {
        (None, None, None) => Ok(None),
        (Some(since), Some(until), Some(length)) => {
            Ok(Some(Ban { since, until, length: Duration::from_millis(length) }))
        }
        _ => Err(StoreError::corrupt("keys: the columns of the ban are not all null or all set")),
    }
}
