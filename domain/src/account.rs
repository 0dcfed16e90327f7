//! Accounts: the owners of keys, each with a plan.

mod copy_key;
mod operations;

pub use copy_key::{CopiedKey, CopyKey, CopyKeyRejection};
pub use operations::{
    BanKey, CreateKey, CreateKeyRejection, CreatedKey, KeyHolder, KeyPatch, LiftBan, RevokeKey, RotateKey,
    RotateKeyRejection, UnknownKey, UpdateAccount, UpdateAccountRejection, UpdateKey,
};

use crate::text::name_type;
use crate::{AccountId, Plan, Timestamp};

name_type! {
    /// An account's name; unique after folding.
    AccountName
}

/// An account. It owns one or more keys; the quota is the account's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The number by which the account is named for ever, from 1.
    pub id: AccountId,
    /// The name, which no other account has, compared by its folded form.
    pub name: AccountName,
    /// The plan, which sets the quota of all keys of the account together.
    pub plan: Plan,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Number of candidate names for an account that is created without a name.
const MADE_NAMES: u32 = 8;

impl AccountName {
    /// Returns candidate names for an account that is created with its key, in order of preference. An operator
    /// may have taken some of them.
    pub fn made_for(id: AccountId) -> impl Iterator<Item = Self> {
        let ends = std::iter::once(String::new()).chain((2..=MADE_NAMES).map(|number| format!("-{number}")));
        ends.map(move |end| Self::parse(&format!("account-{id}{end}")).expect("short and printable"))
    }
}
