//! Finding the key that a request presents, and the accounts that have a key with a scope.

mod cache;
mod credentials;

use petstore_domain::{AccountId, Scope, Timestamp};
use petstore_ports::{Credential, KeyLookup, KeyReader, Reply, ScopeReader, StoreError};
use tokio::time::Instant;

pub(crate) use cache::KeyCache;
pub(crate) use credentials::{CredentialByDigest, CredentialById};

use crate::PostgresStore;
use crate::records::{Fields, stored, stored_id};

/// Finds the accounts with a key that may be used for a scope, as `KeyRecord::grants` says. One key of each account is enough.
const WITH_SCOPE: &str = "select id from unnest($1::int8[]) as asked (id) where exists (
        select from keys where account_id = asked.id and $2::text = any(string_to_array(scopes, ','))
            and revoked_at is null and (expires_at is null or expires_at > $3::timestamptz)
            and (replaced_until is null or replaced_until > $3) and (ban_until is null or ban_until <= $3)
    )";

impl KeyReader for PostgresStore {
    fn credential(&self, name: KeyLookup) -> Reply<Result<Option<Credential>, StoreError>> {
        if let Some(credential) = self.keys.get(name, Instant::now()) {
            return Reply::now(Ok(Some(credential)));
        }
        let found = match name {
            KeyLookup::Digest(digest) => self.loaders.load(|loader| &loader.digests, digest),
            KeyLookup::Id(id) => self.loaders.load(|loader| &loader.keys, stored_id(id.get())),
        };
        let cache = std::sync::Arc::clone(&self.keys);
        found.map(move |found| {
            Ok(found?.map(|seen| {
                cache.insert(name, seen.changes, seen.credential);
                seen.credential
            }))
        })
    }
}

impl ScopeReader for PostgresStore {
    fn accounts_with(
        &self,
        scope: Scope,
        accounts: Vec<AccountId>,
        now: Timestamp,
    ) -> Reply<Result<Vec<AccountId>, StoreError>> {
        if accounts.is_empty() {
            return Reply::now(Ok(accounts));
        }
        let pool = self.pages.clone();
        Reply::later(async move {
            let ids: Vec<i64> = accounts.iter().map(|account| stored_id(account.get())).collect();
            let parameters =
                vec![Box::new(ids) as _, Box::new(scope.as_str()) as _, Box::new(stored(now)) as _];
            let rows = pool.rows(WITH_SCOPE.to_owned(), parameters).await?;
            rows.iter().map(|row| Fields::of("keys", row).number(AccountId::new)).collect()
        })
    }
}
