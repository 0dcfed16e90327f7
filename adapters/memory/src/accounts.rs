//! The table of accounts, and what each has used.

use dashmap::DashMap;
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use petstore_domain::{Account, AccountId, AccountName};
use petstore_ports::PageRequest;

use crate::census::Census;
use crate::ids::IdCounter;
use crate::meters::{AccountMeter, Meters};
use crate::page;
use crate::search::leap;
use crate::slab::{Slab, slot};

/// Accounts; found by id and by name. They are never removed.
pub(crate) struct Accounts {
    pub(crate) ids: IdCounter,
    pub(crate) meters: Meters<AccountMeter>,
    records: Slab<Account>,
    census: RwLock<Census<0>>,
    by_name: DashMap<AccountName, AccountId, RandomState>,
}

impl Accounts {
    pub(crate) fn new() -> Self {
        Self {
            ids: IdCounter::default(),
            meters: Meters::new(),
            records: Slab::new(),
            census: RwLock::default(),
            by_name: DashMap::default(),
        }
    }

    pub(crate) fn get(&self, id: AccountId) -> Option<Account> {
        self.read(id, Account::clone)
    }

    /// What `read` takes from the account. It must be short, and take no other lock.
    pub(crate) fn read<R>(&self, id: AccountId, read: impl FnOnce(&Account) -> R) -> Option<R> {
        self.records.read(slot(id.get())?, read)
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
        self.records.write(slot, Some(account));
        if let Some(before) = before.filter(|before| *before != after) {
            // Unless the same changes have given it to another account.
            self.by_name.remove_if(&before, |_, bearer| *bearer == id);
        }
    }

    pub(crate) fn page(&self, page: &PageRequest) -> Vec<Account> {
        let mut accounts = Vec::new();
        let candidates = |walk, max| leap(&[self.census.read().all()], walk, max);
        page::fill(page, &self.records, candidates, |_| true, |account| accounts.push(account.clone()));
        accounts
    }
}
