//! Administration of accounts and keys by an operator. The public listener must not offer it.

use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::{
    Account, AccountId, AccountName, ApiKey, CopiedKey, CopyKey, CopyKeyRejection, CreateKeyRejection,
    CreatedKey, KeyHolder, KeyId, KeyLabel, KeyPatch, KeyRecord, Limits, Plan, RotateKeyRejection, Scopes,
    Timestamp, UnknownKey, UpdateAccountRejection, Usage,
};

use super::Failure;
use crate::StoreError;

/// A key that is to be created.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The account that the key is for.
    pub holder: KeyHolder,
    /// The operator's label for the key.
    pub label: KeyLabel,
    /// The scopes that the key grants.
    pub scopes: Scopes,
    /// The time from which the key is not valid; none if the key never expires.
    pub expires_at: Option<Timestamp>,
}

/// A key with its secret. The secret is not stored, so this is the only time at which it can be shown.
#[derive(Debug, Clone)]
pub struct RevealedKey<T> {
    /// The whole key, which a client sends with each request.
    pub secret: ApiKey,
    /// The stored record, without the secret.
    pub made: T,
}

/// A key and its account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyListing {
    /// The record of the key, without the secret.
    pub key: KeyRecord,
    /// The account that owns it.
    pub account: Account,
}

/// The result of [`Administration::ensure_initial_key`].
#[derive(Debug, Clone)]
pub enum InitialKey {
    /// The store has an account already, and no key was created.
    NotNeeded {
        /// `true` if a secret was given and belongs to a key in the store.
        is_known: bool,
    },
    /// The key of the new account.
    Made(ApiKey),
}

/// Administers accounts and keys.
#[async_trait]
pub trait Administration: Send + Sync {
    /// Creates a key, and an account for it if needed.
    async fn create_key(&self, new: NewKey) -> Result<RevealedKey<CreatedKey>, Failure<CreateKeyRejection>>;

    /// Creates the account `default` on the Business plan with a key, if the store has no account. The key gets the
    /// given secret, or a new one if none is given.
    async fn ensure_initial_key(
        &self,
        secret: Option<ApiKey>,
    ) -> Result<InitialKey, Failure<CreateKeyRejection>>;

    /// Copies a key from another store, with its account.
    async fn copy_key(&self, copy: CopyKey) -> Result<CopiedKey, Failure<CopyKeyRejection>>;

    /// Returns up to `limit` keys with an id above `after`, by id. A ban that is not recorded yet is included.
    async fn keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<KeyListing>, StoreError>;

    /// Changes the label or the scopes of a key that exists.
    async fn update_key(&self, id: KeyId, patch: KeyPatch) -> Result<KeyRecord, Failure<UnknownKey>>;

    /// Creates a successor of a key. The old key stays valid for the overlap.
    async fn rotate_key(
        &self,
        id: KeyId,
        overlap: Duration,
    ) -> Result<RevealedKey<KeyRecord>, Failure<RotateKeyRejection>>;

    /// Revokes a key immediately and permanently.
    async fn revoke_key(&self, id: KeyId) -> Result<KeyRecord, Failure<UnknownKey>>;

    /// Lifts a key's ban.
    async fn lift_ban(&self, id: KeyId) -> Result<KeyRecord, Failure<UnknownKey>>;

    /// Returns up to `limit` accounts with an id above `after`, by id.
    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<Account>, StoreError>;

    /// Returns the account of this name.
    async fn account_named(&self, name: &AccountName) -> Result<Option<Account>, StoreError>;

    /// Returns what is left of the windows of an account. Counts no request.
    async fn usage(&self, account: &Account) -> Result<Usage, StoreError>;

    /// Returns the limits of a plan that are in force now.
    fn limits(&self, plan: &Plan) -> Limits;

    /// Renames an account or moves it to another plan.
    async fn update_account(
        &self,
        id: AccountId,
        name: Option<AccountName>,
        plan: Option<Plan>,
    ) -> Result<Account, Failure<UpdateAccountRejection>>;
}
