//! The quota rule by the functions of the domain, one request after the other.

use std::collections::HashMap;
use std::time::Duration;

use petstore_domain::{AccountId, Ban, KeyId, Strikes, Timestamp, Windows};
use petstore_ports::Verdict;

use crate::request::{Kind, Request};

/// The difference between the clocks of Redis and of a node up to which they agree.
const SKEW: Duration = Duration::from_secs(2);

/// The windows of accounts, and the strikes and bans of keys.
#[derive(Default)]
pub(super) struct Model {
    windows: HashMap<AccountId, Windows>,
    keys: HashMap<(AccountId, KeyId), Conduct>,
}

/// The strikes and bans of a key.
#[derive(Default)]
pub(super) struct Conduct {
    strikes: Strikes,
    /// The last ban that was decided here.
    pub(super) ban: Option<Ban>,
    lifted_at: Option<Timestamp>,
    /// The latest end of a ban that another quota store has decided.
    recorded_until: Option<Timestamp>,
}

impl Model {
    /// The conduct of a key.
    pub(super) fn conduct(&self, account: AccountId, key: KeyId) -> Option<&Conduct> {
        self.keys.get(&(account, key))
    }

    /// Decides one request.
    pub(super) fn decide(&mut self, request: &Request) -> Verdict {
        let Request { now, policy, .. } = *request;
        let kept = self.windows.entry(request.account).or_default();
        let mut placed = *kept;
        if request.is_confirmed {
            placed = placed.without_misplaced(now, SKEW);
        }
        let stored = placed;
        let usage = stored.at(now).usage(policy.limits);
        if request.kind == Kind::Look {
            return Verdict::Admitted(usage);
        }
        let conduct = self.keys.entry((request.account, request.key)).or_default();
        if let Some(banned) = conduct.banned(request) {
            return banned;
        }
        if request.kind == Kind::Free {
            return Verdict::Admitted(usage);
        }
        if let Kind::Rest(window) = request.kind {
            *kept = stored.exhausted(window, now, policy.limits);
            return Verdict::Admitted(kept.usage(policy.limits));
        }
        if let Some(counted) = stored.take(now, policy.limits) {
            *kept = counted;
            return Verdict::Admitted(counted.usage(policy.limits));
        }
        conduct.see(request);
        let allowed = policy.bans.strikes_allowed(policy.limits);
        if let Some(strikes) = conduct.strikes.strike(usage.binding().1.reset_secs, allowed) {
            conduct.strikes = strikes;
            return Verdict::Exceeded(usage);
        }
        let ban = policy.bans.next_ban(conduct.ban, conduct.lifted_at, now);
        conduct.strikes = Strikes::default();
        conduct.ban = Some(ban);
        Verdict::Banned { until: ban.until, unrecorded: Some(ban) }
    }
}

impl Conduct {
    fn banned(&self, request: &Request) -> Option<Verdict> {
        let (recorded, now) = (request.recorded_ban, request.now);
        let lifted_at = self.lifted_at.max(recorded.lifted_at);
        let own = self.ban.filter(|ban| ban.in_force(now) && !ban.is_ended_by_lift(lifted_at));
        let until = own.map(|ban| ban.until).max(recorded.until).filter(|until| now < *until)?;
        let unrecorded = own.filter(|ban| recorded.until.is_none_or(|recorded| recorded < ban.until));
        Some(Verdict::Banned { until, unrecorded })
    }

    /// Clears the strikes if the key's record has a new lift, or a new ban of another quota store.
    fn see(&mut self, request: &Request) {
        let recorded = request.recorded_ban;
        if self.lifted_at < recorded.lifted_at {
            self.lifted_at = recorded.lifted_at;
            self.strikes = Strikes::default();
        }
        if recorded.until > self.ban.map(|ban| ban.until).max(self.recorded_until) {
            self.recorded_until = recorded.until;
            self.strikes = Strikes::default();
        }
    }
}
