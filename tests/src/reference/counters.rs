//! Quotas and bans: the domain's arithmetic on plain values.

use std::collections::BTreeMap;
use std::net::IpAddr;

use petstore_domain::{AccountId, Ban, KeyId, Limit, Limits, Strikes, Timestamp, Usage, Windows};
use petstore_ports::{AddressLimits, AddressVerdict, Ask, Cost, Quotas, Reply, StoreError, Verdict};

use super::{Bug, ReferenceStore, StoreState};

/// All counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) windows: BTreeMap<AccountId, Windows>,
    pub(super) strikes: BTreeMap<KeyId, Strikes>,
    /// The last ban of each key that this store has decided, recorded or not.
    pub(super) bans: BTreeMap<KeyId, Ban>,
    /// The last time at which an operator lifted a ban of each key, as far as requests have shown it.
    pub(super) lifts: BTreeMap<KeyId, Timestamp>,
}

impl StoreState {
    pub(super) fn take(&mut self, ask: &Ask) -> Verdict {
        self.see_lift(ask);
        let windows = self.windows(ask.account);
        if let Some(banned) = self.banned(ask) {
            return banned;
        }
        let after = match ask.cost {
            Cost::Nothing => windows.at(ask.now),
            Cost::One => match windows.take(ask.now, ask.limits) {
                Some(after) => after,
                None => return self.strike(ask, windows),
            },
            Cost::Rest(kind) => windows.exhausted(kind, ask.now, ask.limits),
        };
        if ask.cost != Cost::Nothing {
            self.counters.windows.insert(ask.account, after);
        }
        Verdict::Admitted(after.usage(ask.limits))
    }

    /// Clears the strikes of a key when a request shows a newer lift of its ban, because the strikes were counted
    /// before that lift.
    fn see_lift(&mut self, ask: &Ask) {
        let Some(lift) = ask.recorded_ban.lifted_at else { return };
        if self.counters.lifts.insert(ask.key, lift).is_none_or(|seen| seen < lift) {
            self.counters.strikes.remove(&ask.key);
        }
    }

    /// The refusal of a banned key, by a ban that this store has decided or by the recorded ban.
    pub(super) fn banned(&self, ask: &Ask) -> Option<Verdict> {
        let recorded = ask.recorded_ban;
        let decided = self.counters.bans.get(&ask.key).copied();
        let decided = decided.filter(|ban| !ban.is_ended_by_lift(recorded.lifted_at));
        let until = decided.map(|ban| ban.until).max(recorded.until).filter(|until| ask.now < *until)?;
        let unrecorded = decided.filter(|ban| ban.in_force(ask.now) && recorded.until < Some(ban.until));
        Some(Verdict::Banned { until, unrecorded })
    }

    /// Counts a request that a window refuses: as a strike, or as a ban if the strikes are used up.
    pub(super) fn strike(&mut self, ask: &Ask, windows: Windows) -> Verdict {
        let usage = windows.at(ask.now).usage(ask.limits);
        let strikes = self.counters.strikes.entry(ask.key).or_default();
        let allowed = ask.bans.strikes_allowed(ask.limits);
        if let Some(more) = strikes.strike(usage.binding().1.reset_secs, allowed) {
            *strikes = more;
            return Verdict::Exceeded(usage);
        }
        let last = self.counters.bans.get(&ask.key).copied();
        let ban = ask.bans.next_ban(last, ask.recorded_ban.lifted_at, ask.now);
        self.counters.bans.insert(ask.key, ban);
        self.counters.strikes.remove(&ask.key);
        Verdict::Banned { until: ban.until, unrecorded: Some(ban) }
    }

    pub(super) fn windows(&self, account: AccountId) -> Windows {
        self.counters.windows.get(&account).copied().unwrap_or_default()
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
