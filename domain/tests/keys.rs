//! Operations of an operator on accounts and their keys.

mod common;

use std::time::Duration;

use petstore_domain::*;

use common::{Shop, account_id, account_name, create_key, hours, key_id, limits, now};

const KEY: KeyId = KeyId::FIRST;

fn account(id: AccountId, name: &str, plan: Plan) -> Account {
    Account { id, name: account_name(name), plan, created_at: hours(-9) }
}

/// A ban that began an hour ago and lasts until an hour from now.
fn ban() -> Ban {
    Ban { since: hours(-1), until: hours(1), length: Duration::from_hours(2) }
}

/// The key of [`shop`].
fn key() -> KeyRecord {
    KeyRecord {
        id: KEY,
        account: account_id(1),
        digest: KeyDigest([7; 32]),
        prefix: ApiKey::from_entropy([7; 32]).display_prefix(),
        label: KeyLabel::parse("office").unwrap(),
        scopes: Scopes { read: true, write: false },
        created_at: hours(-9),
        expires_at: Some(hours(9)),
        replaced_until: None,
        revoked_at: None,
        ban: Some(ban()),
        ban_lifted_at: None,
    }
}

/// Two accounts, and a key of the first account after `change` was applied to it.
fn shop_with(change: impl FnOnce(&mut KeyRecord)) -> Shop {
    let mut key = key();
    change(&mut key);
    Shop::default()
        .with_account(account(account_id(1), "zoo", Plan::Pro))
        .with_account(account(account_id(2), "farm", Plan::Enterprise(limits(7, 70))))
        .with_key(key)
}

fn shop() -> Shop {
    shop_with(|_| {})
}

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
            scopes: Scopes { read: false, write: true },
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
fn an_account_is_called_after_its_id_as_far_as_that_is_free() {
    // The third account would be account-3, but the second one has been renamed to that.
    let mut shop = shop();
    let rename = UpdateAccount { id: account_id(2), name: Some(account_name("account-3")), plan: None };
    shop.run(&rename).unwrap();
    let create = create_key(KeyHolder::New { plan: Plan::Free });
    let made = shop.run(&create).map(|created| (created.account.id, created.account.name));
    assert_eq!(made, Ok((account_id(3), account_name("account-3-2"))));
    // Accounts 4 to 11 take all candidate names of the twelfth.
    for name in AccountName::made_for(account_id(12)) {
        shop.run(&create_key(KeyHolder::Named { name, plan: None })).unwrap();
    }
    assert_eq!(shop.run(&create), Err(CreateKeyRejection::NameTaken));
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
fn a_lifted_ban_ends_now_and_is_remembered() {
    let mut shop = shop();
    let lifted = shop.run(&LiftBan { id: KEY, now: now() }).unwrap();
    let ended = Some(Ban { until: now(), ..ban() });
    assert_eq!(lifted, KeyRecord { ban: ended, ban_lifted_at: Some(now()), ..key() });
    assert_eq!(shop.keys[&KEY], lifted);
    assert!(!shop.keys[&KEY].ban.unwrap().in_force(now()));
}

#[test]
fn a_lift_is_recorded_where_no_ban_is_in_force() {
    let over = Ban { since: hours(-3), until: hours(-1), length: Duration::from_hours(2) };
    for ban in [None, Some(over)] {
        let mut shop = shop_with(|key| key.ban = ban);
        let lifted = KeyRecord { ban, ban_lifted_at: Some(now()), ..key() };
        assert_eq!(shop.run(&LiftBan { id: KEY, now: now() }), Ok(lifted));
    }
}

#[test]
fn the_time_of_a_lift_rises_and_is_not_before_the_ban() {
    let tick = Duration::from_millis(1);
    let mut shop = shop();
    for (time, lifted_at) in [
        // The clock that began the ban an hour ago was ahead of the operator's.
        (hours(-2), hours(-1)),
        (hours(-2), hours(-1).plus(tick)),
        (now(), now()),
        (now(), now().plus(tick)),
        (hours(1), hours(1)),
    ] {
        let lifted = shop.run(&LiftBan { id: KEY, now: time }).unwrap();
        assert_eq!(lifted.ban_lifted_at, Some(lifted_at), "at {time}");
        assert_eq!(lifted.ban.map(|ban| ban.until), Some(hours(-2)), "at {time}");
    }
}

#[test]
fn a_decided_ban_is_recorded_once() {
    let ban = Ban { since: now(), until: hours(2), length: Duration::from_hours(2) };
    for before in [None, Some(Ban { until: now(), ..self::ban() })] {
        let mut shop = shop_with(|key| key.ban = before);
        let banned = KeyRecord { ban: Some(ban), ..key() };
        assert_eq!(shop.run(&BanKey { id: KEY, ban }), Ok(banned.clone()));
        assert_eq!(shop.decide(&BanKey { id: KEY, ban }), Ok((Changes::none(), banned)), "it is run again");
    }
}

#[test]
fn a_ban_is_not_recorded_over_one_that_outlasts_it() {
    let shop = shop();
    let shorter =
        Ban { since: now(), until: now().plus(Duration::from_mins(2)), length: Duration::from_mins(2) };
    assert_eq!(shop.decide(&BanKey { id: KEY, ban: shorter }), Ok((Changes::none(), key())));
}

#[test]
fn a_ban_is_not_recorded_after_a_lift_or_a_revocation_at_or_after_its_start() {
    let tick = Duration::from_millis(1);
    let ban = Ban { since: now(), until: hours(2), length: Duration::from_hours(2) };
    for (time, is_void) in [(hours(-1), false), (now(), true), (now().plus(tick), true)] {
        type Change = fn(&mut KeyRecord, Timestamp);
        let lift: Change = |key, time| key.ban_lifted_at = Some(time);
        let revoke: Change = |key, time| key.revoked_at = Some(time);
        for change in [lift, revoke] {
            let mut shop = shop_with(|key| {
                key.ban = None;
                change(key, time);
            });
            let recorded = shop.run(&BanKey { id: KEY, ban }).unwrap().ban;
            assert_eq!(recorded, (!is_void).then_some(ban), "at {time}");
        }
    }
}

#[test]
fn a_forgotten_ban_does_not_come_back() {
    let mut forgotten = key();
    forgotten.forget_ban();
    assert_eq!(forgotten, KeyRecord { ban: None, ban_lifted_at: Some(ban().since), ..key() });
    forgotten.record_ban(ban());
    assert_eq!(forgotten.ban, None, "it is recorded again");
    let later = Ban { since: now(), ..ban() };
    forgotten.record_ban(later);
    assert_eq!(forgotten.ban, Some(later));
    let mut lifted = KeyRecord { ban_lifted_at: Some(hours(5)), ..key() };
    lifted.forget_ban();
    assert_eq!(lifted.ban_lifted_at, Some(hours(5)));
}

#[test]
fn a_key_is_changed_in_what_the_patch_names() {
    let label = KeyLabel::parse("kennel").unwrap();
    let patch = KeyPatch::default;
    let cases = [
        (KeyPatch { label: Some(label.clone()), ..patch() }, KeyRecord { label, ..key() }),
        (KeyPatch { scopes: Some(Scopes::ALL), ..patch() }, KeyRecord { scopes: Scopes::ALL, ..key() }),
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
fn an_account_is_changed_in_what_is_named() {
    let zoo = |name: &str, plan| account(account_id(1), name, plan);
    let cases = [
        (Some("park"), None, zoo("park", Plan::Pro)),
        (None, Some(Plan::Free), zoo("zoo", Plan::Free)),
        (Some("ZOO"), Some(Plan::Business), zoo("ZOO", Plan::Business)),
        (None, Some(Plan::Enterprise(limits(1, 2))), zoo("zoo", Plan::Enterprise(limits(1, 2)))),
        (None, None, zoo("zoo", Plan::Pro)),
        (Some("zoo"), Some(Plan::Pro), zoo("zoo", Plan::Pro)),
    ];
    for (name, plan, after) in cases {
        let mut shop = shop();
        let update = UpdateAccount { id: account_id(1), name: name.map(account_name), plan };
        let written = !shop.decide(&update).unwrap().0.is_empty();
        assert_eq!(written, after != shop.accounts[&account_id(1)], "{update:?}");
        assert_eq!(shop.run(&update), Ok(after.clone()), "{update:?}");
        assert_eq!(shop.accounts[&account_id(1)], after, "{update:?}");
    }
}

#[test]
fn rejects_an_account_that_is_not_there_or_a_name_that_is_taken() {
    let update = |id, name| UpdateAccount { id, name: Some(account_name(name)), plan: Some(Plan::Free) };
    let shop = shop();
    assert_eq!(shop.decide(&update(account_id(8), "farm")), Err(UpdateAccountRejection::NotFound));
    assert_eq!(shop.decide(&update(account_id(1), "farm")), Err(UpdateAccountRejection::NameTaken));
    assert_eq!(shop.decide(&update(account_id(1), "FARM")), Err(UpdateAccountRejection::NameTaken));
    assert!(shop.decide(&update(account_id(1), "farms")).is_ok());
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
