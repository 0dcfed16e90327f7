//! Two accounts and a key, to which the tests apply operations.

use std::time::Duration;

use petstore_domain::*;

use super::{Shop, account_id, account_name, hours, limits};

/// The key of [`shop`].
pub(crate) const KEY: KeyId = KeyId::FIRST;

pub(crate) fn account(id: AccountId, name: &str, plan: Plan) -> Account {
    Account { id, name: account_name(name), plan, created_at: hours(-9) }
}

/// A ban that began an hour ago and lasts until an hour from now.
pub(crate) fn ban() -> Ban {
    Ban { since: hours(-1), until: hours(1), length: Duration::from_hours(2) }
}

/// The key of [`shop`].
pub(crate) fn key() -> KeyRecord {
    KeyRecord {
        id: KEY,
        account: account_id(1),
        digest: KeyDigest([7; 32]),
        prefix: ApiKey::from_entropy([7; 32]).display_prefix(),
        label: KeyLabel::parse("office").unwrap(),
        scopes: Scopes { read: true, write: false, webhooks: false },
        created_at: hours(-9),
        expires_at: Some(hours(9)),
        replaced_until: None,
        revoked_at: None,
        ban: Some(ban()),
        ban_lifted_at: None,
    }
}

/// Two accounts, and a key of the first account after `change` was applied to it.
pub(crate) fn shop_with(change: impl FnOnce(&mut KeyRecord)) -> Shop {
    let mut key = key();
    change(&mut key);
    Shop::default()
        .with_account(account(account_id(1), "zoo", Plan::Pro))
        .with_account(account(account_id(2), "farm", Plan::Enterprise(limits(7, 70))))
        .with_key(key)
}

pub(crate) fn shop() -> Shop {
    shop_with(|_| {})
}
