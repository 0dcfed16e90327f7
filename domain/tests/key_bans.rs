//! The ban in the record of a key: recorded, lifted, forgotten.

mod common;

use std::time::Duration;

use petstore_domain::*;

use common::keys::{KEY, ban, key, shop, shop_with};
use common::{hours, now};

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
    for before in [None, Some(Ban { until: now(), ..common::keys::ban() })] {
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
