//! Operations of an operator on keys.

mod common;

use std::time::Duration;

use petstore_domain::*;

use common::keys::{KEY, account, ban, key, shop, shop_with};
use common::{account_id, account_name, create_key, hours, key_id, limits, now};

fn named(name: &str, plan: Option<Plan>) -> KeyHolder {
    KeyHolder::Named { name: account_name(name), plan }
}

fn rotate(overlap: Duration) -> RotateKey {
    let prefix = ApiKey::from_entropy([8; 32]).display_prefix();
    RotateKey { id: KEY, overlap, digest: KeyDigest([8; 32]), prefix, now: now() }
}

#[test]
fn a_new_key_has_what_was_asked_for_and_the_account_it_was_asked_for() {
    let made = |name: &str, plan| Account { created_at: now(), ..account(account_id(3), name, plan) };
    let zoo = account(account_id(1), "zoo", Plan::Pro);
    let farm = account(account_id(2), "farm", Plan::Enterprise(limits(7, 70)));
    let cases = [
        (KeyHolder::New { plan: Plan::Business }, made("account-3", Plan::Business)),
        (named("shelter", Some(Plan::Pro)), made("shelter", Plan::Pro)),
        (named("shelter", None), made("shelter", KeyHolder::DEFAULT_PLAN)),
        (named("zoo", None), zoo.clone()),
        // Names are compared after folding, and an existing account keeps the spelling of its name.
        (named("ZOO", None), zoo.clone()),
        (named("Cafe\u{301}", None), made("Cafe\u{301}", Plan::Free)),
        (named("zoo", Some(Plan::Pro)), zoo),
        (named("farm", Some(Plan::Enterprise(limits(7, 70)))), farm),
    ];
    for (holder, account) in cases {
        let mut shop = shop();
        let create = CreateKey {
            scopes: Scopes { read: false, write: true, webhooks: false },
            expires_at: Some(hours(5)),
            ..create_key(holder)
        };
        let created = shop.run(&create).unwrap();
        let key = KeyRecord {
            ban_lifted_at: None,
            id: key_id(2),
            account: account.id,
            digest: create.digest,
            prefix: create.prefix,
            label: create.label.clone(),
            scopes: create.scopes,
            created_at: now(),
            expires_at: Some(hours(5)),
            replaced_until: None,
            revoked_at: None,
            ban: None,
        };
        assert_eq!(created, CreatedKey { key, account }, "{create:?}");
        assert_eq!(shop.keys[&key_id(2)], created.key, "{create:?}");
        assert_eq!(shop.accounts[&created.account.id], created.account, "{create:?}");
    }
}

#[test]
fn a_key_for_an_account_that_is_there_does_not_write_the_account() {
    let (changes, created) = shop().decide(&create_key(named("zoo", None))).unwrap();
    assert_eq!(changes.as_slice(), [Change::Key(Box::new(created.key))]);
}

#[test]
fn rejects_a_key_for_an_account_on_another_plan_than_the_one_named() {
    let cases = [
        ("zoo", Plan::Free, "pro"),
        ("zoo", Plan::Enterprise(limits(300, 10_000)), "pro"),
        ("farm", Plan::Business, "enterprise"),
        // The account is on a plan of this name, but with other limits.
        ("farm", Plan::Enterprise(limits(7, 71)), "enterprise"),
    ];
    for (name, plan, has) in cases {
        let rejected = Err(CreateKeyRejection::OtherPlan(has));
        assert_eq!(shop().decide(&create_key(named(name, Some(plan)))), rejected, "{name} {plan:?}");
    }
}

#[test]
fn a_rotated_key_has_a_successor_like_it_and_stays_valid_for_the_overlap() {
    let mut shop = shop();
    let fresh = shop.run(&rotate(Duration::from_hours(1))).unwrap();
    let expected = KeyRecord {
        id: key_id(2),
        digest: KeyDigest([8; 32]),
        prefix: ApiKey::from_entropy([8; 32]).display_prefix(),
        created_at: now(),
        // The successor gets the full lifetime of the old key, not the rest of it.
        expires_at: key().expires_at.map(|end| now().plus(end.since(key().created_at))),
        // The successor inherits the ban, because a rotation must not clear it.
        ..key()
    };
    assert_eq!(fresh, expected);
    assert_eq!(shop.keys[&key_id(2)], expected);
    assert_eq!(shop.keys[&KEY], KeyRecord { replaced_until: Some(hours(1)), ..key() });
}

#[test]
fn a_rotation_never_lengthens_the_life_of_the_old_key() {
    let cases = [
        (None, 0, hours(0)),
        (None, 1, hours(1)),
        (Some(hours(9)), 1, hours(1)),
        (Some(hours(9)), 9, hours(9)),
        (Some(hours(9)), 10, hours(9)),
    ];
    for (expires_at, overlap_hours, end) in cases {
        let mut shop = shop_with(|key| key.expires_at = expires_at);
        shop.run(&rotate(Duration::from_hours(overlap_hours))).unwrap();
        assert_eq!(shop.keys[&KEY].valid_until(), Some(end), "{expires_at:?} {overlap_hours}");
    }
}

#[test]
fn a_second_rotation_gives_the_full_lifetime_and_keeps_the_overlap_that_ends_first() {
    for own in [None, Some(hours(9))] {
        for (first, second, end) in [(1, 2, 1), (2, 1, 1), (1, 1, 1)] {
            let mut shop = shop_with(|key| key.expires_at = own);
            let fresh = shop.run(&rotate(Duration::from_hours(first))).unwrap();
            let again = shop.run(&rotate(Duration::from_hours(second))).unwrap();
            let lives = |key: &KeyRecord| (key.expires_at, key.replaced_until);
            assert_eq!((again.id, lives(&again)), (key_id(3), lives(&fresh)), "{own:?} {first} {second}");
            assert_eq!(again.replaced_until, None, "{own:?} {first} {second}");
            let old = KeyRecord { expires_at: own, replaced_until: Some(hours(end)), ..key() };
            assert_eq!(shop.keys[&KEY], old, "{own:?} {first} {second}");
        }
    }
}

#[test]
fn a_new_expiry_replaces_the_end_of_an_overlap() {
    for (expires_at, end) in [(Patch::Set(hours(5)), Some(hours(5))), (Patch::Clear, None)] {
        let mut shop = shop();
        shop.run(&rotate(Duration::from_hours(1))).unwrap();
        let relabel = KeyPatch { label: Some(KeyLabel::parse("kennel").unwrap()), ..KeyPatch::default() };
        let relabelled = shop.run(&UpdateKey { id: KEY, patch: relabel }).unwrap();
        assert_eq!(relabelled.valid_until(), Some(hours(1)), "{expires_at:?}");
        let patch = KeyPatch { expires_at, ..KeyPatch::default() };
        let updated = shop.run(&UpdateKey { id: KEY, patch }).unwrap();
        assert_eq!((updated.expires_at, updated.replaced_until), (end, None));
        assert_eq!(shop.keys[&KEY], updated);
    }
}

#[test]
fn an_unbounded_overlap_ends_at_the_last_timestamp() {
    let mut shop = shop_with(|key| key.expires_at = None);
    shop.run(&rotate(Duration::MAX)).unwrap();
    assert_eq!(shop.keys[&KEY].valid_until(), Some(Timestamp::MAX));
}

#[test]
fn rejects_the_rotation_of_an_expired_or_revoked_key() {
    let revoked = shop_with(|key| key.revoked_at = Some(now()));
    let expired = shop_with(|key| key.expires_at = Some(now()));
    let replaced = shop_with(|key| key.replaced_until = Some(now()));
    let expired = [expired, replaced].map(|shop| (shop, KeyFault::Expired));
    for (shop, fault) in [(revoked, KeyFault::Revoked)].into_iter().chain(expired) {
        assert_eq!(shop.decide(&rotate(Duration::ZERO)), Err(RotateKeyRejection::Dead(fault)));
    }
}

#[test]
fn a_second_revocation_keeps_the_time_of_the_first() {
    let mut shop = shop();
    let revoked = KeyRecord { revoked_at: Some(now()), ..key() };
    assert_eq!(shop.run(&RevokeKey { id: KEY, now: now() }), Ok(revoked.clone()));
    assert_eq!(shop.keys[&KEY], revoked);
    let again = RevokeKey { id: KEY, now: hours(1) };
    assert_eq!(shop.decide(&again), Ok((Changes::none(), revoked)));
}

#[test]
fn a_key_is_changed_in_what_the_patch_names() {
    let label = KeyLabel::parse("kennel").unwrap();
    let patch = KeyPatch::default;
    let cases = [
        (KeyPatch { label: Some(label.clone()), ..patch() }, KeyRecord { label, ..key() }),
        (
            KeyPatch { scopes: Some(Scopes::DEFAULT), ..patch() },
            KeyRecord { scopes: Scopes::DEFAULT, ..key() },
        ),
        (
            KeyPatch { expires_at: Patch::Set(hours(1)), ..patch() },
            KeyRecord { expires_at: Some(hours(1)), ..key() },
        ),
        (KeyPatch { expires_at: Patch::Clear, ..patch() }, KeyRecord { expires_at: None, ..key() }),
        (patch(), key()),
        (KeyPatch { scopes: Some(key().scopes), ..patch() }, key()),
        (KeyPatch { expires_at: Patch::Set(hours(9)), ..patch() }, key()),
    ];
    for (patch, after) in cases {
        let mut shop = shop();
        let update = UpdateKey { id: KEY, patch };
        let written = !shop.decide(&update).unwrap().0.is_empty();
        assert_eq!(written, after != key(), "{update:?}");
        assert_eq!(shop.run(&update), Ok(after.clone()), "{update:?}");
        assert_eq!(shop.keys[&KEY], after, "{update:?}");
    }
}

#[test]
fn rejects_what_is_done_to_a_key_that_is_not_there() {
    let (shop, id, now) = (shop(), key_id(8), now());
    assert_eq!(shop.decide(&RotateKey { id, ..rotate(Duration::ZERO) }), Err(RotateKeyRejection::NotFound));
    assert_eq!(shop.decide(&RevokeKey { id, now }), Err(UnknownKey));
    assert_eq!(shop.decide(&LiftBan { id, now }), Err(UnknownKey));
    assert_eq!(shop.decide(&BanKey { id, ban: ban() }), Err(UnknownKey));
    assert_eq!(shop.decide(&UpdateKey { id, patch: KeyPatch::default() }), Err(UnknownKey));
}

#[test]
fn a_label_is_empty_or_has_a_visible_character() {
    let cases = [
        ("", Ok("")),
        ("  ", Ok("")),
        (" office ", Ok("office")),
        ("\u{200b}", Err(TextError::Invisible)),
        ("\u{3164}\u{2800}", Err(TextError::Invisible)),
        ("a\0", Err(TextError::ControlCharacter)),
    ];
    for (text, expected) in cases {
        assert_eq!(
            KeyLabel::parse(text).as_ref().map(KeyLabel::as_str),
            expected.as_ref().copied(),
            "{text:?}"
        );
    }
}

#[test]
fn a_key_is_valid_until_it_expires_or_is_revoked() {
    let cases = [
        (None, None, None, Ok(())),
        (Some(hours(1)), None, None, Ok(())),
        (Some(now()), None, None, Err(KeyFault::Expired)),
        (Some(hours(-1)), None, None, Err(KeyFault::Expired)),
        (None, Some(hours(1)), None, Ok(())),
        (None, Some(now()), None, Err(KeyFault::Expired)),
        (Some(hours(1)), Some(now()), None, Err(KeyFault::Expired)),
        (Some(now()), Some(hours(1)), None, Err(KeyFault::Expired)),
        (None, None, Some(now()), Err(KeyFault::Revoked)),
        (Some(hours(-1)), Some(hours(-1)), Some(hours(-2)), Err(KeyFault::Revoked)),
    ];
    for (expires_at, replaced_until, revoked_at, expected) in cases {
        let key = KeyRecord { expires_at, replaced_until, revoked_at, ..key() };
        assert_eq!(key.check(now()), expected, "{expires_at:?} {replaced_until:?} {revoked_at:?}");
    }
}
