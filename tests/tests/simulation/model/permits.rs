//! The accounts that may have webhooks: those with a valid key that has the scope.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::accounts::Accounts;
use crate::clock::SimClock;

/// When the accounts had the scope, and when they lacked it.
///
/// An expiry or the end of a ban is no event of the model. So each look takes the whole time since the last one, in which the
/// keys were the same and the wall clock went on evenly.
pub(crate) struct Permits {
    clock: Arc<SimClock>,
    /// The wall clock at the last look.
    looked_at: i64,
    accounts: BTreeMap<u64, Latest>,
}

/// The latest times at which an account may have had the scope, and may have lacked it.
#[derive(Debug, Clone, Copy, Default)]
struct Latest {
    with: Option<Duration>,
    without: Option<Duration>,
}

impl Permits {
    pub(crate) fn new(clock: &Arc<SimClock>) -> Self {
        Self { clock: Arc::clone(clock), looked_at: clock.millis(), accounts: BTreeMap::new() }
    }

    /// Takes the time since the last look. It is called before each change of a key.
    pub(crate) fn look(&mut self, accounts: &Accounts, now: Duration) {
        let (from, to) = (self.looked_at, self.clock.millis());
        self.looked_at = to;
        for account in accounts.plans.keys() {
            let keys = accounts.keys.values().filter(|key| key.account == *account);
            let spans: Vec<_> = keys.filter_map(super::accounts::Key::permits_webhooks).collect();
            let latest = self.accounts.entry(*account).or_default();
            if spans.iter().any(|(begin, end)| from.max(*begin) <= to && from.max(*begin) < *end) {
                latest.with = Some(now);
            }
            if !spans.iter().any(|(begin, end)| *begin <= from && to < *end) {
                latest.without = Some(now);
            }
        }
    }

    /// Takes a step of the wall clock, which follows at once.
    pub(crate) fn stepped(&mut self, accounts: &Accounts, step: i64, now: Duration) {
        self.look(accounts, now);
        self.looked_at += step;
    }

    /// Returns whether the account may have had the scope at or after a time.
    pub(super) fn had_since(&self, account: u64, time: Duration) -> bool {
        self.accounts.get(&account).is_some_and(|latest| latest.with.is_some_and(|with| with >= time))
    }

    /// The latest time at which the account may have lacked the scope.
    pub(super) fn lacked_at(&self, account: u64) -> Duration {
        self.accounts.get(&account).and_then(|latest| latest.without).unwrap_or_default()
    }
}
