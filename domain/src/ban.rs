//! Bans: a key that continues to send requests after refusals is locked out for a time. Each such refusal is a strike.

use std::time::Duration;

use crate::{Limits, Timestamp};

/// The smallest difference between two timestamps.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// The parameters of the ban rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BanPolicy {
    /// The number of strikes that a key may have in one window. If none is given, it is the number of requests that
    /// the plan allows in a minute, but at least [`BanPolicy::STRIKES_MIN`].
    pub strikes: Option<u32>,
    /// The length of the first ban.
    pub length: Duration,
    /// The time after the start of a ban in which a further ban counts as a repetition and lasts twice as long. The
    /// time is at least twice the length of the ban: otherwise a ban of the maximum length would be forgotten at the
    /// moment it ends.
    pub memory: Duration,
    /// The maximum length of a ban.
    pub length_max: Duration,
}

impl BanPolicy {
    /// The number of strikes that even the smallest plan allows.
    pub const STRIKES_MIN: u32 = 10;

    /// Two minutes at first. Each further ban within a day of the last one is twice as long, up to one day.
    pub const DEFAULT: Self = Self {
        strikes: None,
        length: Duration::from_mins(2),
        memory: Duration::from_hours(24),
        length_max: Duration::from_hours(24),
    };

    /// The number of strikes that are allowed for a key with these limits in one window.
    pub fn strikes_allowed(&self, limits: Limits) -> u32 {
        self.strikes.unwrap_or_else(|| limits.minute.get().max(Self::STRIKES_MIN))
    }

    /// Returns the ban that a strike at `now` leads to. `before` is the key's last ban, and `lifted_at` the last time
    /// that an operator lifted one.
    ///
    /// The ban begins after `lifted_at` even if the clock stands still or has stepped back: otherwise the lift, which
    /// ends every earlier ban, would end this one too.
    pub fn next_ban(&self, before: Option<Ban>, lifted_at: Option<Timestamp>, now: Timestamp) -> Ban {
        let further =
            before.filter(|ban| now.since(ban.since) < self.memory.max(ban.length.saturating_mul(2)));
        let length = further.map_or(self.length, |ban| ban.length.saturating_mul(2)).min(self.length_max);
        let since = lifted_at.map_or(now, |lift| now.max(lift.plus(TICK)));
        Ban { since, until: now.plus(length), length }
    }
}

/// A key's ban, in force or over. A key keeps its last ban, because the length of the next one depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ban {
    /// The time of the refusal that began it.
    pub since: Timestamp,
    /// The end of the ban. If an operator has lifted the ban, the end is earlier than `since` plus `length`.
    pub until: Timestamp,
    /// The length that was imposed.
    pub length: Duration,
}

impl Ban {
    /// Returns `true` if the ban is in force at `now`: until its end, even if it begins only after `now`.
    pub fn in_force(&self, now: Timestamp) -> bool {
        now < self.until
    }

    /// Returns whether the ban begins after `now`. Such a ban was recorded by a clock that was ahead.
    pub fn is_ahead_of(&self, now: Timestamp) -> bool {
        self.since > now
    }

    /// Returns `true` if there is a lift at or after the start of the ban, because such a lift ends the ban.
    pub fn is_ended_by_lift(&self, lifted_at: Option<Timestamp>) -> bool {
        lifted_at.is_some_and(|lift| lift >= self.since)
    }

    /// Returns `true` if the ban ends later than the other one, or if there is no other. If both end at the same time,
    /// the ban that began later outlasts the other.
    pub fn outlasts(&self, other: Option<Self>) -> bool {
        other.is_none_or(|other| (other.until, other.since) < (self.until, self.since))
    }

    /// The ban, lifted by an operator.
    #[must_use]
    pub fn lifted(self, now: Timestamp) -> Self {
        Self { until: self.until.min(now), ..self }
    }
}

/// The number of a key's requests that one window has refused. The window is identified by the second in which it
/// ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Strikes {
    /// The end of the window, in seconds since the epoch.
    pub reset_secs: u64,
    /// The number of requests of the key that the window has refused.
    pub count: u32,
}

impl Strikes {
    /// Counts one more refusal by the window that ends at `reset_secs`. Returns none if the count then exceeds
    /// `allowed`.
    pub fn strike(self, reset_secs: u64, allowed: u32) -> Option<Self> {
        let count = if self.reset_secs == reset_secs { self.count } else { 0 };
        (count < allowed).then_some(Self { reset_secs, count: count.saturating_add(1) })
    }
}
