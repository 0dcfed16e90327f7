//! What an operator does. Never reachable from the public listener.

use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::{
    Account, AccountId, AccountName, ApiKey, CreateKeyRejection, CreatedKey, KeyHolder, KeyId, KeyLabel,
    KeyPatch, KeyRecord, Limits, Plan, RotateKeyRejection, Scopes, Timestamp, UnknownKey,
    UpdateAccountRejection,
};

use super::Failure;
use crate::StoreError;

/// A key that is to be made.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Whose key it is.
    pub holder: KeyHolder,
    /// What an operator calls it.
    pub label: KeyLabel,
    /// What it permits.
    pub scopes: Scopes,
    /// When it ceases to be valid, if ever.
    pub expires_at: Option<Timestamp>,
}

/// A key with its secret, which is not kept: this is the one time that it can be shown.
#[derive(Debug, Clone)]
pub struct RevealedKey<T> {
    /// The secret.
    pub secret: ApiKey,
    /// What is kept of it.
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

/// What the first start of an empty store made.
#[derive(Debug, Clone)]
pub enum InitialKey {
    /// There was an account already: nothing.
    NotNeeded {
        /// Whether a secret was given, and is that of a key which the store has.
        is_known: bool,
    },
    /// The key of a new account.
    Made(ApiKey),
}

/// Administers accounts and keys.
#[async_trait]
pub trait Administration: Send + Sync {
    /// Makes a key, and an account for it where it needs one.
    async fn create_key(&self, new: NewKey) -> Result<RevealedKey<CreatedKey>, Failure<CreateKeyRejection>>;

    /// On a store without accounts makes the account `default` on the Business plan, with this secret or a new one.
    async fn ensure_initial_key(
        &self,
        secret: Option<ApiKey>,
    ) -> Result<InitialKey, Failure<CreateKeyRejection>>;

    /// Up to `limit` keys with an id above `after`, by id.
    async fn keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<KeyListing>, StoreError>;

    /// Changes a key.
    async fn update_key(&self, id: KeyId, patch: KeyPatch) -> Result<KeyRecord, Failure<UnknownKey>>;

    /// Makes a second key like the first, which lives on for the overlap.
    async fn rotate_key(
        &self,
        id: KeyId,
        overlap: Duration,
    ) -> Result<RevealedKey<KeyRecord>, Failure<RotateKeyRejection>>;

    /// Ends a key's life at once, for good.
    async fn revoke_key(&self, id: KeyId) -> Result<KeyRecord, Failure<UnknownKey>>;

    /// Lifts a key's ban.
    async fn lift_ban(&self, id: KeyId) -> Result<KeyRecord, Failure<UnknownKey>>;

    /// Up to `limit` accounts with an id above `after`, by id.
    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<Account>, StoreError>;

    /// The account of this name.
    async fn account_named(&self, name: &AccountName) -> Result<Option<Account>, StoreError>;

    /// The figures of a plan that are in force now.
    fn limits(&self, plan: &Plan) -> Limits;

    /// Renames an account or moves it to another plan.
    async fn update_account(
        &self,
        id: AccountId,
        name: Option<AccountName>,
        plan: Option<Plan>,
    ) -> Result<Account, Failure<UpdateAccountRejection>>;
}
