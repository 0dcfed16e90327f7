//! Accounts: who calls, and on which plan.

mod operations;

pub use operations::{
    CreateKey, CreateKeyRejection, CreatedKey, KeyHolder, KeyPatch, LiftBan, RevokeKey, RotateKey,
    RotateKeyRejection, UnknownKey, UpdateAccount, UpdateAccountRejection, UpdateKey,
};

use crate::text::name_type;
use crate::{AccountId, Plan, Timestamp};

name_type! {
    /// An account's name; unique, case and all.
    AccountName
}

/// An account. It owns one or more keys; the quota is the account's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// Its name.
    pub name: AccountName,
    /// Its plan.
    pub plan: Plan,
    /// When it was made.
    pub created_at: Timestamp,
}

impl AccountName {
    /// The name of an account that was made for a key without one.
    pub fn made_for(id: AccountId) -> Self {
        Self::parse(&format!("account-{id}")).expect("short and printable")
    }
}
