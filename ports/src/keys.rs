//! Keys and accounts. Every request looks up its key; an operator lists keys and accounts.

use async_trait::async_trait;
use petstore_domain::{
    Account, AccountId, FoldedName, KeyDigest, KeyFault, KeyId, KeyRecord, Plan, Scope, Scopes, Timestamp,
};

use crate::{Reply, StoreError};

/// The value by which a key is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLookup {
    /// The digest of its secret.
    Digest(KeyDigest),
    /// The key's id, which an earlier look-up by the digest returned. It always names the same key as the digest,
    /// because a secret is never reassigned to another key.
    Id(KeyId),
}

/// The fields of a key and its account that every request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credential {
    /// The id of the key, under which its strikes and its ban are counted.
    pub key: KeyId,
    /// The account that owns it.
    pub account: AccountId,
    /// The plan of the account, which sets its quota.
    pub plan: Plan,
    /// The scopes that the key grants.
    pub scopes: Scopes,
    /// The time from which the key is not valid; none if it never expires.
    pub expires_at: Option<Timestamp>,
    /// `true` if an operator has revoked it.
    pub revoked: bool,
    /// The ban in its record.
    pub recorded_ban: RecordedBan,
}

/// The ban in a key's record. A ban is recorded shortly after its decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordedBan {
    /// The end of the last ban, if there was one.
    pub until: Option<Timestamp>,
    /// The time at which an operator last lifted the key's ban. Bans that began at or before this time are over,
    /// whether they are recorded or not.
    pub lifted_at: Option<Timestamp>,
}

impl RecordedBan {
    /// Returns the ban of this record.
    pub fn of(key: &KeyRecord) -> Self {
        Self { until: key.ban.map(|ban| ban.until), lifted_at: key.ban_lifted_at }
    }

    /// Returns `true` if the recorded ban is in force at a time.
    pub fn in_force(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| now < until)
    }
}

impl Credential {
    /// Returns the fields of this key and account.
    pub fn new(key: &KeyRecord, account: &Account) -> Self {
        Self {
            key: key.id,
            account: account.id,
            plan: account.plan,
            scopes: key.scopes,
            expires_at: key.valid_until(),
            revoked: key.revoked_at.is_some(),
            recorded_ban: RecordedBan::of(key),
        }
    }

    /// Checks that the key is valid at a time.
    pub fn check(&self, now: Timestamp) -> Result<(), KeyFault> {
        KeyFault::of(self.revoked, self.expires_at, now).map_or(Ok(()), Err)
    }
}

/// Finds the key that a request presents.
///
/// A reader of fixed keys:
///
/// ```
/// use petstore_domain::{Account, KeyRecord};
/// use petstore_ports::{Credential, KeyLookup, KeyReader, Reply, StoreError};
///
/// struct FixedKeys(Vec<(KeyRecord, Account)>);
///
/// impl KeyReader for FixedKeys {
///     fn credential(&self, name: KeyLookup) -> Reply<Result<Option<Credential>, StoreError>> {
///         let found = self.0.iter().find(|(key, _)| match name {
///             KeyLookup::Digest(digest) => key.digest == digest,
///             KeyLookup::Id(id) => key.id == id,
///         });
///         Reply::now(Ok(found.map(|(key, account)| Credential::new(key, account))))
///     }
/// }
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait KeyReader: Send + Sync {
    /// Returns the key's credential. A change of key or account is visible within one second of its commit.
    fn credential(&self, name: KeyLookup) -> Reply<Result<Option<Credential>, StoreError>>;
}

/// Finds the accounts that may do what a scope permits. The dispatcher of webhooks asks this, because an event is sent without
/// a key.
///
/// A reader of fixed keys:
///
/// ```
/// use petstore_domain::{AccountId, KeyRecord, Scope, Timestamp};
/// use petstore_ports::{Reply, ScopeReader, StoreError};
///
/// struct FixedKeys(Vec<KeyRecord>);
///
/// impl ScopeReader for FixedKeys {
///     fn accounts_with(
///         &self,
///         scope: Scope,
///         accounts: Vec<AccountId>,
///         now: Timestamp,
///     ) -> Reply<Result<Vec<AccountId>, StoreError>> {
///         let has = |id: &AccountId| self.0.iter().any(|key| key.account == *id && key.grants(scope, now));
///         Reply::now(Ok(accounts.into_iter().filter(has).collect()))
///     }
/// }
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait ScopeReader: Send + Sync {
    /// Returns those of some accounts that have a key which [grants](KeyRecord::grants) the scope, in any order. An account
    /// that does not exist has no key.
    ///
    /// A change of a key is visible within one second of its commit. The cost depends on the keys of these accounts, and not
    /// on those of other accounts.
    fn accounts_with(
        &self,
        scope: Scope,
        accounts: Vec<AccountId>,
        now: Timestamp,
    ) -> Reply<Result<Vec<AccountId>, StoreError>>;
}

/// Lists accounts and keys for an operator. The cost of a call may depend on the number of accounts and keys, and
/// `limit` has no upper bound.
///
/// A directory over two sorted maps:
///
/// ```
/// use std::collections::BTreeMap;
/// use std::ops::Bound::{Excluded, Unbounded};
/// use async_trait::async_trait;
/// use petstore_domain::{Account, AccountId, FoldedName, KeyId, KeyRecord};
/// use petstore_ports::{AccountDirectory, StoreError};
///
/// struct Directory {
///     accounts: BTreeMap<AccountId, Account>,
///     keys: BTreeMap<KeyId, KeyRecord>,
/// }
///
/// #[async_trait]
/// impl AccountDirectory for Directory {
///     async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<Account>, StoreError> {
///         let rest = self.accounts.range((after.map_or(Unbounded, Excluded), Unbounded));
///         Ok(rest.take(limit).map(|(_, account)| account.clone()).collect())
///     }
///
///     async fn account_named(&self, name: &FoldedName) -> Result<Option<Account>, StoreError> {
///         // The folded form decides; an adapter with an index stores that form.
///         Ok(self.accounts.values().find(|account| account.name.folded() == *name).cloned())
///     }
///
///     async fn keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError> {
///         let rest = self.keys.range((after.map_or(Unbounded, Excluded), Unbounded));
///         Ok(rest.take(limit).map(|(_, key)| key.clone()).collect())
///     }
/// }
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait AccountDirectory: Send + Sync {
    /// Up to `limit` accounts with an id above `after`, by id.
    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<Account>, StoreError>;

    /// The account whose name is equal to this one after folding.
    async fn account_named(&self, name: &FoldedName) -> Result<Option<Account>, StoreError>;

    /// Up to `limit` keys with an id above `after`, by id.
    async fn keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError>;
}
