//! Quotas are exact under concurrency.

mod common;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::*;
use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::*;
use proptest::prelude::*;

const FREE: Limits = PlanTable::SPECIFICATION.free;

fn ask(key: &CreatedKey, limits: Limits, now: Timestamp) -> Ask {
    Ask {
        key: key.key.id,
        account: key.account.id,
        limits,
        cost: Cost::One,
        bans: BanPolicy::DEFAULT,
        recorded_ban: RecordedBan::default(),
        now,
    }
}

/// Asks as the gate does, but records a ban immediately.
fn take(store: &MemoryStore, ask: &Ask) -> Verdict {
    let Credential { recorded_ban, .. } = ready(store.credential(KeyLookup::Id(ask.key))).unwrap().unwrap();
    match ready(store.take(&Ask { recorded_ban, ..*ask })).unwrap() {
        Verdict::Banned { until, unrecorded: Some(ban) } => {
            done(store, BanKey { id: ask.key, ban });
            Verdict::Banned { until, unrecorded: None }
        }
        verdict => verdict,
    }
}

/// Counts of requests that were admitted, refused by a window, or refused by a ban.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
struct Verdicts {
    admitted: u32,
    exceeded: u32,
    banned: u32,
}

fn count_verdicts(store: &MemoryStore, ask: &Ask, requests: u32) -> Verdicts {
    let mut verdicts = Verdicts::default();
    for _ in 0..requests {
        match take(store, ask) {
            Verdict::Admitted(_) => verdicts.admitted += 1,
            Verdict::Exceeded(_) => verdicts.exceeded += 1,
            Verdict::Banned { .. } => verdicts.banned += 1,
        }
    }
    verdicts
}

#[test]
fn a_free_plan_is_admitted_60_refused_60_and_then_banned() {
    let store = MemoryStore::new();
    let key = create_key(&store, 1, Plan::Free);
    let ask = ask(&key, FREE, at(1));
    assert_eq!(count_verdicts(&store, &ask, 120), Verdicts { admitted: 60, exceeded: 60, banned: 0 });
    let until = at(121);
    assert_eq!(take(&store, &ask), Verdict::Banned { until, unrecorded: None });
    let ban = get_key(&store, key.key.id).ban.unwrap();
    assert_eq!((ban.since, ban.until), (at(1), until));
    // Requests during a ban neither count nor prolong it.
    assert_eq!(take(&store, &Ask { now: at(120), ..ask }), Verdict::Banned { until, unrecorded: None });
    let Verdict::Admitted(usage) = take(&store, &Ask { now: at(121), ..ask }) else {
        panic!("the ban is over")
    };
    assert_eq!((usage.minute.remaining, usage.day.remaining), (59, 1_000 - 61));
}

#[test]
fn requests_on_32_threads_are_counted_exactly() {
    for _ in 0..20 {
        let store = MemoryStore::new();
        let key = create_key(&store, 1, Plan::Free);
        let ask = ask(&key, FREE, at(1));
        let verdicts: Vec<Verdicts> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..32).map(|_| scope.spawn(|| count_verdicts(&store, &ask, 8))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let sum = |count: fn(&Verdicts) -> u32| verdicts.iter().map(count).sum::<u32>();
        assert_eq!((sum(|t| t.admitted), sum(|t| t.exceeded), sum(|t| t.banned)), (60, 60, 256 - 120));
        assert_eq!(get_key(&store, key.key.id).ban.unwrap().length, BanPolicy::DEFAULT.length);
    }
}

#[test]
fn concurrent_requests_without_a_strike_left_begin_one_ban() {
    for _ in 0..200 {
        let store = MemoryStore::new();
        let key = create_key(&store, 1, Plan::Free);
        let ask = ask(&key, FREE, at(1));
        assert_eq!(count_verdicts(&store, &ask, 120).banned, 0);
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    assert_eq!(count_verdicts(&store, &ask, 3).banned, 3);
                });
            }
        });
        assert_eq!(get_key(&store, key.key.id).ban.unwrap().length, BanPolicy::DEFAULT.length);
    }
}

#[test]
fn threads_are_admitted_the_smaller_limit_and_a_refusal_counts_in_no_window() {
    for (limits, admitted) in [(limits(50, 1_000), 50), (limits(1_000, 50), 50), (limits(50, 50), 50)] {
        let store = MemoryStore::new();
        let key = create_key(&store, 1, Plan::Free);
        let bans = BanPolicy { strikes: Some(u32::MAX), ..BanPolicy::DEFAULT };
        let ask = Ask { bans, ..ask(&key, limits, at(1)) };
        let sum: u32 = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| count_verdicts(&store, &ask, 20).admitted)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(sum, admitted);
        let Verdict::Admitted(usage) = take(&store, &Ask { cost: Cost::Nothing, ..ask }) else { panic!() };
        assert_eq!(usage.minute.remaining, limits.minute.get() - admitted);
        assert_eq!(usage.day.remaining, limits.day.get() - admitted);
    }
}

proptest! {
    #![proptest_config(cases(128))]

    /// The store computes the same as the domain, also if the clock steps back.
    #[test]
    fn one_at_a_time_the_store_answers_as_the_domain_does(
        minute in 1_u32..5, day in 1_u32..12, steps in proptest::collection::vec((-90_i64..200, any::<bool>()), 1..60),
    ) {
        let store = MemoryStore::new();
        let key = create_key(&store, 1, Plan::Free);
        let limits = limits(minute, day);
        let bans = BanPolicy { strikes: Some(u32::MAX), ..BanPolicy::DEFAULT };
        let (mut windows, mut secs) = (Windows::default(), 80_000);
        for (step, free) in steps {
            secs += step;
            let cost = if free { Cost::Nothing } else { Cost::One };
            let verdict = take(&store, &Ask { bans, cost, ..ask(&key, limits, at(secs)) });
            let expected = match windows.take(at(secs), limits) {
                _ if free => Verdict::Admitted(windows.at(at(secs)).usage(limits)),
                Some(taken) => {
                    windows = taken;
                    Verdict::Admitted(taken.usage(limits))
                }
                None => Verdict::Exceeded(windows.at(at(secs)).usage(limits)),
            };
            prop_assert_eq!(verdict, expected, "at {}", secs);
        }
    }
}

#[test]
fn a_free_request_is_admitted_by_exhausted_windows_but_not_by_a_ban() {
    let store = MemoryStore::new();
    let key = create_key(&store, 1, Plan::Free);
    let ask = ask(&key, limits(1, 1), at(1));
    let free = Ask { cost: Cost::Nothing, ..ask };
    assert_eq!(count_verdicts(&store, &ask, 1 + BanPolicy::STRIKES_MIN).admitted, 1);
    assert_eq!(count_verdicts(&store, &free, 50).admitted, 50);
    assert!(matches!(take(&store, &ask), Verdict::Banned { .. }));
    assert_eq!(count_verdicts(&store, &free, 1).banned, 1);
}

#[test]
fn a_strike_counts_until_the_reset_of_the_window_that_resets_last() {
    let store = MemoryStore::new();
    let key = create_key(&store, 1, Plan::Free);
    let limits = limits(5, 8);
    // The minute refuses ten times. These strikes are forgotten in the next minute.
    assert_eq!(
        count_verdicts(&store, &ask(&key, limits, at(0)), 15),
        Verdicts { admitted: 5, exceeded: 10, banned: 0 }
    );
    // The day refuses from now on: its strikes add up over several minutes.
    assert_eq!(
        count_verdicts(&store, &ask(&key, limits, at(60)), 8),
        Verdicts { admitted: 3, exceeded: 5, banned: 0 }
    );
    assert_eq!(
        count_verdicts(&store, &ask(&key, limits, at(120)), 5),
        Verdicts { exceeded: 5, ..Verdicts::default() }
    );
    assert_eq!(
        count_verdicts(&store, &ask(&key, limits, at(180)), 1),
        Verdicts { banned: 1, ..Verdicts::default() }
    );
}

#[test]
fn a_further_ban_lasts_twice_as_long_and_a_lift_resets_the_strikes() {
    let store = MemoryStore::new();
    let key = create_key(&store, 1, Plan::Free);
    let ban = |store: &MemoryStore| get_key(store, key.key.id).ban.unwrap();
    assert_eq!(count_verdicts(&store, &ask(&key, FREE, at(0)), 121).banned, 1);
    assert_eq!(ban(&store).length, Duration::from_mins(2));
    assert_eq!(count_verdicts(&store, &ask(&key, FREE, at(180)), 121).banned, 1);
    assert_eq!(ban(&store).length, Duration::from_mins(4));
    let lifted = done(&store, LiftBan { id: key.key.id, now: at(190) });
    assert_eq!(lifted.ban.unwrap().until, at(190));
    // All strikes are available again, in the same minute.
    let after = count_verdicts(&store, &ask(&key, FREE, at(190)), 61);
    assert_eq!(after, Verdicts { admitted: 0, exceeded: 60, banned: 1 });
    assert_eq!(ban(&store).length, Duration::from_mins(8));
}

#[test]
fn concurrent_lifts_leave_the_ban_and_the_verdict_consistent() {
    let store = MemoryStore::new();
    let key = create_key(&store, 1, Plan::Free);
    let ask = ask(&key, limits(1, Limit::MAX), at(1));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                done(&store, LiftBan { id: key.key.id, now: at(1) });
            }
        });
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| count_verdicts(&store, &ask, 3_000));
            }
        });
        over.store(true, Ordering::Relaxed);
    });
    let banned = get_key(&store, key.key.id).ban.is_some_and(|ban| ban.in_force(at(1)));
    let free = Ask { cost: Cost::Nothing, ..ask };
    assert_eq!(matches!(take(&store, &free), Verdict::Banned { .. }), banned);
}

#[test]
fn a_ban_belongs_to_the_key_and_the_windows_to_the_account() {
    let store = MemoryStore::new();
    let first = create_key(&store, 1, Plan::Free);
    let second = done(
        &store,
        CreateKey {
            holder: KeyHolder::Named { name: first.account.name.clone(), plan: None },
            digest: KeyDigest([2; 32]),
            prefix: first.key.prefix,
            label: first.key.label.clone(),
            scopes: Scopes::DEFAULT,
            expires_at: None,
            now: at(0),
        },
    );
    assert_eq!(second.account, first.account);
    assert_eq!(count_verdicts(&store, &ask(&first, FREE, at(1)), 121).banned, 1);
    assert!(matches!(take(&store, &ask(&second, FREE, at(1))), Verdict::Exceeded(_)));
    assert!(matches!(take(&store, &ask(&first, FREE, at(61))), Verdict::Banned { .. }));
    assert!(matches!(take(&store, &ask(&second, FREE, at(61))), Verdict::Admitted(_)));
}

#[test]
fn a_change_of_plan_or_key_leaves_the_counts_and_the_strikes() {
    let store = MemoryStore::new();
    let key = create_key(&store, 1, Plan::Free);
    assert_eq!(count_verdicts(&store, &ask(&key, FREE, at(1)), 100).exceeded, 40);
    done(&store, UpdateAccount { id: key.account.id, name: None, plan: Some(Plan::Pro) });
    let label = Some(KeyLabel::parse("renamed").unwrap());
    done(&store, UpdateKey { id: key.key.id, patch: KeyPatch { label, ..KeyPatch::default() } });
    let pro = PlanTable::SPECIFICATION.pro;
    let Verdict::Admitted(usage) = take(&store, &ask(&key, pro, at(1))) else { panic!("240 are left") };
    assert_eq!(usage.minute.remaining, 300 - 61);
    assert_eq!(
        count_verdicts(&store, &ask(&key, FREE, at(1)), 21),
        Verdicts { admitted: 0, exceeded: 20, banned: 1 }
    );
}

#[test]
fn a_key_that_is_made_banned_is_banned() {
    let store = MemoryStore::new();
    let key = create_key(&store, 1, Plan::Free);
    count_verdicts(&store, &ask(&key, FREE, at(1)), 121);
    let rotated = done(
        &store,
        RotateKey {
            id: key.key.id,
            overlap: Duration::ZERO,
            digest: KeyDigest([9; 32]),
            prefix: key.key.prefix,
            now: at(2),
        },
    );
    let ask = Ask { key: rotated.id, ..ask(&key, FREE, at(61)) };
    assert!(matches!(take(&store, &ask), Verdict::Banned { .. }));
}

#[test]
fn an_address_is_admitted_its_limit() {
    let store = MemoryStore::new();
    let address = "192.0.2.1".parse().unwrap();
    let limit = Limit::new(300).unwrap();
    let take = |_: &u32| ready(store.take_address(address, limit, Cost::One, at(1))).unwrap().admitted;
    assert_eq!((0..400).filter(take).count(), 300);
}

#[test]
fn a_ban_is_in_force_before_it_is_recorded_and_until_it_is_lifted() {
    let store = MemoryStore::new();
    let key = create_key(&store, 1, Plan::Free);
    let bans = BanPolicy { strikes: Some(0), ..BanPolicy::DEFAULT };
    let ask = Ask { bans, ..ask(&key, limits(1, Limit::MAX), at(1)) };
    assert!(matches!(take(&store, &ask), Verdict::Admitted(_)));
    let ban = Ban { since: at(1), until: at(121), length: Duration::from_mins(2) };
    let banned = Verdict::Banned { until: at(121), unrecorded: Some(ban) };
    for _ in 0..3 {
        assert_eq!(ready(store.take(&ask)), Ok(banned));
    }
    assert_eq!(get_key(&store, key.key.id).ban, None);
    // Another change of the key's record leaves the ban in force.
    let label = Some(KeyLabel::parse("renamed").unwrap());
    done(&store, UpdateKey { id: key.key.id, patch: KeyPatch { label, ..KeyPatch::default() } });
    assert_eq!(ready(store.take(&ask)), Ok(banned));
    done(&store, LiftBan { id: key.key.id, now: at(2) });
    let later = Ask { now: at(60), ..ask };
    assert!(matches!(take(&store, &later), Verdict::Admitted(_)), "the lift is seen at once");
    assert_eq!(done(&store, BanKey { id: key.key.id, ban }).ban, None, "the ban comes late");
    let free = Ask { cost: Cost::Nothing, ..later };
    assert!(matches!(take(&store, &free), Verdict::Admitted(_)));
}

#[test]
fn a_ban_or_a_lift_of_another_store_is_followed() {
    let (keys, quotas) = (MemoryStore::new(), MemoryStore::new());
    let key = create_key(&keys, 1, Plan::Free);
    let bans = BanPolicy { strikes: Some(1), ..BanPolicy::DEFAULT };
    let request = |recorded_ban| Ask { bans, recorded_ban, ..ask(&key, limits(60, 1), at(1)) };
    let take = |until, lifted_at| ready(quotas.take(&request(RecordedBan { until, lifted_at }))).unwrap();
    let banned = |until| Verdict::Banned { until, unrecorded: None };
    assert_eq!(take(Some(at(9)), None), banned(at(9)), "another store has decided it");
    assert!(matches!(take(None, None), Verdict::Admitted(_)));
    assert!(matches!(take(None, None), Verdict::Exceeded(_)), "a strike");
    assert!(matches!(take(None, Some(at(1))), Verdict::Exceeded(_)), "the lift forgets that strike");
    let begun = take(None, Some(at(1)));
    let Verdict::Banned { until, unrecorded: Some(ban) } = begun else { panic!("{begun:?}") };
    assert_eq!((until, ban.since), (at(121), at(1).plus(Duration::from_millis(1))));
    assert_eq!(take(Some(until), Some(at(1))), banned(until), "it is recorded now");
    assert_eq!(take(None, Some(at(1))), begun, "it is not recorded");
    assert!(matches!(take(None, Some(ban.since)), Verdict::Exceeded(_)), "it is lifted");
}
