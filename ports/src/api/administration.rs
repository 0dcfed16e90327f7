//! Administration by an operator, never reachable from the public listener.

use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::{
    Account, AccountId, AccountName, ApiKey, CreateKeyRejection, CreatedKey, KeyHolder, KeyId, KeyLabel,
    KeyPatch, KeyRecord, Limits, Plan, RotateKeyRejection, Scopes, Timestamp, UnknownKey,
    UpdateAccountRejection,
};

use super::Failure;
use crate::StoreError;

/// A key to create.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The account of the key.
    pub holder: KeyHolder,
    /// The operator's label for it.
    pub label: KeyLabel,
    /// Its scopes.
    pub scopes: Scopes,
    /// Its expiry, if it has one.
    pub expires_at: Option<Timestamp>,
}

/// A key with its secret. The secret is not stored, so it can be shown only now.
#[derive(Debug, Clone)]
pub struct RevealedKey<T> {
    /// The secret.
    pub secret: ApiKey,
    /// The stored part.
    pub made: T,
}

/// A key and its account, as an operator sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyListing {
    /// The key.
    pub key: KeyRecord,
    /// The account that owns it.
    pub account: Account,
}

/// The result of [`Administration::ensure_initial_key`].
#[derive(Debug, Clone)]
pub enum InitialKey {
    /// The store has an account already: nothing was created.
    NotNeeded {
        /// Whether a secret was passed and belongs to a key in the store.
        is_known: bool,
    },
    /// A new account was created, with this key.
    Made(ApiKey),
}

/// Administers accounts and keys.
#[async_trait]
pub trait Administration: Send + Sync {
    /// Creates a key, and an account for it if needed.
    async fn create_key(&self, new: NewKey) -> Result<RevealedKey<CreatedKey>, Failure<CreateKeyRejection>>;

    /// Creates the account `default` on the Business plan if the store has no account, with this secret or a new one.
    async fn ensure_initial_key(
        &self,
        secret: Option<ApiKey>,
    ) -> Result<InitialKey, Failure<CreateKeyRejection>>;

    /// At most `limit` keys with an id above `after`, by id.
    async fn keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<KeyListing>, StoreError>;

    /// Changes a key.
    async fn update_key(&self, id: KeyId, patch: KeyPatch) -> Result<KeyRecord, Failure<UnknownKey>>;

    /// Creates a successor of a key. The key itself stays valid for the overlap.
    async fn rotate_key(
        &self,
        id: KeyId,
        overlap: Duration,
    ) -> Result<RevealedKey<KeyRecord>, Failure<RotateKeyRejection>>;

    /// Revokes a key at once and permanently.
    async fn revoke_key(&self, id: KeyId) -> Result<KeyRecord, Failure<UnknownKey>>;

    /// Lifts a key's ban.
    async fn lift_ban(&self, id: KeyId) -> Result<KeyRecord, Failure<UnknownKey>>;

    /// At most `limit` accounts with an id above `after`, by id.
    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<Account>, StoreError>;

    /// The account with this name.
    async fn account_named(&self, name: &AccountName) -> Result<Option<Account>, StoreError>;

    /// The limits of a plan that are in force now.
    fn limits(&self, plan: &Plan) -> Limits;

    /// Renames an account or moves it to another plan.
    async fn update_account(
        &self,
        id: AccountId,
        name: Option<AccountName>,
        plan: Option<Plan>,
    ) -> Result<Account, Failure<UpdateAccountRejection>>;
}
