//! The table of accounts, and what each has used.

use dashmap::DashMap;
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use petstore_domain::{Account, AccountId, AccountName, Plan, Windows};
use petstore_ports::{Ask, PageRequest, UsageCount, Verdict};

use crate::census::Census;
use crate::ids::IdCounter;
use crate::meters::{AccountMeter, KeyMeter, Meters};
use crate::page;
use crate::search::run;
use crate::slab::{Slab, slot};
use crate::unnoted::Unnoted;

/// Accounts; found by id and by name. They are never removed.
pub(crate) struct Accounts {
    pub(crate) ids: IdCounter,
    meters: Meters<AccountMeter>,
    unnoted: Unnoted<AccountId>,
    records: Slab<Account>,
    census: RwLock<Census<0>>,
    by_name: DashMap<AccountName, AccountId, RandomState>,
}

impl Accounts {
    pub(crate) fn new() -> Self {
        Self {
            ids: IdCounter::default(),
            meters: Meters::new(),
            unnoted: Unnoted::new(),
            records: Slab::new(),
            census: RwLock::default(),
            by_name: DashMap::default(),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.census.read().all().len()
    }

    pub(crate) fn get(&self, id: AccountId) -> Option<Account> {
        self.read(id, Account::clone)
    }

    /// What `read` takes from the account. It must be short, and take no other lock.
    pub(crate) fn read<R>(&self, id: AccountId, read: impl FnOnce(&Account) -> R) -> Option<R> {
        self.records.read(slot(id.get())?, read)
    }

    /// The plan of the account.
    pub(crate) fn plan(&self, id: AccountId) -> Option<Plan> {
        self.meters.find(slot(id.get())?)?.plan.get()
    }

    pub(crate) fn id_of(&self, name: &AccountName) -> Option<AccountId> {
        self.by_name.get(name).map(|id| *id)
    }

    /// The account of this name. While one is renamed, its record says which of the two names it has.
    pub(crate) fn named(&self, name: &AccountName) -> Option<Account> {
        self.get(self.id_of(name)?).filter(|account| account.name == *name)
    }

    pub(crate) fn put(&self, slot: u32, account: Account) {
        let id = account.id;
        self.ids.skip_to(id.get());
        let (before, after) = (self.records.read(slot, |account| account.name.clone()), account.name.clone());
        self.by_name.insert(after.clone(), id);
        if before.is_none() {
            self.census.write().add(slot);
        }
        self.meters.of(slot).plan.set(&account);
        self.records.write(slot, Some(account));
        if let Some(before) = before.filter(|before| *before != after) {
            // Unless the same changes have given it to another account.
            self.by_name.remove_if(&before, |_, bearer| *bearer == id);
        }
    }

    pub(crate) fn page(&self, page: &PageRequest) -> Vec<Account> {
        let mut accounts = Vec::new();
        let candidates = |walk, max| run(self.census.read().all(), walk, max);
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

    /// Judges a request of the account in this slot, and counts it if it is admitted.
    pub(crate) fn take(&self, slot: u32, ask: &Ask, key: &KeyMeter) -> Verdict {
        self.meters.of(slot).take(ask, key, &self.unnoted)
    }

    /// The windows of the account in this slot.
    pub(crate) fn windows(&self, slot: u32) -> Windows {
        self.meters.find(slot).map(AccountMeter::windows).unwrap_or_default()
    }

    /// The use of up to so many accounts that were used since it was last noted.
    pub(crate) fn unnoted_usage(&self, max: usize) -> Vec<UsageCount> {
        let accounts = self.unnoted.take(max);
        let counts = accounts.into_iter().filter_map(|account| {
            let Windows { minute, day } = self.meters.of(slot(account.get())?).note();
            // Only an account that is kept has a use that is worth keeping.
            self.read(account, |_| UsageCount { account, minute, day })
        });
        counts.collect()
    }

    /// The use of these accounts could not be noted.
    pub(crate) fn keep_unnoted(&self, counts: &[UsageCount]) {
        for UsageCount { account, .. } in counts {
            if let Some(slot) = slot(account.get()) {
                self.meters.of(slot).keep_unnoted(*account, &self.unnoted);
            }
        }
    }

    /// What an account has used.
    pub(crate) fn usage(&self, account: AccountId) -> Option<UsageCount> {
        let Windows { minute, day } = self.meters.find(slot(account.get())?)?.windows();
        Some(UsageCount { account, minute, day })
    }

    /// Forgets what accounts have used, in windows of which this is said. How many accounts that was.
    pub(crate) fn forget_usage(&self, goes: impl Fn(Windows) -> bool) -> usize {
        let all: Vec<u32> = self.census.read().all().iter().collect();
        let mut count = 0;
        for slot in all {
            let meter = self.meters.of(slot);
            if let Ok(account) = AccountId::new(slot.into())
                && goes(meter.windows())
            {
                meter.restore(Windows::default());
                meter.keep_unnoted(account, &self.unnoted);
                count += 1;
            }
        }
        count
    }

    /// The account in this slot had used so much when that was last noted.
    pub(crate) fn restore_usage(&self, slot: u32, count: UsageCount) {
        self.meters.of(slot).restore(Windows { minute: count.minute, day: count.day });
    }
}
