//! The counters: an account's windows and requests in flight, a key's strikes and bans, an address's minute.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::accounts::{Accounts, Ban, Limits};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// The length of the first ban, the time for which a ban is remembered, and the maximum length of a ban.
const BAN: i64 = 2 * MINUTE;
const BAN_MEMORY: i64 = DAY;
const BAN_MAX: i64 = DAY;

/// The minimum number of strikes that a plan allows.
const STRIKES_MIN: u32 = 10;

/// A window: its number, and the requests counted in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Window {
    pub(crate) number: i64,
    pub(crate) used: u32,
}

impl Window {
    /// The window at a time that is in window `number`. A later window than this one begins without requests. If
    /// `number` is not later, this window stays unchanged.
    fn at(self, number: i64) -> Self {
        if number > self.number { Self { number, used: 0 } } else { self }
    }
}

/// The windows of the minute and of the day.
pub(crate) type Windows = [Window; 2];

/// The quota headers: limit, remaining, reset in seconds, and resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QuotaHeaders {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    pub(crate) reset: i64,
    pub(crate) resource: &'static str,
}

/// The verdict on a request at the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Admitted([QuotaHeaders; 2]),
    TooManyInFlight([QuotaHeaders; 2]),
    Exceeded([QuotaHeaders; 2]),
    Banned { until: i64, limit: u32 },
}

/// The settings of the quotas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuotaSettings {
    pub(crate) in_flight: u32,
    pub(crate) address: u32,
    pub(crate) strikes: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Quotas {
    pub(crate) settings: QuotaSettings,
    pub(crate) windows: BTreeMap<u64, Windows>,
    in_flight: BTreeMap<u64, u32>,
    /// For each key, the end of the window that refused its requests, and the number of refusals by that window.
    strikes: BTreeMap<u64, (i64, u32)>,
    /// For each key, the last ban that was decided, whether it is recorded or not.
    bans: BTreeMap<u64, Ban>,
    addresses: BTreeMap<IpAddr, Window>,
}

impl Quotas {
    pub(crate) fn new(settings: QuotaSettings) -> Self {
        Self {
            settings,
            windows: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            strikes: BTreeMap::new(),
            bans: BTreeMap::new(),
            addresses: BTreeMap::new(),
        }
    }

    /// Judges a request, and counts it.
    pub(crate) fn take(&mut self, accounts: &Accounts, key: u64, costs: bool, now: i64) -> Verdict {
        let account = accounts.keys[&key].account;
        let limits = accounts.limits(account);
        let windows = self.windows.get(&account).copied().unwrap_or_default();
        let [minute, day] = [windows[0].at(now / MINUTE), windows[1].at(now / DAY)];
        let in_flight = self.in_flight.get(&account).copied().unwrap_or_default();
        if in_flight >= self.settings.in_flight {
            return Verdict::TooManyInFlight(told([minute, day], limits));
        }
        if let Some(ban) = self.ban(accounts, key).filter(|ban| ban.until > now) {
            return Verdict::Banned { until: ban.until, limit: limits[0] };
        }
        if costs {
            if minute.used >= limits[0] || day.used >= limits[1] {
                let usage = told([minute, day], limits);
                return self.strike(accounts, key, usage, limits, now);
            }
            let after = [Window { used: minute.used + 1, ..minute }, Window { used: day.used + 1, ..day }];
            self.windows.insert(account, after);
        }
        self.in_flight.insert(account, in_flight + 1);
        let shown = self.windows.get(&account).copied().unwrap_or_default();
        Verdict::Admitted(told([shown[0].at(now / MINUTE), shown[1].at(now / DAY)], limits))
    }

    fn strike(
        &mut self,
        accounts: &Accounts,
        key: u64,
        usage: [QuotaHeaders; 2],
        limits: Limits,
        now: i64,
    ) -> Verdict {
        let reset = binding(&usage).reset;
        let allowed = self.settings.strikes.unwrap_or(limits[0].max(STRIKES_MIN));
        let (of, count) = self.strikes.get(&key).copied().unwrap_or_default();
        let count = if of == reset { count } else { 0 };
        if count < allowed {
            self.strikes.insert(key, (reset, count + 1));
            return Verdict::Exceeded(usage);
        }
        // The ban clears the strikes. After its end the count starts at zero, even if the day whose limit was exceeded
        // has not ended.
        self.strikes.remove(&key);
        let further =
            self.ban(accounts, key).filter(|ban| (now - ban.since).max(0) < BAN_MEMORY.max(ban.length * 2));
        let length = further.map_or(BAN, |ban| ban.length * 2).min(BAN_MAX);
        // The ban begins after the last lift, because a lift ends every ban that began before it or at the same time.
        let since = accounts.keys[&key].lifted.map_or(now, |lifted| now.max(lifted + 1));
        self.bans.insert(key, Ban { since, until: now + length, length });
        Verdict::Banned { until: now + length, limit: limits[0] }
    }

    pub(crate) fn leave(&mut self, account: u64) {
        if let Some(count) = self.in_flight.get_mut(&account) {
            *count = count.saturating_sub(1);
        }
    }

    /// The last ban of a key, in force or over. A ban that is not recorded counts unless it was lifted.
    pub(crate) fn ban(&self, accounts: &Accounts, key: u64) -> Option<Ban> {
        let record = &accounts.keys[&key];
        let decided = self.bans.get(&key).copied().filter(|ban| !record.has_lifted(*ban));
        Ban::longer(decided, record.ban)
    }

    /// Clears the strikes of a key after an operator has lifted its ban.
    pub(crate) fn clear_strikes(&mut self, key: u64) {
        self.strikes.remove(&key);
    }

    /// Judges an address. Returns whether it is admitted.
    pub(crate) fn take_address(&mut self, address: IpAddr, costs: bool, now: i64) -> (bool, QuotaHeaders) {
        let limit = self.settings.address;
        let window = self.addresses.entry(address).or_default();
        *window = window.at(now / MINUTE);
        let admitted = !costs || window.used < limit;
        window.used += u32::from(costs && admitted);
        let remaining = limit - window.used;
        (admitted, QuotaHeaders { limit, remaining, reset: (window.number + 1) * 60, resource: "address" })
    }

    /// Clears the state that the ended process had in memory only.
    pub(crate) fn restart(&mut self) {
        self.in_flight.clear();
        self.strikes.clear();
        self.bans.clear();
        self.addresses.clear();
    }
}

fn told([minute, day]: Windows, limits: Limits) -> [QuotaHeaders; 2] {
    let one = |window: Window, limit: u32, secs, resource| QuotaHeaders {
        limit,
        remaining: limit.saturating_sub(window.used),
        reset: (window.number + 1) * secs,
        resource,
    };
    [one(minute, limits[0], 60, "minute"), one(day, limits[1], 86_400, "day")]
}

/// The window that the headers show: an exhausted one (the day first), else the one with fewer requests left.
pub(crate) fn binding([minute, day]: &[QuotaHeaders; 2]) -> &QuotaHeaders {
    if day.remaining == 0 || (minute.remaining > 0 && day.remaining < minute.remaining) {
        day
    } else {
        minute
    }
}
