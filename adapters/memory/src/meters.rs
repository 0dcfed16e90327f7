//! What is counted of accounts and keys while they are used, beside the terms on which they are.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use parking_lot::Mutex;
use petstore_domain::{AccountId, Ban, KeyId, Strikes, Timestamp, Windows};
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
        if let Some(until) = key.banned_until(ask.now) {
            return Verdict::Banned { until };
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

/// How a key behaves: its strikes, and the end of its ban as every request looks at it.
pub(crate) struct KeyMeter {
    pub(crate) terms: KeyTerms,
    /// Milliseconds since the epoch; a time long past if there was no ban.
    banned_until: AtomicI64,
    strikes: Mutex<Strikes>,
    /// Whether the key is among those whose ban is to be noted.
    unnoted: AtomicBool,
}

impl Default for KeyMeter {
    fn default() -> Self {
        Self {
            terms: KeyTerms::default(),
            banned_until: AtomicI64::new(i64::MIN),
            strikes: Mutex::default(),
            unnoted: AtomicBool::new(false),
        }
    }
}

impl KeyMeter {
    /// The end of the ban that is in force, if one is.
    pub(crate) fn banned_until(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.banned_until.load(Ordering::Acquire);
        (until > now.as_millis()).then(|| Timestamp::from_millis(until).ok()).flatten()
    }

    /// Counts a strike. False if it is one more than allowed, or if the key is banned by now: its ban has spent them.
    pub(crate) fn strike(&self, reset_secs: u64, allowed: u32, now: Timestamp) -> bool {
        let mut strikes = self.strikes.lock();
        if self.banned_until(now).is_some() {
            return false;
        }
        let next = strikes.strike(reset_secs, allowed);
        *strikes = next.unwrap_or(*strikes);
        next.is_some()
    }

    /// The key's ban has changed. One that begins has spent the strikes that led to it; whoever lifts or replaces one
    /// forgives them.
    pub(crate) fn set_ban(&self, ban: Option<Ban>) {
        let mut strikes = self.strikes.lock();
        *strikes = Strikes::default();
        self.banned_until.store(ban.map_or(i64::MIN, |ban| ban.until.as_millis()), Ordering::Release);
    }

    /// The key's ban is to be noted.
    pub(crate) fn keep_unnoted(&self, key: KeyId, unnoted: &Unnoted<KeyId>) {
        if !self.unnoted.swap(true, Ordering::AcqRel) {
            unnoted.add(key);
        }
    }

    /// The key's ban is about to be read and noted: from now on another one is news again.
    pub(crate) fn note(&self) {
        self.unnoted.store(false, Ordering::Release);
    }
}
