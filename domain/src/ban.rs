//! Bans: a key that goes on sending requests after refusals is locked out for a time.

use std::time::Duration;

use crate::{Limits, Timestamp};

/// The smallest difference between two timestamps.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// The parameters of the ban rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BanPolicy {
    /// Strikes that a key may have in one window. None: as many as the plan has requests a minute, and at least
    /// [`BanPolicy::STRIKES_MIN`].
    pub strikes: Option<u32>,
    /// The length of the first ban.
    pub length: Duration,
    /// The time after the start of a ban within which the next one counts as a repetition and lasts twice as
    /// long. It is at least twice the length of the ban: otherwise the longest ban would be forgotten the
    /// moment it ends.
    pub memory: Duration,
    /// The maximum length of a ban.
    pub length_max: Duration,
}

impl BanPolicy {
    /// The number of strikes that even the smallest plan allows.
    pub const STRIKES_MIN: u32 = 10;

    /// Two minutes, doubled within a day, at most a day.
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
    /// It begins after `lifted_at` even if the clock stands still or has stepped back: otherwise the lift, which ends
    /// every earlier ban, would end this one too.
    pub fn next_ban(&self, before: Option<Ban>, lifted_at: Option<Timestamp>, now: Timestamp) -> Ban {
        let further =
            before.filter(|ban| now.since(ban.since) < self.memory.max(ban.length.saturating_mul(2)));
        let length = further.map_or(self.length, |ban| ban.length.saturating_mul(2)).min(self.length_max);
        let since = lifted_at.map_or(now, |lift| now.max(lift.plus(TICK)));
        Ban { since, until: now.plus(length), length }
    }
}

/// A key's ban, in force or over. The last one is kept: the next one's length depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ban {
    /// When it began.
    pub since: Timestamp,
    /// The end. If an operator has lifted the ban, it is earlier than `since` plus `length`.
    pub until: Timestamp,
    /// The length that was imposed.
    pub length: Duration,
}

impl Ban {
    /// Returns whether it is in force.
    pub fn in_force(&self, now: Timestamp) -> bool {
        now < self.until
    }

    /// Returns whether it begins after `now`. Such a ban was recorded by a clock that was ahead.
    pub fn is_ahead_of(&self, now: Timestamp) -> bool {
        self.since > now
    }

    /// Returns whether a lift at this time ends it: one at or after its start does.
    pub fn is_ended_by_lift(&self, lifted_at: Option<Timestamp>) -> bool {
        lifted_at.is_some_and(|lift| lift >= self.since)
    }

    /// Returns whether it outlasts another one. Of two bans that end together, the later one does.
    pub fn outlasts(&self, other: Option<Self>) -> bool {
        other.is_none_or(|other| (other.until, other.since) < (self.until, self.since))
    }

    /// The ban, lifted by an operator.
    #[must_use]
    pub fn lifted(self, now: Timestamp) -> Self {
        Self { until: self.until.min(now), ..self }
    }
}

/// The refusals that a key has collected in one window, named by the second in which the window ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Strikes {
    /// When the window ends, in seconds since the epoch.
    pub reset_secs: u64,
    /// Refusals of this key by that window.
    pub count: u32,
}

impl Strikes {
    /// Counts one more refusal by the window that ends at `reset_secs`. Returns none if that exceeds `allowed`.
    pub fn strike(self, reset_secs: u64, allowed: u32) -> Option<Self> {
        let count = if self.reset_secs == reset_secs { self.count } else { 0 };
        (count < allowed).then_some(Self { reset_secs, count: count.saturating_add(1) })
    }
}
