//! Bans: strikes, and the ban of a key with too many of them.

mod common;

use std::time::Duration;

use petstore_domain::*;

use common::{hours, limits, now};

const POLICY: BanPolicy = BanPolicy::DEFAULT;

fn mins(mins: u64) -> Duration {
    Duration::from_mins(mins)
}

/// A ban of this length that began now.
fn ban(length: Duration) -> Ban {
    Ban { since: now(), until: now().plus(length), length }
}

#[test]
fn a_key_may_collect_as_many_strikes_as_its_plan_has_requests_a_minute_and_ten_at_least() {
    for (minute, allowed) in [(1, 10), (9, 10), (10, 10), (11, 11), (60, 60), (1_000, 1_000)] {
        assert_eq!(POLICY.strikes_allowed(limits(minute, 1)), allowed, "{minute} a minute");
    }
    for strikes in [0, 3, 500] {
        let policy = BanPolicy { strikes: Some(strikes), ..POLICY };
        assert_eq!(policy.strikes_allowed(limits(60, 1)), strikes, "a setting goes before the plan");
    }
}

#[test]
fn one_strike_more_than_allowed_is_none() {
    for allowed in [0, 1, 10, 60] {
        let mut strikes = Strikes::default();
        for count in 1..=allowed {
            strikes = strikes.strike(60, allowed).unwrap();
            assert_eq!(strikes, Strikes { reset_secs: 60, count });
        }
        assert_eq!(strikes.strike(60, allowed), None, "{allowed} allowed");
    }
}

#[test]
fn strikes_of_another_window_do_not_count() {
    let full = Strikes { reset_secs: 60, count: 10 };
    assert_eq!(full.strike(60, 10), None);
    assert_eq!(full.strike(120, 10), Some(Strikes { reset_secs: 120, count: 1 }));
    // The day's window ends at another instant than the minute's.
    assert_eq!(full.strike(86_400, 10), Some(Strikes { reset_secs: 86_400, count: 1 }));
    assert_eq!(full.strike(120, 0), None, "none is allowed in any window");
}

#[test]
fn on_the_free_plan_request_121_of_a_minute_bans_the_key() {
    let free = PlanTable::SPECIFICATION.limits(&Plan::Free);
    let (mut windows, mut strikes) = (Windows::default(), Strikes::default());
    let (mut admitted, mut refused) = (0, 0);
    let banned_by = (1..=1_000).find(|_| {
        if let Some(taken) = windows.take(now(), free) {
            windows = taken;
            admitted += 1;
            return false;
        }
        let reset_secs = windows.usage(free).binding().1.reset_secs;
        let Some(struck) = strikes.strike(reset_secs, POLICY.strikes_allowed(free)) else {
            return true;
        };
        strikes = struck;
        refused += 1;
        false
    });
    assert_eq!((admitted, refused, banned_by), (60, 60, Some(121)));
}

#[test]
fn a_client_that_waits_for_the_reset_never_collects_strikes() {
    let limits = limits(2, 1_000_000);
    let (mut windows, mut strikes) = (Windows::default(), Strikes::default());
    let mut time = now();
    for _ in 0..500 {
        if let Some(taken) = windows.take(time, limits) {
            windows = taken;
            continue;
        }
        let reset_secs = windows.usage(limits).binding().1.reset_secs;
        strikes = strikes.strike(reset_secs, POLICY.strikes_allowed(limits)).unwrap();
        assert_eq!(strikes.count, 1, "{time}");
        time = Timestamp::from_millis((reset_secs * 1_000).cast_signed()).unwrap();
    }
}

#[test]
fn each_further_ban_within_the_memory_is_twice_as_long_up_to_the_longest() {
    let mut last = None;
    let mut start = now();
    for minutes in [2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_440] {
        let next = POLICY.next_ban(last, None, start);
        let length = mins(minutes);
        assert_eq!(next, Ban { since: start, until: start.plus(length), length }, "{minutes} minutes");
        // The client continues as soon as the ban ends.
        start = next.until;
        last = Some(next);
    }
}

#[test]
fn a_ban_is_forgotten_a_day_after_it_began() {
    let before = ban(mins(8));
    let day = hours(24);
    let just_before = Timestamp::from_millis(day.as_millis() - 1).unwrap();
    assert_eq!(POLICY.next_ban(Some(before), None, just_before).length, mins(16));
    assert_eq!(POLICY.next_ban(Some(before), None, day).length, mins(2));
    assert_eq!(POLICY.next_ban(Some(before), None, hours(100)).length, mins(2));
}

#[test]
fn a_clock_that_steps_back_does_not_forget_a_ban() {
    assert_eq!(POLICY.next_ban(Some(ban(mins(8))), None, hours(-30)).length, mins(16));
}

#[test]
fn no_ban_is_longer_than_the_maximum() {
    let short = BanPolicy { length: mins(9), length_max: mins(5), ..POLICY };
    assert_eq!(short.next_ban(None, None, now()).length, mins(5));
    let endless = BanPolicy { length_max: Duration::MAX, ..POLICY };
    let next = endless.next_ban(Some(ban(Duration::MAX)), None, now());
    assert_eq!((next.length, next.until), (Duration::MAX, Timestamp::MAX));
}

#[test]
fn a_ban_is_in_force_until_its_end() {
    let ban = ban(mins(60));
    for (time, in_force) in [(now(), true), (hours(1), false), (hours(2), false)] {
        assert_eq!(ban.in_force(time), in_force, "{time}");
    }
    assert!(ban.in_force(Timestamp::from_millis(hours(1).as_millis() - 1).unwrap()));
}

#[test]
fn a_lifted_ban_ends_at_once_and_still_counts_for_the_next_one() {
    let lifted = ban(mins(180)).lifted(hours(1));
    assert_eq!(lifted, Ban { until: hours(1), ..ban(mins(180)) });
    assert!(!lifted.in_force(hours(1)));
    assert_eq!(POLICY.next_ban(Some(lifted), None, hours(2)).length, mins(360));
    assert_eq!(lifted.lifted(hours(2)), lifted, "one that is over stays as it is");
}

#[test]
fn the_longest_ban_is_remembered_for_as_long_again_as_it_lasted() {
    let policy = BanPolicy::DEFAULT;
    let day = Duration::from_hours(24);
    let longest = Ban { since: now(), until: now().plus(day), length: day };
    let after = |hours| policy.next_ban(Some(longest), None, now().plus(Duration::from_hours(hours))).length;
    assert_eq!([after(25), after(47), after(48)], [day, day, policy.length]);
}

#[test]
fn a_ban_begins_after_the_last_lift_whatever_the_clock_shows() {
    let tick = Duration::from_millis(1);
    for (lift, since) in [(hours(-1), now()), (now(), now().plus(tick)), (hours(1), hours(1).plus(tick))] {
        let ban = POLICY.next_ban(None, Some(lift), now());
        assert_eq!(ban, Ban { since, until: now().plus(mins(2)), length: mins(2) }, "lifted at {lift}");
        assert!(!ban.is_ended_by_lift(Some(lift)), "lifted at {lift}");
    }
}

#[test]
fn a_lift_ends_the_bans_that_began_no_later() {
    let ban = ban(mins(2));
    let tick = Duration::from_millis(1);
    assert!(!ban.is_ended_by_lift(None) && !ban.is_ended_by_lift(Some(hours(-1))));
    assert!(ban.is_ended_by_lift(Some(now())) && ban.is_ended_by_lift(Some(now().plus(tick))));
}

#[test]
fn of_two_bans_the_one_that_ends_later_outlasts_the_other() {
    let (short, long) = (ban(mins(2)), ban(mins(4)));
    assert!(short.outlasts(None) && long.outlasts(Some(short)));
    assert!(!short.outlasts(Some(long)) && !short.outlasts(Some(short)));
    let later = Ban { since: now().plus(mins(1)), ..short };
    assert!(later.outlasts(Some(short)) && !short.outlasts(Some(later)), "they end together");
}
