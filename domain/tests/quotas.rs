//! Quotas: the requests that are admitted under any clock, and the usage that a caller is told.

mod common;

use std::collections::BTreeMap;

use petstore_domain::*;
use proptest::collection;
use proptest::prelude::*;

use common::{cases, limits, now};

/// A limit of more requests than any of these tests sends, so that the other window is the binding one.
const PLENTY: u32 = Limit::MAX;

/// Clock readings that go forward, stay, and step back; mostly by seconds, sometimes by hours.
fn readings() -> impl Strategy<Value = Vec<Timestamp>> {
    let step = prop_oneof![
        8 => Just(0),
        4 => 1_000_i64..70_000,
        2 => -70_000_i64..0,
        1 => -90_000_000_i64..90_000_000,
    ];
    collection::vec(step, 1..120).prop_map(|steps| {
        let mut millis = now().as_millis();
        let mut times = Vec::new();
        for step in steps {
            millis += step;
            times.push(Timestamp::from_millis(millis).unwrap());
        }
        times
    })
}

/// The windows as plain counts: the number of requests that each window has admitted, by the number of the window; and
/// the highest number of a window so far.
#[derive(Default)]
struct Counts {
    admitted: BTreeMap<u32, u32>,
    highest: u32,
}

impl Counts {
    fn current(&mut self, kind: WindowKind, now: Timestamp) -> &mut u32 {
        self.highest = self.highest.max(kind.number_at(now));
        self.admitted.entry(self.highest).or_insert(0)
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn exactly_the_limit_is_admitted_under_any_clock(
        times in readings(),
        minute_limit in 1_u32..8,
        day_limit in 1_u32..40,
    ) {
        let limits = limits(minute_limit, day_limit);
        let (mut windows, mut minutes, mut days) = (Windows::default(), Counts::default(), Counts::default());
        for now in times {
            let minute = minutes.current(WindowKind::Minute, now);
            let day = days.current(WindowKind::Day, now);
            let admits = *minute < minute_limit && *day < day_limit;
            let taken = windows.take(now, limits);
            prop_assert_eq!(taken.is_some(), admits, "{} with {:?}", now, windows);
            if let Some(taken) = taken {
                *minute += 1;
                *day += 1;
                windows = taken;
            }
        }
    }

    #[test]
    fn a_window_number_never_falls_and_its_use_never_shrinks(times in readings(), limit in 1_u32..8) {
        let mut windows = Windows::default();
        for now in times {
            let at = windows.at(now);
            let after = windows.take(now, limits(limit, PLENTY)).unwrap_or(at);
            for (before, after) in [(windows.minute, after.minute), (windows.day, after.day)] {
                prop_assert!(after.number() >= before.number());
                prop_assert!(after.number() > before.number() || after.used() >= before.used());
            }
            windows = after;
        }
    }

    #[test]
    fn each_window_admits_its_limit_or_all_that_ask(times in readings(), limit in 1_u32..8) {
        for (kind, limits) in
            [(WindowKind::Minute, limits(limit, PLENTY)), (WindowKind::Day, limits(PLENTY, limit))]
        {
            let (mut windows, mut asked, mut admitted) =
                (Windows::default(), Counts::default(), BTreeMap::new());
            for now in times.iter().copied() {
                *asked.current(kind, now) += 1;
                if let Some(taken) = windows.take(now, limits) {
                    windows = taken;
                    *admitted.entry(asked.highest).or_insert(0) += 1;
                }
            }
            let expected: BTreeMap<u32, u32> =
                asked.admitted.iter().map(|(number, asked)| (*number, limit.min(*asked))).collect();
            prop_assert_eq!(admitted, expected);
        }
    }

    #[test]
    fn usage_adds_up_and_the_window_ends_after_now(times in readings(), minute in 1_u32..8, day in 1_u32..40) {
        let limits = limits(minute, day);
        let mut windows = Windows::default();
        for now in times {
            windows = windows.take(now, limits).unwrap_or(windows.at(now));
            let usage = windows.usage(limits);
            for (kind, window, limit, usage) in [
                (WindowKind::Minute, windows.minute, minute, usage.minute),
                (WindowKind::Day, windows.day, day, usage.day),
            ] {
                prop_assert_eq!(usage.limit, limit);
                prop_assert_eq!(usage.remaining + window.used(), limit);
                prop_assert!(usage.reset_secs > now.as_secs());
                prop_assert_eq!(usage.reset_secs % kind.secs(), 0);
                prop_assert_eq!(usage.reset_secs / kind.secs(), u64::from(window.number()) + 1);
            }
        }
    }

    #[test]
    fn the_binding_window_is_exhausted_or_has_the_fewer_left(minute in 0_u32..4, day in 0_u32..4) {
        let windows = Windows { minute: Window::new(7, 4 - minute), day: Window::new(7, 4 - day) };
        let usage = windows.usage(limits(4, 4));
        let (kind, binding) = usage.binding();
        let (other, own) = match kind {
            WindowKind::Minute => (usage.day, usage.minute),
            WindowKind::Day => (usage.minute, usage.day),
        };
        prop_assert_eq!(binding, own);
        prop_assert!(binding.remaining <= other.remaining);
        if minute == day {
            // If both windows have equally many requests left, the minute binds. If both are exhausted, the day binds,
            // because it ends later.
            let expected = if day == 0 { WindowKind::Day } else { WindowKind::Minute };
            prop_assert_eq!(kind, expected);
        }
    }
}

#[test]
fn windows_begin_and_end_on_the_utc_minute_and_day() {
    let at = |text| Timestamp::parse(text).unwrap();
    let windows = Windows::default().take(at("2030-01-15T12:34:59.999Z"), limits(1, 2)).unwrap();
    assert_eq!(windows.take(at("2030-01-15T12:34:59.999Z"), limits(1, 2)), None);
    let windows = windows.take(at("2030-01-15T12:35:00Z"), limits(1, 2)).unwrap();
    assert_eq!(windows.usage(limits(1, 2)).minute.reset_secs, at("2030-01-15T12:36:00Z").as_secs());
    assert_eq!(windows.usage(limits(1, 2)).day.reset_secs, at("2030-01-16T00:00:00Z").as_secs());
    assert_eq!(windows.take(at("2030-01-15T23:59:59.999Z"), limits(1, 2)), None);
    assert!(windows.take(at("2030-01-16T00:00:00Z"), limits(1, 2)).is_some());
}

#[test]
fn a_request_refused_by_one_window_is_counted_in_neither() {
    for limits in [limits(1, 9), limits(9, 1)] {
        let windows = Windows::default().take(now(), limits).unwrap();
        assert_eq!(windows.take(now(), limits), None);
        assert_eq!((windows.minute.used(), windows.day.used()), (1, 1));
    }
}

#[test]
fn a_change_of_plan_is_in_force_at_once_and_the_used_counts_stay() {
    let mut windows = Windows::default();
    for _ in 0..5 {
        windows = windows.take(now(), limits(5, 50)).unwrap();
    }
    assert_eq!(windows.take(now(), limits(5, 50)), None);
    let usage = windows.usage(limits(3, 30));
    assert_eq!((usage.minute.remaining, usage.day.remaining), (0, 25), "never negative");
    assert_eq!(windows.take(now(), limits(3, 30)), None);
    let raised = windows.take(now(), limits(6, 60)).unwrap();
    assert_eq!(raised.usage(limits(6, 60)).minute.remaining, 0);
    assert_eq!(raised.minute.used(), 6);
}

#[test]
fn each_plan_has_the_limits_of_its_table() {
    let agreed = limits(1, i32::MAX.unsigned_abs());
    for (plan, limits) in [
        (Plan::Free, limits(60, 1_000)),
        (Plan::Pro, limits(300, 10_000)),
        (Plan::Business, limits(1_000, 100_000)),
        (Plan::Enterprise(agreed), agreed),
    ] {
        assert_eq!(PlanTable::SPECIFICATION.limits(&plan), limits, "{plan:?}");
    }
    assert_eq!((Limit::new(0), Limit::new(1 << 31)), (None, None));
}
