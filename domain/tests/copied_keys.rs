//! Keys that are copied from another store.

mod common;

use petstore_domain::*;

use common::keys::{KEY, account, ban, key, shop, shop_with};
use common::{Shop, account_id, hours, key_id, limits};

/// The key of the account `zoo` in another store, where both have other ids.
fn from_elsewhere(change: impl FnOnce(&mut KeyRecord)) -> CopyKey {
    let account = account(account_id(40), "Zoo", Plan::Pro);
    let mut key = KeyRecord { id: key_id(70), account: account.id, ..key() };
    change(&mut key);
    CopyKey { account, key, existing: None }
}

#[test]
fn a_copy_has_everything_but_the_ids() {
    let copy = from_elsewhere(|_| {});
    let mut shop = Shop::default();
    let copied = shop.run(&copy).unwrap();
    assert_eq!(copied, CopiedKey { key: key(), is_changed: true });
    assert_eq!(shop.accounts[&account_id(1)], Account { id: account_id(1), ..copy.account });
    assert_eq!(shop.keys[&KEY], key());
}

#[test]
fn the_account_of_the_same_name_becomes_the_owner_and_gets_the_plan() {
    let plan = Plan::Enterprise(limits(5, 50));
    let mut copy = from_elsewhere(|key| key.digest = KeyDigest([9; 32]));
    copy.account.plan = plan;
    let mut shop = shop();
    let copied = shop.run(&copy).unwrap();
    assert_eq!((copied.key.id, copied.key.account), (key_id(2), account_id(1)));
    assert_eq!(shop.accounts[&account_id(1)], account(account_id(1), "zoo", plan), "the spelling stays");
    assert_eq!(shop.accounts.len(), 2);
}

#[test]
fn a_second_copy_writes_nothing_until_the_other_key_changes() {
    let mut shop = shop();
    let again = |change: fn(&mut KeyRecord)| CopyKey { existing: Some(KEY), ..from_elsewhere(change) };
    let (changes, copied) = shop.decide(&again(|_| {})).unwrap();
    assert_eq!((changes, copied), (Changes::none(), CopiedKey { key: key(), is_changed: false }));

    let copied = shop.run(&again(|key| {
        key.label = KeyLabel::parse("till").unwrap();
        key.scopes = Scopes::ALL;
        key.expires_at = None;
        key.replaced_until = Some(hours(2));
        key.revoked_at = Some(hours(1));
    }));
    let expected = KeyRecord {
        label: KeyLabel::parse("till").unwrap(),
        scopes: Scopes::ALL,
        expires_at: None,
        replaced_until: Some(hours(2)),
        revoked_at: Some(hours(1)),
        ..key()
    };
    assert_eq!(copied, Ok(CopiedKey { key: expected.clone(), is_changed: true }));
    assert_eq!(shop.keys[&KEY], expected);
}

#[test]
fn a_second_copy_keeps_a_revocation_a_ban_and_a_lift_of_this_store() {
    let again = |change: fn(&mut KeyRecord)| CopyKey { existing: Some(KEY), ..from_elsewhere(change) };
    let here = |change: fn(&mut KeyRecord), copy: &CopyKey| shop_with(change).decide(copy).unwrap().1.key;
    let revoked = here(|key| key.revoked_at = Some(hours(-2)), &again(|_| {}));
    assert_eq!(revoked.revoked_at, Some(hours(-2)));
    let banned = here(|_| {}, &again(|key| key.ban = None));
    assert_eq!(banned.ban, Some(ban()));
    let lifted = here(|key| key.lift_ban(hours(0)), &again(|_| {}));
    assert_eq!(lifted.ban_lifted_at, Some(hours(0)));
    assert!(lifted.ban.is_none_or(|ban| !ban.in_force(hours(0))), "{lifted:?}");
}

#[test]
fn rejects_a_key_that_is_another_one_here() {
    let again = |change: fn(&mut KeyRecord)| CopyKey { existing: Some(KEY), ..from_elsewhere(change) };
    let other = again(|key| key.digest = KeyDigest([9; 32]));
    assert_eq!(shop().decide(&other), Err(CopyKeyRejection::OtherSecret));
    assert_eq!(Shop::default().decide(&again(|_| {})), Err(CopyKeyRejection::OtherSecret));
    let mut moved = again(|_| {});
    moved.account.name = AccountName::parse("farm").unwrap();
    assert_eq!(shop().decide(&moved), Err(CopyKeyRejection::OtherAccount));
}
