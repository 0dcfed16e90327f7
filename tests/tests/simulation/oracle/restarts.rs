//! The end of a process: the disk then holds everything that was acknowledged, and nothing else.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use super::{Oracle, Progress, RunState, WriteBehind};
use crate::model::rows::Rows;

/// The maximum age of write-behind data that a crash may lose: the interval of one second, and the duration of
/// housekeeping.
const FORGETS_MAX: Duration = Duration::from_millis(1_500);

/// The maximum pause between two attempts of the gate to record bans after a failure.
const RECORDING_PAUSE_MAX: Duration = Duration::from_secs(8);

/// The way in which a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The process was stopped by a signal, and had time to finish.
    Stop,
    /// The process has crashed.
    Crash,
}

impl Oracle {
    /// Records that the process ends. From now on, reports of this process are ignored.
    pub(crate) fn process_ends(&self, ending: Ending) {
        let mut state = self.lock();
        state.trace.note(self.start.elapsed(), &format!("{ending:?}"));
        state.process += 1;
        state.ended = state.now();
        state.counts.restarts += 1;
        for id in state.current.values().copied().collect::<Vec<_>>() {
            state.asked[id].ended = true;
        }
        state.current.clear();
    }

    /// Checks the disk on which a process begins. Returns the number of the process.
    pub(crate) fn process_begins(&self, ending: Ending, rows: &Rows, epoch: u64) -> u64 {
        let (outcome, process) = {
            let mut state = self.lock();
            state.shop.epoch = epoch;
            (state.reopen(ending, rows), state.process)
        };
        self.judge(outcome.map_err(|what| format!("after the restart: {what}")));
        process
    }

    /// Restarts the measurement of the delay of write-behind data, because the disk has caused the delay so far.
    pub(crate) fn excuse_delay(&self) {
        let mut state = self.lock();
        let now = state.now();
        state.write_behind.usage_since.values_mut().for_each(|since| *since = now);
        state.write_behind.bans.values_mut().for_each(|since| *since = now);
        state.webhooks.hindered(now);
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.lock().shop.epoch
    }
}

impl RunState {
    fn reopen(&mut self, ending: Ending, rows: &Rows) -> Result<(), String> {
        let was_failing = self.failing || self.ended < self.failing_until + FORGETS_MAX;
        self.settle_doubt(rows.last_batch)?;
        for staged in std::mem::take(&mut self.staged) {
            if let super::Owner::Request(id) = staged.owner {
                self.asked[id].progress = Progress::Dropped { since: self.now() };
            }
        }
        self.reopen_keys(ending, rows)?;
        self.failing = false;
        self.failing_until = self.now();
        same("categories", &self.shop.categories, &rows.categories)?;
        same("pets", &self.shop.pets, &rows.pets)?;
        same("orders", &self.shop.orders, &rows.orders)?;
        let (epoch, last) = rows.events;
        self.events.reopen(epoch, last)?;
        same("webhooks", self.webhooks.accounts(), &rows.webhooks)?;
        let (ended, now) = (self.ended, self.now());
        self.webhooks.restarted(ending == Ending::Stop, was_failing, (ended, now));
        let plans = self.accounts.plans.iter().map(|(id, plan)| (*id, plan.name)).collect();
        same("accounts", &plans, &rows.plans)?;
        self.reopen_retries(rows)?;
        self.reopen_usage(ending, was_failing, rows)?;
        self.quotas.restart();
        self.write_behind = WriteBehind { pruned: self.write_behind.pruned, ..WriteBehind::default() };
        for (account, windows) in &self.quotas.windows {
            self.write_behind.usage.insert(*account, *windows);
        }
        Ok(())
    }

    /// Checks the keys. A crash may lose a ban that was not recorded yet.
    fn reopen_keys(&mut self, ending: Ending, rows: &Rows) -> Result<(), String> {
        let ended = self.ended;
        let was_failing = self.failing || ended < self.failing_until + RECORDING_PAUSE_MAX + FORGETS_MAX;
        for (id, key) in &self.accounts.keys {
            if !rows.keys.contains_key(id) {
                return Err(format!("key {id} is gone"));
            }
            if self.quotas.ban(&self.accounts, *id) == key.ban {
                continue;
            }
            let waited = self.write_behind.bans.get(id).map(|since| ended.saturating_sub(*since));
            let too_long = waited.is_none_or(|waited| waited > FORGETS_MAX);
            if !was_failing && (ending == Ending::Stop || too_long) {
                return Err(format!("the ban of key {id} is forgotten after {waited:?}"));
            }
        }
        same("keys", &self.accounts.keys, &rows.keys)
    }

    /// Checks the idempotency records. Expired records may be missing.
    fn reopen_retries(&mut self, rows: &Rows) -> Result<(), String> {
        let pruned = self.write_behind.pruned;
        self.retries.0.retain(|name, kept| kept.expires_at > pruned || rows.retries.contains_key(name));
        let kept = self.retries.0.iter().map(|(name, kept)| (name.clone(), kept.expires_at)).collect();
        same("kept answers", &kept, &rows.retries)
    }

    /// Checks the usage of each account. The disk must have the usage that was stored last, and a crash may lose only
    /// recent changes of it.
    fn reopen_usage(&mut self, ending: Ending, was_failing: bool, rows: &Rows) -> Result<(), String> {
        let ended = self.ended;
        for (account, windows) in &mut self.quotas.windows {
            let row = rows.usage.get(account).copied().unwrap_or_default();
            if row == *windows {
                continue;
            }
            let noted = self.write_behind.usage.get(account).copied().unwrap_or_default();
            let in_doubt =
                self.write_behind.usage_in_doubt.get(account).is_some_and(|some| some.contains(&row));
            if row != noted && !in_doubt {
                return Err(format!(
                    "account {account} had used {windows:?}, {noted:?} was noted, it is {row:?}"
                ));
            }
            let since = self.write_behind.usage_since.get(account);
            let forgotten = since.is_some_and(|since| ended > *since + FORGETS_MAX);
            if !was_failing && (ending == Ending::Stop || forgotten) {
                return Err(format!(
                    "what account {account} had used is forgotten: {windows:?}, now {row:?}"
                ));
            }
            *windows = row;
        }
        Ok(())
    }
}

/// Compares two maps, and reports the first difference.
fn same<K, V>(what: &str, right: &BTreeMap<K, V>, found: &BTreeMap<K, V>) -> Result<(), String>
where
    K: Ord + Debug,
    V: PartialEq + Debug,
{
    let ids = right.keys().chain(found.keys());
    for id in ids {
        let (right, found) = (right.get(id), found.get(id));
        if right != found {
            return Err(format!("{what} {id:?}: {right:?} was acknowledged, {found:?} is there"));
        }
    }
    Ok(())
}
