//! The end of a process: what is then on disk is all that was acknowledged, and nothing else.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use super::{Behind, Book, Fate, State};
use crate::model::rows::Rows;

/// The most that a process which dies may forget of what is noted behind: a second, and what housekeeping takes.
const FORGETS_MAX: Duration = Duration::from_millis(1_500);

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// It was told to, and had the time.
    Stop,
    /// At once.
    Crash,
}

impl Book {
    /// The process ends. From now on it is not listened to.
    pub(crate) fn process_ends(&self, over: Over) {
        let mut state = self.lock();
        state.trace.note(self.start.elapsed(), &format!("{over:?}"));
        state.process += 1;
        state.ended = state.now();
        state.counts.restarts += 1;
        for id in state.current.values().copied().collect::<Vec<_>>() {
            state.asked[id].ended = true;
        }
        state.current.clear();
    }

    /// A process begins on a disk. Returns its number.
    pub(crate) fn process_begins(&self, over: Over, rows: &Rows, epoch: u64) -> u64 {
        let (outcome, process) = {
            let mut state = self.lock();
            state.shop.epoch = epoch;
            (state.reopen(over, rows), state.process)
        };
        self.judge(outcome.map_err(|what| format!("after the restart: {what}")));
        process
    }

    /// Whoever writes behind was held up until now.
    pub(crate) fn excuse_delay(&self) {
        let mut state = self.lock();
        let now = state.now();
        state.behind.usage_since.values_mut().for_each(|since| *since = now);
        state.behind.bans.values_mut().for_each(|(since, _)| *since = now);
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.lock().shop.epoch
    }
}

impl State {
    fn reopen(&mut self, over: Over, rows: &Rows) -> Result<(), String> {
        let was_troubled = self.troubled || self.ended < self.troubled_until + FORGETS_MAX;
        self.settle_doubt(rows.last_batch)?;
        for staged in std::mem::take(&mut self.staged) {
            if let super::Owner::Request(id) = staged.owner {
                self.asked[id].fate = Fate::Dropped { since: self.now() };
            }
        }
        self.troubled = false;
        self.troubled_until = self.now();
        same("categories", &self.shop.categories, &rows.categories)?;
        same("pets", &self.shop.pets, &rows.pets)?;
        same("orders", &self.shop.orders, &rows.orders)?;
        let plans = self.accounts.plans.iter().map(|(id, plan)| (*id, plan.name)).collect();
        same("accounts", &plans, &rows.plans)?;
        self.reopen_keys(over, was_troubled, rows)?;
        self.reopen_retries(rows)?;
        self.reopen_usage(over, was_troubled, rows)?;
        self.quotas.restart();
        self.behind = Behind { pruned: self.behind.pruned, ..Behind::default() };
        for (account, windows) in &self.quotas.windows {
            self.behind.usage.insert(*account, *windows);
        }
        Ok(())
    }

    /// A ban that has not been noted yet may be forgotten by a crash.
    fn reopen_keys(&mut self, over: Over, was_troubled: bool, rows: &Rows) -> Result<(), String> {
        let ended = self.ended;
        for (id, key) in &mut self.accounts.keys {
            let Some(row) = rows.keys.get(id) else { return Err(format!("key {id} is gone")) };
            if let Some((since, before)) = self.behind.bans.get(id)
                && row.ban == *before
            {
                if !was_troubled && (over == Over::Stop || ended > *since + FORGETS_MAX) {
                    return Err(format!(
                        "the ban of key {id} is forgotten after {:?}",
                        ended.saturating_sub(*since)
                    ));
                }
                key.ban = *before;
            }
        }
        same("keys", &self.accounts.keys, &rows.keys)
    }

    /// Answers that had expired may be gone.
    fn reopen_retries(&mut self, rows: &Rows) -> Result<(), String> {
        let pruned = self.behind.pruned;
        self.retries.0.retain(|name, kept| kept.expires_at > pruned || rows.retries.contains_key(name));
        let kept = self.retries.0.iter().map(|(name, kept)| (name.clone(), kept.expires_at)).collect();
        same("kept answers", &kept, &rows.retries)
    }

    /// Usage is as it was noted, at most a second ago.
    fn reopen_usage(&mut self, over: Over, was_troubled: bool, rows: &Rows) -> Result<(), String> {
        let ended = self.ended;
        for (account, windows) in &mut self.quotas.windows {
            let row = rows.usage.get(account).copied().unwrap_or_default();
            if row == *windows {
                continue;
            }
            let noted = self.behind.usage.get(account).copied().unwrap_or_default();
            let in_doubt = self.behind.usage_in_doubt.get(account).is_some_and(|some| some.contains(&row));
            if row != noted && !in_doubt {
                return Err(format!(
                    "account {account} had used {windows:?}, {noted:?} was noted, it is {row:?}"
                ));
            }
            let since = self.behind.usage_since.get(account);
            let forgotten = since.is_some_and(|since| ended > *since + FORGETS_MAX);
            if !was_troubled && (over == Over::Stop || forgotten) {
                return Err(format!(
                    "what account {account} had used is forgotten: {windows:?}, now {row:?}"
                ));
            }
            *windows = row;
        }
        Ok(())
    }
}

/// Both sides hold the same, or the first difference.
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
