//! The accounts that may have webhooks: those that have a valid key with the scope `webhooks`.

use std::collections::{BTreeMap, BTreeSet};

use petstore_domain::AccountId;

/// The accounts whose webhooks this node delivers, and whether they may have webhooks. One that is not known yet gets nothing.
#[derive(Debug, Default)]
pub(super) struct Permits(BTreeMap<AccountId, bool>);

impl Permits {
    /// The permits of these accounts, some of which are permitted.
    pub(super) fn new(asked: &[AccountId], permitted: &BTreeSet<AccountId>) -> Self {
        Self(asked.iter().map(|account| (*account, permitted.contains(account))).collect())
    }

    /// Returns whether events of the account may be sent; none if it is not known yet.
    pub(super) fn of(&self, account: AccountId) -> Option<bool> {
        self.0.get(&account).copied()
    }
}
