//! What is counted of accounts and keys while they are used, beside the terms on which they are.

use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use petstore_domain::{AccountId, Ban, KeyRecord, Strikes, Timestamp, Usage, Windows};
use petstore_ports::{Ask, Cost, Verdict};

use crate::directory::Directory;
use crate::slab::{BLOCK, block_of, place_of};
use crate::terms::{KeyTerms, PlanWord};
use crate::unnoted::Unnoted;

/// Meters by slot, made when they are first used. They are not the records': a change of plan leaves the counts.
pub(crate) struct Meters<M> {
    blocks: Directory<[M; BLOCK]>,
}

impl<M: Default> Meters<M> {
    pub(crate) fn new() -> Self {
        Self { blocks: Directory::new() }
    }

    /// The meter of a slot, if it has been made.
    pub(crate) fn find(&self, slot: u32) -> Option<&M> {
        self.blocks.find(block_of(slot)).map(|block| &block[place_of(slot)])
    }

    /// The meter of a slot.
    pub(crate) fn of(&self, slot: u32) -> &M {
        &self.blocks.entry(block_of(slot))[place_of(slot)]
    }
}

/// An account's use of its windows.
///
/// One lock around all of it, held for the arithmetic alone: so a request is judged and counted in one step, by the
/// domain's own functions. On a cache line of its own: other accounts are counted on other cores.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct AccountMeter {
    pub(crate) plan: PlanWord,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    windows: Windows,
    /// Whether the account is among those whose use is to be noted.
    unnoted: bool,
}

impl AccountMeter {
    /// Judges a request, and counts it if it is admitted: then the account is among those that are to be noted.
    pub(crate) fn take(&self, ask: &Ask, key: &KeyMeter, unnoted: &Unnoted<AccountId>) -> Verdict {
        let mut used = self.used.lock();
        let told = |windows: Windows| windows.at(ask.now).usage(ask.limits);
        if let Some(banned) = key.banned(ask) {
            return banned;
        }
        if ask.cost == Cost::One {
            let Some(windows) = used.windows.take(ask.now, ask.limits) else {
                return Verdict::Exceeded(told(used.windows));
            };
            used.windows = windows;
            if !std::mem::replace(&mut used.unnoted, true) {
                unnoted.add(ask.account);
            }
        }
        Verdict::Admitted(told(used.windows))
    }

    /// The windows, to be noted: from now on the next request is news again.
    pub(crate) fn note(&self) -> Windows {
        let mut used = self.used.lock();
        used.unnoted = false;
        used.windows
    }

    /// The windows could not be noted: the account is to be noted still.
    pub(crate) fn keep_unnoted(&self, account: AccountId, unnoted: &Unnoted<AccountId>) {
        if !std::mem::replace(&mut self.used.lock().unnoted, true) {
            unnoted.add(account);
        }
    }

    /// The windows as they are.
    pub(crate) fn windows(&self) -> Windows {
        self.used.lock().windows
    }

    /// The windows are as they were once noted.
    pub(crate) fn restore(&self, windows: Windows) {
        self.used.lock().windows = windows;
    }
}

/// A key's strikes and its ban.
pub(crate) struct KeyMeter {
    pub(crate) terms: KeyTerms,
    /// The end of [`Conduct::ban`] in milliseconds since the epoch, which every request reads; before every timestamp if
    /// there was no ban.
    banned_until: AtomicI64,
    conduct: Mutex<Conduct>,
}

/// The part of a [`KeyMeter`] that changes in one step.
#[derive(Default)]
struct Conduct {
    strikes: Strikes,
    /// The last ban, in force or over, recorded or not.
    ban: Option<Ban>,
    /// The last lift that was seen.
    lifted_at: Option<Timestamp>,
}

impl Default for KeyMeter {
    fn default() -> Self {
        Self { terms: KeyTerms::default(), banned_until: AtomicI64::new(i64::MIN), conduct: Mutex::default() }
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

    /// Counts a refusal by a window, of which `usage` tells, against the key: a strike, or a ban if it was one too many. Says
    /// whether a ban has begun.
    pub(crate) fn strike(&self, ask: &Ask, usage: Usage) -> (Verdict, bool) {
        // A window is exhausted, so the binding one is the one that lifts last.
        let reset_secs = usage.binding().1.reset_secs;
        let allowed = ask.bans.strikes_allowed(ask.limits);
        let mut conduct = self.conduct.lock();
        // Another request may have begun a ban in between.
        if let Some(banned) = conduct.banned(ask) {
            return (banned, false);
        }
        conduct.see_lift(ask.recorded_ban.lifted_at);
        if let Some(strikes) = conduct.strikes.strike(reset_secs, allowed) {
            conduct.strikes = strikes;
            return (Verdict::Exceeded(usage), false);
        }
        let ban = ask.bans.next_ban(conduct.ban, conduct.lifted_at, ask.now);
        // The ban spends the strikes that led to it.
        conduct.strikes = Strikes::default();
        self.set_ban(&mut conduct, Some(ban));
        (Verdict::Banned { until: ban.until, unrecorded: Some(ban) }, true)
    }

    /// Takes over the ban of the key's record, which has changed. A ban that is not recorded yet stays, unless the record
    /// says that it was lifted.
    pub(crate) fn follow(&self, record: &KeyRecord) {
        let mut conduct = self.conduct.lock();
        conduct.see_lift(record.ban_lifted_at);
        let own = conduct.ban.filter(|ban| !ban.is_ended_by_lift(record.ban_lifted_at));
        if let Some(ban) = record.ban.filter(|ban| ban.outlasts(own)) {
            // Another handle may have decided it.
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

    /// Forgets the strikes.
    pub(crate) fn forget_strikes(&self) {
        self.conduct.lock().strikes = Strikes::default();
    }

    /// Forgets all but what the key's record has.
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
    /// Returns the refusal of a request whose key is banned, by the ban decided here or by the recorded one.
    fn banned(&self, ask: &Ask) -> Option<Verdict> {
        let recorded = ask.recorded_ban;
        let own = self.ban.filter(|ban| ban.in_force(ask.now) && !ban.is_ended_by_lift(recorded.lifted_at));
        let until = own.map(|ban| ban.until).max(recorded.until).filter(|until| ask.now < *until)?;
        let unrecorded = own.filter(|ban| recorded.until.is_none_or(|recorded| recorded < ban.until));
        Some(Verdict::Banned { until, unrecorded })
    }

    /// Forgets the strikes that were counted before a lift that was not seen before.
    fn see_lift(&mut self, lifted_at: Option<Timestamp>) {
        if self.lifted_at < lifted_at {
            self.lifted_at = lifted_at;
            self.strikes = Strikes::default();
        }
    }
}
