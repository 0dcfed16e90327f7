//! Quotas and bans: the domain's arithmetic on plain values.

use std::collections::BTreeMap;
use std::net::IpAddr;

use petstore_domain::{AccountId, Ban, KeyId, Limit, Limits, Strikes, Timestamp, Usage, Windows};
use petstore_ports::{AddressLimits, AddressVerdict, Ask, Cost, Quotas, Reply, StoreError, Verdict};

use super::{Bug, ReferenceStore, State};

/// All counters. Bans are not here: they are part of the key's record.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) windows: BTreeMap<AccountId, Windows>,
    pub(super) strikes: BTreeMap<KeyId, Strikes>,
}

impl Counters {
    /// Clears the strikes of a key.
    pub(super) fn forgive(&mut self, key: KeyId) {
        self.strikes.remove(&key);
    }
}

impl State {
    pub(super) fn take(&mut self, ask: &Ask) -> Verdict {
        let windows = self.windows(ask.account);
        if let Some(ban) = self.ban(ask.key).filter(|ban| ban.in_force(ask.now)) {
            return Verdict::Banned { until: ban.until };
        }
        let after = match ask.cost {
            Cost::Nothing => windows.at(ask.now),
            Cost::One => match windows.take(ask.now, ask.limits) {
                Some(after) => after,
                None => return self.strike(ask, windows),
            },
        };
        if ask.cost == Cost::One {
            self.counters.windows.insert(ask.account, after);
        }
        Verdict::Admitted(after.usage(ask.limits))
    }

    /// Counts a refusal by a window: a strike, or a ban in its place.
    pub(super) fn strike(&mut self, ask: &Ask, windows: Windows) -> Verdict {
        let usage = windows.at(ask.now).usage(ask.limits);
        let strikes = self.counters.strikes.entry(ask.key).or_default();
        let allowed = ask.bans.strikes_allowed(ask.limits);
        if let Some(more) = strikes.strike(usage.binding().1.reset_secs, allowed) {
            *strikes = more;
            return Verdict::Exceeded(usage);
        }
        let ban = ask.bans.next_ban(self.ban(ask.key), ask.now);
        if let Some(key) = self.tables.keys.get_mut(&ask.key) {
            key.ban = Some(ban);
        }
        self.counters.forgive(ask.key);
        Verdict::Banned { until: ban.until }
    }

    pub(super) fn windows(&self, account: AccountId) -> Windows {
        self.counters.windows.get(&account).copied().unwrap_or_default()
    }

    pub(super) fn ban(&self, key: KeyId) -> Option<Ban> {
        self.tables.keys.get(&key).and_then(|record| record.ban)
    }
}

impl Quotas for ReferenceStore {
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        if let Some(verdict) = self.take_with_bug(ask) {
            return Reply::now(Ok(verdict));
        }
        Reply::now(Ok(self.lock().take(ask)))
    }

    fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> Reply<Result<Usage, StoreError>> {
        let mut state = self.lock();
        let windows = state.windows(account).at(now);
        if self.has(Bug::UsageCounts) {
            state.counters.windows.extend(windows.take(now, limits).map(|after| (account, after)));
        }
        Reply::now(Ok(windows.usage(limits)))
    }
}

impl AddressLimits for ReferenceStore {
    fn take_address(
        &self,
        address: IpAddr,
        limit: Limit,
        cost: Cost,
        now: Timestamp,
    ) -> Reply<Result<AddressVerdict, StoreError>> {
        let mut state = self.lock();
        if self.has(Bug::AddressesForgotten) {
            state.addresses.forget_if_full();
        }
        let wide = self.has(Bug::WideAddresses);
        Reply::now(Ok(state.addresses.take(address, limit, cost, now, wide)))
    }
}
