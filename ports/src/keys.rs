//! Keys and accounts: found by every request, listed by an operator.

use async_trait::async_trait;
use petstore_domain::{
    Account, AccountId, FoldedName, KeyDigest, KeyFault, KeyId, KeyRecord, Plan, Scopes, Timestamp,
};

use crate::{Reply, StoreError};

/// How a key is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLookup {
    /// By the digest of its secret.
    Digest(KeyDigest),
    /// By the id that an earlier look-up gave: a secret belongs to the same key for ever.
    Id(KeyId),
}

/// What a request needs to know of its key and account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credential {
    /// The key.
    pub key: KeyId,
    /// The account that owns it.
    pub account: AccountId,
    /// The account's plan.
    pub plan: Plan,
    /// What the key permits.
    pub scopes: Scopes,
    /// When it ceases to be valid, if ever.
    pub expires_at: Option<Timestamp>,
    /// Whether an operator revoked it.
    pub revoked: bool,
}

impl Credential {
    /// What a request needs to know of this key and account.
    pub fn new(key: &KeyRecord, account: &Account) -> Self {
        Self {
            key: key.id,
            account: account.id,
            plan: account.plan,
            scopes: key.scopes,
            expires_at: key.valid_until(),
            revoked: key.revoked_at.is_some(),
        }
    }

    /// Whether the key is valid at a time.
    pub fn check(&self, now: Timestamp) -> Result<(), KeyFault> {
        KeyFault::of(self.revoked, self.expires_at, now).map_or(Ok(()), Err)
    }
}

/// Finds the key that a request presents.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait KeyReader: Send + Sync {
    /// The key and what belongs to it. A change of key or account shows here within one second of its commit.
    fn credential(&self, name: KeyLookup) -> Reply<Result<Option<Credential>, StoreError>>;
}

/// Lists accounts and keys. For an operator: the cost may depend on how many there are, and a `limit` has no bound.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait AccountDirectory: Send + Sync {
    /// Up to `limit` accounts with an id above `after`, by id.
    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<Account>, StoreError>;

    /// The account whose name is equal to this one after folding.
    async fn account_named(&self, name: &FoldedName) -> Result<Option<Account>, StoreError>;

    /// Up to `limit` keys with an id above `after`, by id, each with its ban as it is in force now.
    async fn keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError>;
}
