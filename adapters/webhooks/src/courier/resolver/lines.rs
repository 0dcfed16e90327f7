//! The names that wait for a thread, in the order of their turns.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use petstore_domain::AccountId;

/// The account for whose webhook a name is resolved; none for a program that has no account.
pub(super) type Asker = Option<AccountId>;

/// Names that wait. Accounts take turns, and so do the names of an account.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The accounts with a name that waits, each of them once.
    turns: VecDeque<Asker>,
    names: HashMap<Asker, VecDeque<Arc<str>>>,
}

impl Line {
    pub(super) fn push(&mut self, asker: Asker, name: Arc<str>) {
        let names = self.names.entry(asker).or_default();
        if names.is_empty() {
            self.turns.push_back(asker);
        }
        names.push_back(name);
    }

    /// Removes the next name of the first account that may have a thread.
    pub(super) fn pop(&mut self, may: impl Fn(Asker) -> bool) -> Option<(Asker, Arc<str>)> {
        let place = self.turns.iter().position(|asker| may(*asker))?;
        let asker = self.turns.remove(place)?;
        let names = self.names.get_mut(&asker)?;
        let name = names.pop_front()?;
        if names.is_empty() {
            self.names.remove(&asker);
        } else {
            self.turns.push_back(asker);
        }
        Some((asker, name))
    }

    /// Drops all names but these, and returns their number.
    pub(super) fn retain(&mut self, keeps: impl Fn(&str) -> bool) -> usize {
        self.names.retain(|_, names| {
            names.retain(|name| keeps(name));
            !names.is_empty()
        });
        self.turns.retain(|asker| self.names.contains_key(asker));
        self.names.values().map(VecDeque::len).sum()
    }
}

/// The threads that each account holds.
#[derive(Debug, Default)]
pub(super) struct Holders {
    held: HashMap<Asker, usize>,
    count: usize,
}

impl Holders {
    /// Returns whether an account may have a further one of some threads: while it holds fewer than half as many as are free.
    /// So an account alone has a third of them, accounts that come at the same time have equal shares, and there is a free
    /// thread for the next account although the names of the others hang.
    pub(super) fn may_have_one(&self, asker: Asker, threads: usize) -> bool {
        let held = self.held.get(&asker).copied().unwrap_or_default();
        2 * held < threads.saturating_sub(self.count)
    }

    pub(super) fn take(&mut self, asker: Asker) {
        self.count += 1;
        *self.held.entry(asker).or_default() += 1;
    }

    pub(super) fn give_back(&mut self, asker: Asker) {
        let Some(held) = self.held.get_mut(&asker) else { return };
        *held -= 1;
        self.count -= 1;
        if *held == 0 {
            self.held.remove(&asker);
        }
    }

    /// The number of threads that are held.
    #[cfg(test)]
    pub(super) const fn count(&self) -> usize {
        self.count
    }
}
