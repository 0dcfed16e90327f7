//! Operations of an operator on accounts and their keys.

use std::time::Duration;

use super::{Account, AccountName};
use crate::record::{Change, RecordRef, View};
use crate::state::{Changes, Footprint};
use crate::{
    AccountId, Ban, KeyDigest, KeyFault, KeyId, KeyLabel, KeyPrefix, KeyRecord, Operation, Patch, Plan,
    Scopes, Timestamp,
};

/// The account that a new key is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyHolder {
    /// An account made for this key, named after its id.
    New {
        /// Its plan.
        plan: Plan,
    },
    /// The account with this name. It is created if it does not exist.
    Named {
        /// The name.
        name: AccountName,
        /// The plan of the account if it is created. If the account exists, this must be absent or equal to its plan.
        plan: Option<Plan>,
    },
}

impl KeyHolder {
    /// The plan of an account that is created without a given plan.
    pub const DEFAULT_PLAN: Plan = Plan::Free;
}

/// Creates a key, and an account for the key if it needs one.
#[derive(Debug, Clone)]
pub struct CreateKey {
    /// The holder: the account that the key is for.
    pub holder: KeyHolder,
    /// The digest of the secret.
    pub digest: KeyDigest,
    /// The first characters of the secret.
    pub prefix: KeyPrefix,
    /// The operator's label for the key.
    pub label: KeyLabel,
    /// The scopes that the key grants.
    pub scopes: Scopes,
    /// The time from which the key is no longer valid; none if it never expires.
    pub expires_at: Option<Timestamp>,
    /// The time of the request.
    pub now: Timestamp,
}

/// A key that has been made, and its account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedKey {
    /// The record of the key, without its secret.
    pub key: KeyRecord,
    /// The account that owns it.
    pub account: Account,
}

/// The reason why a key was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CreateKeyRejection {
    /// The account exists, and its plan or its limits are not those that the request names.
    #[error("the account exists with another plan or other limits: it is on the {0} plan")]
    OtherPlan(&'static str),
    /// All candidate names of the new account are taken.
    #[error("the account needs a name: those it would be given are taken")]
    NameTaken,
}

impl Operation for CreateKey {
    type Output = CreatedKey;
    type Rejection = CreateKeyRejection;

    fn footprint(&self, seen: &View) -> Footprint {
        let mut footprint = Footprint::from([RecordRef::NextKey]);
        match &self.holder {
            KeyHolder::New { .. } => {
                footprint.add(RecordRef::NextAccount);
                if let Some(id) = seen.next_account_if_seen() {
                    AccountName::made_for(id)
                        .for_each(|name| footprint.add(RecordRef::AccountName(name.folded())));
                }
            }
            KeyHolder::Named { name, .. } => {
                footprint.add(RecordRef::NextAccount);
                let name = name.folded();
                footprint.add(RecordRef::AccountName(name.clone()));
                if let Some(id) = seen.account_named(&name) {
                    footprint.add(RecordRef::Account(id));
                }
            }
        }
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let (name, plan) = match &self.holder {
            KeyHolder::New { plan } => {
                let mut names = AccountName::made_for(view.next_account());
                let free = names.find(|name| view.account_named(&name.folded()).is_none());
                (free.ok_or(CreateKeyRejection::NameTaken)?, Some(*plan))
            }
            KeyHolder::Named { name, plan } => (name.clone(), *plan),
        };
        let existing = view.account_named(&name.folded()).and_then(|id| view.account(id));
        let mut changes = Changes::none();
        let account = match existing {
            Some(account) if plan.is_some_and(|plan| plan != account.plan) => {
                return Err(CreateKeyRejection::OtherPlan(account.plan.as_str()));
            }
            Some(account) => account.clone(),
            None => {
                let plan = plan.unwrap_or(KeyHolder::DEFAULT_PLAN);
                let account = Account { id: view.next_account(), name, plan, created_at: self.now };
                changes.push(Change::Account(account.clone()));
                account
            }
        };
        let key = KeyRecord {
            id: view.next_key(),
            account: account.id,
            digest: self.digest,
            prefix: self.prefix,
            label: self.label.clone(),
            scopes: self.scopes,
            created_at: self.now,
            expires_at: self.expires_at,
            replaced_until: None,
            revoked_at: None,
            ban: None,
            ban_lifted_at: None,
        };
        changes.push(Change::Key(Box::new(key.clone())));
        Ok((changes, CreatedKey { key, account }))
    }
}

/// A key that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no such key")]
pub struct UnknownKey;

/// Replaces a key: creates a second one like it, and lets the old one stay valid for an overlap.
#[derive(Debug, Clone)]
pub struct RotateKey {
    /// The key that is to be replaced.
    pub id: KeyId,
    /// The time for which the old key stays valid.
    pub overlap: Duration,
    /// The digest of the new secret.
    pub digest: KeyDigest,
    /// The first characters of the new secret.
    pub prefix: KeyPrefix,
    /// The time of the request.
    pub now: Timestamp,
}

/// The reason why a key was not rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RotateKeyRejection {
    /// There is no such key.
    #[error("there is no such key")]
    NotFound,
    /// The key is expired or revoked, and a rotation must not make it valid again.
    #[error(transparent)]
    Dead(#[from] KeyFault),
}

impl Operation for RotateKey {
    type Output = KeyRecord;
    type Rejection = RotateKeyRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::Key(self.id), RecordRef::NextKey])
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let old = view.key(self.id).ok_or(RotateKeyRejection::NotFound)?;
        old.check(self.now)?;
        let end = self.now.plus(self.overlap);
        let mut ending = old.clone();
        // A second rotation of the same key never lengthens the overlap that the first one set.
        ending.replaced_until = Some(old.replaced_until.map_or(end, |earlier| earlier.min(end)));
        let fresh = KeyRecord {
            id: view.next_key(),
            digest: self.digest,
            prefix: self.prefix,
            created_at: self.now,
            // The successor of a key that expires has a lifetime of the same length, counted from now.
            expires_at: old.expires_at.map(|end| self.now.plus(end.since(old.created_at))),
            replaced_until: None,
            // The successor inherits the ban and its history: a rotation must not clear them.
            ..old.clone()
        };
        let output = fresh.clone();
        Ok((Changes::from([Change::Key(Box::new(ending)), Change::Key(Box::new(fresh))]), output))
    }
}

/// Revokes a key, at once and permanently.
#[derive(Debug, Clone)]
pub struct RevokeKey {
    /// The key to revoke.
    pub id: KeyId,
    /// The time of the request.
    pub now: Timestamp,
}

impl Operation for RevokeKey {
    type Output = KeyRecord;
    type Rejection = UnknownKey;

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::Key(self.id)])
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        change_key(view, self.id, |key| key.revoked_at = key.revoked_at.or(Some(self.now)))
    }
}

/// Records a ban that was decided when a request was refused.
///
/// The service runs this operation some time after the ban is in force, and may run it more than once: see
/// [`KeyRecord::record_ban`].
#[derive(Debug, Clone)]
pub struct BanKey {
    /// The key to ban.
    pub id: KeyId,
    /// The ban, with the time at which it was decided as its start.
    pub ban: Ban,
}

impl Operation for BanKey {
    type Output = KeyRecord;
    type Rejection = UnknownKey;

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::Key(self.id)])
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        change_key(view, self.id, |key| key.record_ban(self.ban))
    }
}

/// Lifts a key's ban: see [`KeyRecord::lift_ban`].
#[derive(Debug, Clone)]
pub struct LiftBan {
    /// The key whose ban ends.
    pub id: KeyId,
    /// The time of the request.
    pub now: Timestamp,
}

impl Operation for LiftBan {
    type Output = KeyRecord;
    type Rejection = UnknownKey;

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::Key(self.id)])
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        change_key(view, self.id, |key| key.lift_ban(self.now))
    }
}

/// The fields of a key that an operator changes; an absent field stays as it is.
#[derive(Debug, Clone, Default)]
pub struct KeyPatch {
    /// The new label.
    pub label: Option<KeyLabel>,
    /// The new scopes.
    pub scopes: Option<Scopes>,
    /// The new expiry. Setting or clearing it also cancels the end of an overlap after a rotation.
    pub expires_at: Patch<Timestamp>,
}

/// Changes a key.
#[derive(Debug, Clone)]
pub struct UpdateKey {
    /// The key to change.
    pub id: KeyId,
    /// The members that change.
    pub patch: KeyPatch,
}

impl Operation for UpdateKey {
    type Output = KeyRecord;
    type Rejection = UnknownKey;

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::Key(self.id)])
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        change_key(view, self.id, |key| {
            if let Some(label) = &self.patch.label {
                key.label = label.clone();
            }
            key.scopes = self.patch.scopes.unwrap_or(key.scopes);
            if self.patch.expires_at != Patch::Keep {
                key.replaced_until = None;
            }
            self.patch.expires_at.apply(&mut key.expires_at);
        })
    }
}

fn change_key(
    view: &View,
    id: KeyId,
    change: impl FnOnce(&mut KeyRecord),
) -> Result<(Changes, KeyRecord), UnknownKey> {
    let before = view.key(id).ok_or(UnknownKey)?;
    let mut after = before.clone();
    change(&mut after);
    if after == *before {
        return Ok((Changes::none(), after));
    }
    Ok((Changes::from([Change::Key(Box::new(after.clone()))]), after))
}

/// Renames an account or moves it to another plan. The new limits are in force at once, and the requests
/// counted so far stay counted.
#[derive(Debug, Clone)]
pub struct UpdateAccount {
    /// The account to change.
    pub id: AccountId,
    /// The new name; if absent, the name stays.
    pub name: Option<AccountName>,
    /// The new plan; if absent, the plan stays.
    pub plan: Option<Plan>,
}

/// The reason why an account was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpdateAccountRejection {
    /// There is no such account.
    #[error("there is no such account")]
    NotFound,
    /// Another account has this name.
    #[error("another account has this name")]
    NameTaken,
}

impl Operation for UpdateAccount {
    type Output = Account;
    type Rejection = UpdateAccountRejection;

    fn footprint(&self, seen: &View) -> Footprint {
        let mut footprint = Footprint::from([RecordRef::Account(self.id)]);
        if let (Some(name), Some(account)) = (&self.name, seen.account(self.id)) {
            footprint.add(RecordRef::AccountName(account.name.folded()));
            footprint.add(RecordRef::AccountName(name.folded()));
        }
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let before = view.account(self.id).ok_or(UpdateAccountRejection::NotFound)?;
        let mut after = before.clone();
        if let Some(name) = &self.name {
            if view.account_named(&name.folded()).is_some_and(|other| other != self.id) {
                return Err(UpdateAccountRejection::NameTaken);
            }
            after.name = name.clone();
        }
        after.plan = self.plan.unwrap_or(before.plan);
        if after == *before {
            return Ok((Changes::none(), after));
        }
        Ok((Changes::from([Change::Account(after.clone())]), after))
    }
}
