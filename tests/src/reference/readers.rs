//! Reads: each record as the last commit left it, each page from one moment.

use async_trait::async_trait;
use petstore_domain::{
    Account, AccountId, CategoryId, CategoryRecord, FoldedName, KeyId, KeyRecord, OrderId, OrderRecord,
    PetId, PetRecord, Scope, Timestamp,
};
use petstore_ports::{
    AccountDirectory, CategoryFilter, CategoryReader, CategorySink, Credential, Housekeeping,
    IdempotencyRecords, KeyLookup, KeyReader, OrderFilter, OrderReader, OrderSink, PageEnd, PageRequest,
    PetFilter, PetReader, PetSink, Reply, ScopeReader, SortDirection, StoreError, StoreHealth,
};

use super::{Bug, ReferenceStore};

impl ReferenceStore {
    /// One page of the records that the filter admits, in the order of their ids.
    fn page<'a, T: 'a>(
        &self,
        page: &PageRequest,
        records: impl DoubleEndedIterator<Item = (u64, &'a T)>,
        sink: &mut dyn FnMut(&T),
    ) -> PageEnd {
        let skipped = u64::from(self.has(Bug::SkippingPage));
        let beyond = |id: u64| match (page.after, page.order) {
            (None, _) => true,
            (Some(after), SortDirection::Ascending) => id > after.saturating_add(skipped),
            (Some(after), SortDirection::Descending) => id.saturating_add(skipped) < after,
        };
        let mut ordered: Vec<(u64, &T)> = records.filter(|(id, _)| beyond(*id)).collect();
        if page.order == SortDirection::Descending {
            ordered.reverse();
        }
        for (_, record) in ordered.iter().take(page.limit) {
            sink(record);
        }
        let more = if self.has(Bug::FullMeansMore) {
            ordered.len() >= page.limit
        } else {
            ordered.len() > page.limit
        };
        if more { PageEnd::More } else { PageEnd::Last }
    }
}

#[async_trait]
impl StoreHealth for ReferenceStore {
    /// Always succeeds, because a store in memory can always write.
    async fn check(&self, _: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }
}

impl IdempotencyRecords for ReferenceStore {
    fn records_of(&self, account: AccountId) -> Reply<Result<u32, StoreError>> {
        if self.has(Bug::RecordsUncounted) {
            return Reply::now(Ok(0));
        }
        let state = self.lock();
        let count = state.tables.retries.keys().filter(|name| name.account == account).count();
        Reply::now(Ok(u32::try_from(count).unwrap_or(u32::MAX)))
    }
}

#[async_trait]
impl PetReader for ReferenceStore {
    fn pet(&self, id: PetId) -> Reply<Result<Option<PetRecord>, StoreError>> {
        if self.has(Bug::TornRead) {
            return Reply::now(Ok(self.torn_pet(id)));
        }
        Reply::now(Ok(self.lock().tables.pets.get(&id).cloned()))
    }

    async fn pets<'a>(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        let pets = match self.bug {
            Some(Bug::UnionOfScans) => self.union_of_scans(filter),
            Some(Bug::StaleIndex) => self.found_by_the_stale_index(filter),
            _ => self.lock().tables.pets.clone(),
        };
        let admitted = pets.values().filter(|record| filter.admits(record));
        Ok(self.page(page, admitted.map(|record| (record.pet.id.get(), record)), sink))
    }
}

#[async_trait]
impl CategoryReader for ReferenceStore {
    fn category(&self, id: CategoryId) -> Reply<Result<Option<CategoryRecord>, StoreError>> {
        Reply::now(Ok(self.lock().tables.categories.get(&id).cloned()))
    }

    async fn categories<'a>(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'a>,
    ) -> Result<PageEnd, StoreError> {
        let categories = self.lock().tables.categories.clone();
        let admitted = categories.values().filter(|record| filter.admits(record));
        Ok(self.page(page, admitted.map(|record| (record.category.id.get(), record)), sink))
    }
}

#[async_trait]
impl OrderReader for ReferenceStore {
    fn order(&self, id: OrderId) -> Reply<Result<Option<OrderRecord>, StoreError>> {
        Reply::now(Ok(self.lock().tables.orders.get(&id).cloned()))
    }

    async fn orders<'a>(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        sink: OrderSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        let orders = match self.bug {
            Some(Bug::OrdersJoined) => self.joined_with_their_pets(filter),
            _ => self.lock().tables.orders.clone(),
        };
        let admitted = orders.values().filter(|record| filter.admits(record));
        Ok(self.page(page, admitted.map(|record| (record.order.id.get(), record)), sink))
    }
}

impl KeyReader for ReferenceStore {
    fn credential(&self, name: KeyLookup) -> Reply<Result<Option<Credential>, StoreError>> {
        let state = self.lock();
        let mut keys = state.tables.keys.values();
        let found = match name {
            KeyLookup::Digest(digest) => keys.find(|key| key.digest == digest),
            KeyLookup::Id(id) => keys.find(|key| key.id == id),
        };
        let account = found.and_then(|key| state.tables.accounts.get(&key.account));
        let credential = found.zip(account).map(|(key, account)| Credential::new(key, account));
        drop(state);
        Reply::now(Ok(if self.has(Bug::CredentialKept) { self.kept(credential) } else { credential }))
    }
}

impl ScopeReader for ReferenceStore {
    fn accounts_with(
        &self,
        scope: Scope,
        mut accounts: Vec<AccountId>,
        now: Timestamp,
    ) -> Reply<Result<Vec<AccountId>, StoreError>> {
        let state = self.lock();
        let grants = |key: &KeyRecord| match self.bug {
            Some(Bug::ScopesOfRevokedKeys) => key.scopes.permits(scope),
            Some(Bug::BannedKeysGrant) => key.scopes.permits(scope) && key.check(now).is_ok(),
            _ => key.grants(scope, now),
        };
        accounts.retain(|account| {
            let mut keys = state.tables.keys.values().filter(|key| key.account == *account);
            if self.has(Bug::ScopesOfTheFirstKey) {
                keys.next().is_some_and(grants)
            } else {
                keys.any(grants)
            }
        });
        Reply::now(Ok(accounts))
    }
}

#[async_trait]
impl AccountDirectory for ReferenceStore {
    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<Account>, StoreError> {
        let state = self.lock();
        let later = state.tables.accounts.values().filter(|account| Some(account.id) > after);
        Ok(later.take(limit).cloned().collect())
    }

    async fn account_named(&self, name: &FoldedName) -> Result<Option<Account>, StoreError> {
        let tables = &self.lock().tables;
        Ok(tables.accounts.values().find(|one| tables.index.finds(name, one.name.as_str())).cloned())
    }

    async fn keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError> {
        let state = self.lock();
        let later = state.tables.keys.values().filter(|key| Some(key.id) > after);
        Ok(later.take(limit).cloned().collect())
    }
}

#[async_trait]
impl Housekeeping for ReferenceStore {
    async fn drop_expired(&self, now: Timestamp) -> Result<usize, StoreError> {
        if self.has(Bug::PrunesNothing) {
            return Ok(0);
        }
        if self.has(Bug::PrunesTooMuch) {
            self.lock().prune_too_much(now);
        }
        let live_too = self.has(Bug::PrunesLive);
        let retries = &mut self.lock().tables.retries;
        let before = retries.len();
        retries.retain(|_, record| record.expires_at > now && !live_too);
        Ok(before - retries.len())
    }

    async fn note_usage(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn watch(&self, now: Timestamp) -> Result<(), StoreError> {
        if self.has(Bug::WatchPrunes) {
            self.drop_expired(now).await?;
        }
        Ok(())
    }
}
