//! The usage of accounts, and the strikes and bans of keys. Both are stored beside the packed credential fields.

use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use petstore_domain::{AccountId, Ban, KeyRecord, Strikes, Timestamp, Usage, WindowKind, Windows};
use petstore_ports::{Ask, Cost, Verdict};

use crate::directory::Directory;
use crate::dirty_set::DirtySet;
use crate::packed_credentials::{PackedKey, PackedPlan};
use crate::slab::{BLOCK, block_of, first_slot, place_of};

/// Meters by slot, created on first use. The meters are not part of the records, so a change of an account's plan does
/// not reset the account's counts.
pub(crate) struct UsageMeters<M> {
    blocks: Directory<[M; BLOCK]>,
}

impl<M: Default> UsageMeters<M> {
    pub(crate) fn new() -> Self {
        Self { blocks: Directory::new() }
    }

    /// The meter of a slot, if it exists.
    pub(crate) fn find(&self, slot: u32) -> Option<&M> {
        self.blocks.find(block_of(slot)).map(|block| &block[place_of(slot)])
    }

    /// All meters, each with its slot.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &M)> {
        self.blocks.all().flat_map(|(block, meters)| (first_slot(block)..).zip(meters))
    }

    /// The meter of a slot, created if necessary.
    pub(crate) fn of(&self, slot: u32) -> &M {
        &self.blocks.entry(block_of(slot))[place_of(slot)]
    }
}

/// The usage of an account: its windows.
///
/// One lock covers all windows, so that a request is admitted and counted in one step. The lock is held only for the
/// arithmetic of the domain's functions. Each meter has its own cache line, because other cores count the requests of
/// other accounts at the same time.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct AccountMeter {
    pub(crate) plan: PackedPlan,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    windows: Windows,
    /// True if the account is in the set of dirty accounts.
    is_dirty: bool,
}

impl Used {
    /// Sets the windows after a request, and makes the account dirty.
    #[inline]
    fn set(&mut self, windows: Windows, account: AccountId, dirty: &DirtySet<AccountId>) {
        self.windows = windows;
        if !std::mem::replace(&mut self.is_dirty, true) {
            dirty.add(account);
        }
    }

    /// Uses up the rest of a window, which only a sandbox asks for.
    #[cold]
    fn exhaust(&mut self, kind: WindowKind, ask: &Ask, dirty: &DirtySet<AccountId>) -> Verdict {
        let windows = self.windows.exhausted(kind, ask.now, ask.limits);
        self.set(windows, ask.account, dirty);
        Verdict::Admitted(windows.usage(ask.limits))
    }
}

impl AccountMeter {
    /// Decides whether to admit a request. An admitted request is counted and makes the account dirty, unless it costs
    /// nothing.
    pub(crate) fn take(&self, ask: &Ask, key: &KeyMeter, dirty: &DirtySet<AccountId>) -> Verdict {
        let mut used = self.used.lock();
        let told = |windows: Windows| windows.at(ask.now).usage(ask.limits);
        if let Some(banned) = key.banned(ask) {
            return banned;
        }
        if matches!(ask.cost, Cost::One) {
            let Some(windows) = used.windows.take(ask.now, ask.limits) else {
                return Verdict::Exceeded(told(used.windows));
            };
            used.set(windows, ask.account, dirty);
        } else if let Cost::Rest(kind) = ask.cost {
            return used.exhaust(kind, ask, dirty);
        }
        Verdict::Admitted(told(used.windows))
    }

    /// Returns the windows to be written to the journal, and marks the account as not dirty. The next request makes the
    /// account dirty again.
    pub(crate) fn take_windows(&self) -> Windows {
        let mut used = self.used.lock();
        used.is_dirty = false;
        used.windows
    }

    /// Makes the account dirty. Used when its windows were changed without a request, and when they could not be
    /// written.
    pub(crate) fn mark_dirty(&self, account: AccountId, dirty: &DirtySet<AccountId>) {
        if !std::mem::replace(&mut self.used.lock().is_dirty, true) {
            dirty.add(account);
        }
    }

    pub(crate) fn windows(&self) -> Windows {
        self.used.lock().windows
    }

    /// Sets the windows.
    pub(crate) fn restore(&self, windows: Windows) {
        self.used.lock().windows = windows;
    }
}

/// A key's strikes and its ban.
pub(crate) struct KeyMeter {
    pub(crate) credential: PackedKey,
    /// The end of [`Conduct::ban`] in milliseconds since the epoch. Every request reads this value. Without a ban it is
    /// less than every timestamp.
    banned_until: AtomicI64,
    conduct: Mutex<Conduct>,
}

/// The part of a [`KeyMeter`] that changes in one step.
#[derive(Default)]
struct Conduct {
    strikes: Strikes,
    /// The last ban, in force or over, recorded or not.
    ban: Option<Ban>,
    /// The time of the last lift (the end of a ban by an operator) that was seen in the key's record.
    lifted_at: Option<Timestamp>,
}

impl Default for KeyMeter {
    fn default() -> Self {
        Self {
            credential: PackedKey::default(),
            banned_until: AtomicI64::new(i64::MIN),
            conduct: Mutex::default(),
        }
    }
}

impl KeyMeter {
    /// Returns the refusal of a request whose key is banned.
    pub(crate) fn banned(&self, ask: &Ask) -> Option<Verdict> {
        let is_recorded = ask.recorded_ban.until.is_some_and(|until| ask.now < until);
        let may_be_banned = ask.now.as_millis() < self.banned_until.load(Ordering::Acquire);
        if !is_recorded && !may_be_banned {
            return None;
        }
        self.conduct.lock().banned(ask)
    }

    /// Counts a request that a window refused. It counts as a strike of the key or, if no strike is left, begins a ban.
    /// Returns the verdict, and `true` if this call began a ban.
    pub(crate) fn strike(&self, ask: &Ask, usage: Usage) -> (Verdict, bool) {
        // One window is exhausted, and `binding` returns it. If both are exhausted, it returns the window that resets
        // last.
        let reset_secs = usage.binding().1.reset_secs;
        let allowed = ask.bans.strikes_allowed(ask.limits);
        let mut conduct = self.conduct.lock();
        // Another request may have begun a ban before the lock was taken.
        if let Some(banned) = conduct.banned(ask) {
            return (banned, false);
        }
        conduct.see_lift(ask.recorded_ban.lifted_at);
        if let Some(strikes) = conduct.strikes.strike(reset_secs, allowed) {
            conduct.strikes = strikes;
            return (Verdict::Exceeded(usage), false);
        }
        let ban = ask.bans.next_ban(conduct.ban, conduct.lifted_at, ask.now);
        // A ban clears the strikes that led to it.
        conduct.strikes = Strikes::default();
        self.set_ban(&mut conduct, Some(ban));
        (Verdict::Banned { until: ban.until, unrecorded: Some(ban) }, true)
    }

    /// Applies a change of the key's record to the ban. A ban that is not in the record yet stays in force, unless the
    /// record has a later lift.
    pub(crate) fn follow(&self, record: &KeyRecord) {
        let mut conduct = self.conduct.lock();
        conduct.see_lift(record.ban_lifted_at);
        let own = conduct.ban.filter(|ban| !ban.is_ended_by_lift(record.ban_lifted_at));
        if let Some(ban) = record.ban.filter(|ban| ban.outlasts(own)) {
            // Another handle of the store may have decided this ban.
            conduct.strikes = Strikes::default();
            self.set_ban(&mut conduct, Some(ban));
        } else {
            self.set_ban(&mut conduct, own);
        }
    }

    /// The start of the last ban.
    pub(crate) fn ban_since(&self) -> Option<Timestamp> {
        self.conduct.lock().ban.map(|ban| ban.since)
    }

    pub(crate) fn forget_strikes(&self) {
        self.conduct.lock().strikes = Strikes::default();
    }

    /// Forgets strikes, bans and lifts.
    pub(crate) fn forget_conduct(&self) {
        let mut conduct = self.conduct.lock();
        *conduct = Conduct::default();
        self.set_ban(&mut conduct, None);
    }

    /// Sets ban and lift to those of the key's record, and forgets the strikes.
    pub(crate) fn begin_with(&self, record: &KeyRecord) {
        let mut conduct = self.conduct.lock();
        *conduct = Conduct { lifted_at: record.ban_lifted_at, ..Conduct::default() };
        self.set_ban(&mut conduct, record.ban);
    }

    fn set_ban(&self, conduct: &mut Conduct, ban: Option<Ban>) {
        conduct.ban = ban;
        self.banned_until.store(ban.map_or(i64::MIN, |ban| ban.until.as_millis()), Ordering::Release);
    }
}

impl Conduct {
    /// Returns the refusal of a request whose key is banned. The ban may be the one decided here, or the one in the
    /// key's record.
    fn banned(&self, ask: &Ask) -> Option<Verdict> {
        let recorded = ask.recorded_ban;
        let own = self.ban.filter(|ban| ban.in_force(ask.now) && !ban.is_ended_by_lift(recorded.lifted_at));
        let until = own.map(|ban| ban.until).max(recorded.until).filter(|until| ask.now < *until)?;
        let unrecorded = own.filter(|ban| recorded.until.is_none_or(|recorded| recorded < ban.until));
        Some(Verdict::Banned { until, unrecorded })
    }

    /// Records the time of a lift. If the lift is new, resets the strikes.
    fn see_lift(&mut self, lifted_at: Option<Timestamp>) {
        if self.lifted_at < lifted_at {
            self.lifted_at = lifted_at;
            self.strikes = Strikes::default();
        }
    }
}
