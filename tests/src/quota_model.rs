//! The model of quotas and bans: the domain's arithmetic, one request after the other.

use std::collections::BTreeMap;

use petstore_domain::{
    AccountId, Ban, BanKey, BanPolicy, CreatedKey, KeyId, Limits, Strikes, Timestamp, Usage, Windows,
};
use petstore_ports::{Ask, Cost, RecordedBan, Verdict};

use crate::Subject;
use crate::make::{at, limits};

/// All counters, on plain values.
///
/// The ports allow two results for a request that is not counted, because it was refused or is free: the windows may
/// move to the time of the request, or stay. The two results lead to different verdicts only if the clock then steps
/// back, and neither result admits an additional request. So the model keeps both possibilities until a verdict shows
/// which one the store has chosen.
#[derive(Debug, Default)]
pub(crate) struct Model {
    windows: BTreeMap<AccountId, Vec<Windows>>,
    strikes: BTreeMap<KeyId, Strikes>,
    pub(crate) bans: BTreeMap<KeyId, Ban>,
    lifts: BTreeMap<KeyId, Timestamp>,
}

/// The result of a request: the verdict, and the changes.
struct Step {
    verdict: Verdict,
    windows: Windows,
    strikes: Option<Strikes>,
    ban: Option<Ban>,
}

impl Model {
    /// Checks a verdict against the model.
    pub(crate) fn check(&mut self, ask: &Ask, verdict: Verdict) -> Result<(), Vec<Verdict>> {
        let possible = self.windows.get(&ask.account).cloned().unwrap_or_else(|| vec![Windows::default()]);
        let steps: Vec<Step> = possible.into_iter().map(|windows| self.step(ask, windows)).collect();
        let mut left = Vec::new();
        for step in steps.iter().filter(|step| step.verdict == verdict) {
            let counted = matches!(verdict, Verdict::Admitted(_)) && ask.cost == Cost::One;
            let begun = step.windows.at(ask.now);
            for windows in if counted { vec![step.windows] } else { vec![step.windows, begun] } {
                if !left.contains(&windows) {
                    left.push(windows);
                }
            }
            // All steps with this verdict were refused by the same window, so they have the same strikes.
            self.strikes.extend(step.strikes.map(|strikes| (ask.key, strikes)));
            self.bans.extend(step.ban.map(|ban| (ask.key, ban)));
        }
        if left.is_empty() {
            return Err(steps.into_iter().map(|step| step.verdict).collect());
        }
        self.windows.insert(ask.account, left);
        Ok(())
    }

    /// Returns whether the model admits the usage that a store reports for the account. Reading the usage changes
    /// nothing.
    pub(crate) fn admits_usage(
        &self,
        account: AccountId,
        limits: Limits,
        now: Timestamp,
        usage: Usage,
    ) -> bool {
        let possible = self.windows.get(&account).cloned().unwrap_or_else(|| vec![Windows::default()]);
        possible.iter().any(|windows| windows.at(now).usage(limits) == usage)
    }

    /// The verdict on a request: the ban is checked before the windows. A refused request is counted in no window.
    fn step(&self, ask: &Ask, windows: Windows) -> Step {
        let unchanged = |verdict| Step { verdict, windows, strikes: None, ban: None };
        let usage = windows.at(ask.now).usage(ask.limits);
        let last_ban = self.bans.get(&ask.key).copied();
        if let Some(ban) = last_ban.filter(|ban| ban.in_force(ask.now)) {
            return unchanged(Verdict::Banned { until: ban.until, unrecorded: None });
        }
        if ask.cost == Cost::Nothing {
            return unchanged(Verdict::Admitted(usage));
        }
        let after = match ask.cost {
            Cost::Rest(kind) => Some(windows.exhausted(kind, ask.now, ask.limits)),
            Cost::One | Cost::Nothing => windows.take(ask.now, ask.limits),
        };
        if let Some(after) = after {
            return Step { windows: after, ..unchanged(Verdict::Admitted(after.usage(ask.limits))) };
        }
        let strikes = self.strikes.get(&ask.key).copied().unwrap_or_default();
        let allowed = ask.bans.strikes_allowed(ask.limits);
        if let Some(more) = strikes.strike(usage.binding().1.reset_secs, allowed) {
            return Step { strikes: Some(more), ..unchanged(Verdict::Exceeded(usage)) };
        }
        let ban = ask.bans.next_ban(last_ban, self.lifts.get(&ask.key).copied(), ask.now);
        Step {
            strikes: Some(Strikes::default()),
            ban: Some(ban),
            ..unchanged(Verdict::Banned { until: ban.until, unrecorded: None })
        }
    }

    /// Lifts a ban and clears the strikes, because with the old strikes the next refusal would ban the key again.
    /// `lifted_at` is the time of the lifting in the record of the key.
    pub(crate) fn lift(&mut self, key: KeyId, now: Timestamp, lifted_at: Option<Timestamp>) {
        if let Some(ban) = self.bans.get_mut(&key) {
            *ban = ban.lifted(now);
        }
        self.strikes.remove(&key);
        self.lifts.extend(lifted_at.map(|lift| (key, lift)));
    }
}

/// A request whose only bounds are the windows of its account.
pub(crate) fn ask(key: KeyId, account: AccountId, limits: Limits, now: Timestamp) -> Ask {
    Ask {
        key,
        account,
        limits,
        cost: Cost::One,
        bans: BanPolicy::DEFAULT,
        recorded_ban: RecordedBan::default(),
        now,
    }
}

/// A request of a key that may send one request a minute without a strike, so the second request bans the key.
pub(crate) fn impatient(made: &CreatedKey, secs: u64) -> Ask {
    let bans = BanPolicy { strikes: Some(0), ..BanPolicy::DEFAULT };
    Ask { bans, ..ask(made.key.id, made.account.id, limits(1, 1_000_000), at(secs)) }
}

impl Subject {
    /// Takes one request with the ban that the key's record has. The record comes from the directory, which is always
    /// current, while a credential may be older.
    pub(crate) async fn ask(&self, ask: &Ask) -> Verdict {
        let before = KeyId::new(ask.key.get() - 1).ok();
        let found = self.accounts.keys(before, 1).await.expect("a healthy store lists keys");
        let record = found.iter().find(|record| record.id == ask.key);
        let recorded_ban = record.map(RecordedBan::of).unwrap_or_default();
        self.quotas.take(&Ask { recorded_ban, ..*ask }).await.expect("a healthy store counts requests")
    }

    /// Takes one request. Records a ban that is not recorded yet, as the gate does.
    pub(crate) async fn take(&self, ask: &Ask) -> Verdict {
        match self.ask(ask).await {
            Verdict::Banned { until, unrecorded: Some(ban) } => {
                self.run(BanKey { id: ask.key, ban }).await.expect("the key is there");
                Verdict::Banned { until, unrecorded: None }
            }
            verdict => verdict,
        }
    }

    /// Returns what is left of the windows of the account.
    pub(crate) async fn usage(&self, ask: &Ask) -> Usage {
        let told = self.quotas.usage(ask.account, ask.limits, ask.now).await;
        told.expect("a healthy store reports the usage")
    }

    /// Takes this many requests, all of which must be admitted.
    pub(crate) async fn exhaust(&self, ask: &Ask, times: u32) {
        for number in 0..times {
            let verdict = self.take(ask).await;
            assert!(matches!(verdict, Verdict::Admitted(_)), "request {number} of {times}: {verdict:?}");
        }
    }
}

/// The number of verdicts of each kind: admitted, banned, exceeded.
pub(crate) fn tally(verdicts: &[Verdict]) -> [usize; 3] {
    let mut counts = [0; 3];
    for verdict in verdicts {
        counts[match verdict {
            Verdict::Admitted(_) => 0,
            Verdict::Banned { .. } => 1,
            Verdict::Exceeded(_) => 2,
        }] += 1;
    }
    counts
}
