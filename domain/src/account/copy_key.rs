//! Copying a key from another store, with its account.

use super::Account;
use crate::record::{Change, RecordRef, View};
use crate::state::{Changes, Footprint};
use crate::{KeyId, KeyRecord, Operation};

/// Copies a key from another store, so that its secret is valid here too. The account of the same name becomes its
/// owner, and is created if it does not exist. Key and account get ids of this store.
///
/// The operation may be repeated. It then takes over what has changed in the other store, and never makes a key valid
/// again that was revoked here, nor ends a ban that was begun here.
#[derive(Debug, Clone)]
pub struct CopyKey {
    /// The account in the other store.
    pub account: Account,
    /// The key in the other store.
    pub key: KeyRecord,
    /// The id of the key with the same secret in this store, if there is one.
    pub existing: Option<KeyId>,
}

/// A key of this store after it was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedKey {
    /// The key.
    pub key: KeyRecord,
    /// `true` if the key or its account was created or changed.
    pub is_changed: bool,
}

/// The reason why a key was not copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CopyKeyRejection {
    /// The key that [`CopyKey::existing`] names does not exist, or has another secret.
    #[error("the key has been replaced meanwhile")]
    OtherSecret,
    /// In this store the key belongs to an account with another name.
    #[error("the key belongs to another account here")]
    OtherAccount,
}

impl Operation for CopyKey {
    type Output = CopiedKey;
    type Rejection = CopyKeyRejection;

    fn footprint(&self, seen: &View) -> Footprint {
        let name = self.account.name.folded();
        let key = self.existing.map_or(RecordRef::NextKey, RecordRef::Key);
        let mut footprint = Footprint::from([RecordRef::NextAccount, key]);
        if let Some(id) = seen.account_named(&name) {
            footprint.add(RecordRef::Account(id));
        }
        footprint.add(RecordRef::AccountName(name));
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let mut changes = Changes::none();
        let owner = view.account_named(&self.account.name.folded()).and_then(|id| view.account(id));
        let account = match owner {
            Some(owner) => Account { plan: self.account.plan, ..owner.clone() },
            None => Account { id: view.next_account(), ..self.account.clone() },
        };
        if owner != Some(&account) {
            changes.push(Change::Account(account.clone()));
        }
        let before = self.existing.map(|id| self.existing_key(view, id, &account)).transpose()?;
        let key = match before {
            Some(before) => self.merged_into(before),
            None => KeyRecord { id: view.next_key(), account: account.id, ..self.key.clone() },
        };
        if before != Some(&key) {
            changes.push(Change::Key(Box::new(key.clone())));
        }
        let is_changed = !changes.as_slice().is_empty();
        Ok((changes, CopiedKey { key, is_changed }))
    }
}

impl CopyKey {
    fn existing_key<'v>(
        &self,
        view: &'v View,
        id: KeyId,
        owner: &Account,
    ) -> Result<&'v KeyRecord, CopyKeyRejection> {
        let key = view.key(id).filter(|key| key.digest == self.key.digest);
        let key = key.ok_or(CopyKeyRejection::OtherSecret)?;
        if key.account == owner.id { Ok(key) } else { Err(CopyKeyRejection::OtherAccount) }
    }

    /// Returns the key of this store with the fields that an operator sets in the other one.
    fn merged_into(&self, before: &KeyRecord) -> KeyRecord {
        let mut key = KeyRecord {
            label: self.key.label.clone(),
            scopes: self.key.scopes,
            expires_at: self.key.expires_at,
            replaced_until: self.key.replaced_until,
            revoked_at: before.revoked_at.or(self.key.revoked_at),
            ban_lifted_at: before.ban_lifted_at.max(self.key.ban_lifted_at),
            ..before.clone()
        };
        if let Some(ban) = self.key.ban {
            key.record_ban(ban);
        }
        key
    }
}
