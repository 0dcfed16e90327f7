//! The table of accounts, with the usage of each account.

use dashmap::DashMap;
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use petstore_domain::{Account, AccountId, FoldedName, Plan, Windows};
use petstore_ports::{Ask, PageRequest, UsageCount, Verdict};

use crate::dirty_set::DirtySet;
use crate::ids::IdCounter;
use crate::index_search::scan;
use crate::page;
use crate::slab::{Slab, slot};
use crate::state_index::StateIndex;
use crate::usage_meters::{AccountMeter, KeyMeter, UsageMeters};

/// Accounts, found by id and by name. They are never removed.
pub(crate) struct Accounts {
    pub(crate) ids: IdCounter,
    pub(crate) meters: UsageMeters<AccountMeter>,
    dirty: DirtySet<AccountId>,
    records: Slab<Account>,
    state_index: RwLock<StateIndex<0>>,
    by_name: DashMap<FoldedName, AccountId, RandomState>,
}

impl Accounts {
    pub(crate) fn new() -> Self {
        Self {
            ids: IdCounter::default(),
            meters: UsageMeters::new(),
            dirty: DirtySet::new(),
            records: Slab::new(),
            state_index: RwLock::default(),
            by_name: DashMap::default(),
        }
    }

    /// The number of accounts.
    pub(crate) fn len(&self) -> u64 {
        self.state_index.read().all().len()
    }

    pub(crate) fn get(&self, id: AccountId) -> Option<Account> {
        self.read(id, Account::clone)
    }

    /// Applies `read` to the account. The record is locked meanwhile, so `read` must be short, and take no other lock.
    pub(crate) fn read<R>(&self, id: AccountId, read: impl FnOnce(&Account) -> R) -> Option<R> {
        self.records.read(slot(id.get())?, read)
    }

    pub(crate) fn plan(&self, id: AccountId) -> Option<Plan> {
        self.meters.find(slot(id.get())?)?.plan.get()
    }

    pub(crate) fn id_of(&self, name: &FoldedName) -> Option<AccountId> {
        self.by_name.get(name).map(|id| *id)
    }

    /// The account with this name. During a rename, both the old and the new name in the index lead to the account. So
    /// the name in the account's record decides.
    pub(crate) fn named(&self, name: &FoldedName) -> Option<Account> {
        self.get(self.id_of(name)?).filter(|account| name.matches(account.name.as_str()))
    }

    pub(crate) fn put(&self, slot: u32, account: Account) {
        let id = account.id;
        self.ids.advance_to(id.get());
        let before = self.records.read(slot, |account| account.name.folded());
        let after = account.name.folded();
        self.by_name.insert(after.clone(), id);
        if before.is_none() {
            self.state_index.write().add(slot);
        }
        self.meters.of(slot).plan.set(&account);
        self.records.write(slot, Some(account));
        if let Some(before) = before.filter(|before| *before != after) {
            // The same operation may have given the old name to another account. The entry of that account stays.
            self.by_name.remove_if(&before, |_, owner| *owner == id);
        }
    }

    pub(crate) fn page(&self, page: &PageRequest) -> Vec<Account> {
        let mut accounts = Vec::new();
        let candidates = |cursor, max| scan(self.state_index.read().all(), cursor, max);
        page::fill(
            page,
            &self.records,
            candidates,
            |_| true,
            &|| true,
            |account: &Account| accounts.push(account.clone()),
        );
        accounts
    }

    /// Decides whether to admit a request of the account in this slot. An admitted request is counted, unless it costs
    /// nothing.
    pub(crate) fn take(&self, slot: u32, ask: &Ask, key: &KeyMeter) -> Verdict {
        self.meters.of(slot).take(ask, key, &self.dirty)
    }

    /// The windows of the account in this slot.
    pub(crate) fn windows(&self, slot: u32) -> Windows {
        self.meters.find(slot).map(AccountMeter::windows).unwrap_or_default()
    }

    /// Takes the usage of at most `max` accounts whose usage has changed since it was last taken.
    pub(crate) fn take_dirty_usage(&self, max: usize) -> Vec<UsageCount> {
        let accounts = self.dirty.take(max);
        let counts = accounts.into_iter().filter_map(|account| {
            let Windows { minute, day } = self.meters.of(slot(account.get())?).take_windows();
            // If the account has no record, its usage is dropped.
            self.read(account, |_| UsageCount { account, minute, day })
        });
        counts.collect()
    }

    /// Marks these accounts as dirty again after their usage could not be written.
    pub(crate) fn mark_dirty(&self, counts: &[UsageCount]) {
        for UsageCount { account, .. } in counts {
            if let Some(slot) = slot(account.get()) {
                self.meters.of(slot).mark_dirty(*account, &self.dirty);
            }
        }
    }

    /// The usage of an account.
    pub(crate) fn usage(&self, account: AccountId) -> Option<UsageCount> {
        let Windows { minute, day } = self.meters.find(slot(account.get())?)?.windows();
        Some(UsageCount { account, minute, day })
    }

    /// Forgets the usage of the accounts for whose windows `goes` returns true. Returns the number of these accounts.
    pub(crate) fn forget_usage(&self, goes: impl Fn(Windows) -> bool) -> usize {
        let all: Vec<u32> = self.state_index.read().all().iter().collect();
        let mut count = 0;
        for slot in all {
            let meter = self.meters.of(slot);
            if let Ok(account) = AccountId::new(slot.into())
                && goes(meter.windows())
            {
                meter.restore(Windows::default());
                meter.mark_dirty(account, &self.dirty);
                count += 1;
            }
        }
        count
    }

    /// Restores the usage of the account in this slot from the journal.
    pub(crate) fn restore_usage(&self, slot: u32, count: UsageCount) {
        self.meters.of(slot).restore(Windows { minute: count.minute, day: count.day });
    }
}
