//! Quotas: the requests of an account are counted in two fixed windows, the UTC minute and the UTC day.
//!
//! Pure arithmetic. A store keeps an account's [`Windows`] and changes both in one atomic step with these functions.

use std::time::Duration;

use crate::{Limit, Limits, Timestamp};

/// The spans for which requests are counted. They begin at fixed times, the same for all accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowKind {
    /// 60 seconds, from the first second of a minute on.
    Minute,
    /// 86,400 seconds, from midnight in UTC on.
    Day,
}

impl WindowKind {
    /// The length of a window, in seconds.
    pub const fn secs(self) -> u64 {
        match self {
            Self::Minute => 60,
            Self::Day => 86_400,
        }
    }

    /// The number of the window that a time falls in, counted from 1970.
    pub fn number_at(self, now: Timestamp) -> u32 {
        // The number of a minute fits 32 bits until the year 10136, which is after `Timestamp::MAX`.
        u32::try_from(now.as_secs() / self.secs()).unwrap_or(u32::MAX)
    }
}

/// A window, and the count of the requests that it has admitted. [`WindowKind::number_at`] numbers the windows.
///
/// An account never returns to a window with a lower number: after the clock has stepped back, the later window stays
/// in force and keeps its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    number: u32,
    used: u32,
}

impl Window {
    /// A window with this number and this many admitted requests, as a store saved them.
    pub const fn new(number: u32, used: u32) -> Self {
        Self { number, used }
    }

    /// The number of the window, counted from 1970.
    pub const fn number(self) -> u32 {
        self.number
    }

    /// Requests it has admitted.
    pub const fn used(self) -> u32 {
        self.used
    }

    /// The window in force when the clock is in window `number`: a new one if `number` is higher, otherwise this one.
    #[must_use]
    pub const fn at(self, number: u32) -> Self {
        if number > self.number { Self { number, used: 0 } } else { self }
    }

    /// The window after one more request; none if the window admits no more.
    pub const fn take(self, limit: Limit) -> Option<Self> {
        if self.used < limit.get() { Some(Self { number: self.number, used: self.used + 1 }) } else { None }
    }

    /// The window with no request left.
    #[must_use]
    pub const fn exhausted(self, limit: Limit) -> Self {
        if self.used < limit.get() { Self { number: self.number, used: limit.get() } } else { self }
    }

    /// Returns the usage that is reported to the caller.
    pub fn usage(self, kind: WindowKind, limit: Limit) -> WindowUsage {
        WindowUsage {
            limit: limit.get(),
            remaining: limit.get().saturating_sub(self.used),
            reset_secs: (u64::from(self.number) + 1) * kind.secs(),
        }
    }
}

/// The usage of one window, as reported to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowUsage {
    /// Requests that it admits.
    pub limit: u32,
    /// Requests that are left.
    pub remaining: u32,
    /// When it ends, in seconds since the epoch.
    pub reset_secs: u64,
}

/// The usage of both windows of an account, as reported to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// The requests of the current minute, in UTC.
    pub minute: WindowUsage,
    /// The requests of the current day, in UTC.
    pub day: WindowUsage,
}

impl Usage {
    /// The window that limits the caller. An exhausted window comes first, the day before the minute. Otherwise it is
    /// the window with fewer requests left, and the minute if both have equally many left.
    pub const fn binding(&self) -> (WindowKind, WindowUsage) {
        let day_binds = self.day.remaining == 0
            || (self.minute.remaining != 0 && self.day.remaining < self.minute.remaining);
        if day_binds { (WindowKind::Day, self.day) } else { (WindowKind::Minute, self.minute) }
    }
}

/// Both windows of an account. A store checks and counts both in one atomic step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Windows {
    /// The latest minute with a request.
    pub minute: Window,
    /// The latest day with a request.
    pub day: Window,
}

impl Windows {
    /// The windows in force at a time.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Self {
        Self {
            minute: self.minute.at(WindowKind::Minute.number_at(now)),
            day: self.day.at(WindowKind::Day.number_at(now)),
        }
    }

    /// Returns whether either window begins after `now`. Such a window was begun by a clock that was ahead.
    pub fn are_ahead_of(self, now: Timestamp) -> bool {
        self.minute.number() > WindowKind::Minute.number_at(now)
            || self.day.number() > WindowKind::Day.number_at(now)
    }

    /// The windows without one that begins later than the next window does, by more than `skew`. For stores whose clock is not
    /// that of the nodes: if both clocks show `now`, such a window was begun by a clock that was wrong then, and would refuse
    /// requests until its time comes.
    #[must_use]
    pub fn without_misplaced(self, now: Timestamp, skew: Duration) -> Self {
        let keep = |window: Window, kind: WindowKind| {
            let begin = Duration::from_secs(u64::from(window.number()) * kind.secs());
            let latest = now.plus(Duration::from_secs(kind.secs())).plus(skew);
            let is_later = window.number() > kind.number_at(now) && Timestamp::EPOCH.plus(begin) > latest;
            if is_later { Window::default() } else { window }
        };
        Self { minute: keep(self.minute, WindowKind::Minute), day: keep(self.day, WindowKind::Day) }
    }

    /// The windows after one more request at this time, counted in both; or none if either admits no more.
    pub fn take(self, now: Timestamp, limits: Limits) -> Option<Self> {
        let current = self.at(now);
        Some(Self { minute: current.minute.take(limits.minute)?, day: current.day.take(limits.day)? })
    }

    /// The windows at this time, one of them with no request left.
    #[must_use]
    pub fn exhausted(self, kind: WindowKind, now: Timestamp, limits: Limits) -> Self {
        let current = self.at(now);
        match kind {
            WindowKind::Minute => Self { minute: current.minute.exhausted(limits.minute), ..current },
            WindowKind::Day => Self { day: current.day.exhausted(limits.day), ..current },
        }
    }

    /// Returns the usage that is reported to the caller.
    pub fn usage(self, limits: Limits) -> Usage {
        Usage {
            minute: self.minute.usage(WindowKind::Minute, limits.minute),
            day: self.day.usage(WindowKind::Day, limits.day),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_further_ahead_than_one_window_and_the_skew_is_dropped() {
        let at = |millis| Timestamp::from_millis(millis).unwrap();
        let skew = Duration::from_secs(2);
        // The window begins at 90,000 s, and the day at 86,400 s.
        let windows = Windows { minute: Window::new(1_500, 3), day: Window::new(1, 4) };
        assert_eq!(windows.without_misplaced(at(89_938_000), skew), windows);
        // So one that is used up refuses requests for at most two windows and the skew.
        let limits = Limits { minute: Limit::new(3).unwrap(), day: Limit::new(9).unwrap() };
        assert!(
            windows.take(at(90_059_999), limits).is_none() && windows.take(at(90_060_000), limits).is_some()
        );
        let dropped = windows.without_misplaced(at(89_937_999), skew);
        assert_eq!(dropped, Windows { minute: Window::default(), ..windows });
        assert_eq!(windows.without_misplaced(at(-2_001), skew), Windows::default());
        assert_eq!(Windows::default().without_misplaced(at(-100_000_000), skew), Windows::default());
    }

    #[test]
    fn windows_are_ahead_of_a_time_before_them() {
        let at = |secs: i64| Timestamp::from_millis(secs * 1_000).unwrap();
        let limits = Limits { minute: Limit::new(2).unwrap(), day: Limit::new(2).unwrap() };
        let used = Windows::default().take(at(90_000), limits).unwrap();
        assert!(
            !used.are_ahead_of(at(90_000))
                && !used.are_ahead_of(at(90_059))
                && !used.are_ahead_of(at(200_000))
        );
        assert!(used.are_ahead_of(at(89_999)), "the minute");
        assert!(used.are_ahead_of(at(0)), "the day, too");
        assert!(!Windows::default().are_ahead_of(at(0)), "nothing was counted");
    }

    #[test]
    fn an_exhausted_window_admits_nothing_until_its_end_and_the_other_one_stays() {
        let at = |secs: i64| Timestamp::from_millis(secs * 1_000).unwrap();
        let limits = Limits { minute: Limit::new(2).unwrap(), day: Limit::new(5).unwrap() };
        let used = Windows::default().take(at(90_000), limits).unwrap();
        let minute = used.exhausted(WindowKind::Minute, at(90_001), limits);
        assert_eq!(minute.take(at(90_001), limits), None);
        assert_eq!(minute.usage(limits).day.remaining, 4);
        assert!(minute.take(at(90_060), limits).is_some());
        let day = used.exhausted(WindowKind::Day, at(90_060), limits);
        assert_eq!(day.usage(limits).minute.remaining, 2, "another minute has begun");
        assert_eq!(day.take(at(172_799), limits), None);
        assert!(day.take(at(172_800), limits).is_some());
    }

    fn usage(minute: u32, day: u32) -> Usage {
        let window = |remaining, reset_secs| WindowUsage { limit: 100, remaining, reset_secs };
        Usage { minute: window(minute, 60), day: window(day, 86_400) }
    }

    #[test]
    fn the_binding_window_is_the_one_that_stops_the_caller_first() {
        use WindowKind::{Day, Minute};
        for (minute, day, binding) in
            [(5, 9, Minute), (9, 5, Day), (5, 5, Minute), (0, 5, Minute), (5, 0, Day), (0, 0, Day)]
        {
            assert_eq!(usage(minute, day).binding().0, binding, "{minute} a minute, {day} a day");
        }
    }
}
