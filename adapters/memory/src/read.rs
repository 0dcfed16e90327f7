//! The reading ports.

use async_trait::async_trait;
use petstore_domain::{
    Account, AccountId, CategoryId, CategoryRecord, FoldedName, KeyId, KeyRecord, OrderId, OrderRecord,
    PetId, PetRecord,
};
use petstore_ports::{
    AccountDirectory, CategoryFilter, CategoryReader, CategorySink, Credential, IdempotencyRecords,
    KeyLookup, KeyReader, OrderFilter, OrderReader, OrderSink, PageEnd, PageRequest, PetFilter, PetReader,
    PetSink, Reply, SortDirection, StoreError,
};

use crate::packed_credentials::KeyFields;
use crate::store::MemoryStore;
use crate::tables::Tables;

impl MemoryStore {
    /// Reads the shop. Returns none while the shop is hidden.
    pub(crate) fn read_shop<T>(&self, read: impl Fn(&Tables) -> Option<T>) -> Option<T> {
        self.tables.write_epochs.wait_for_writes();
        let sequence = self.tables.visibility.begin_read()?;
        let mut found = read(&self.tables);
        if !self.tables.visibility.is_unchanged(sequence) {
            found = self.read_shop_again(read);
        }
        found
    }

    /// Reads again. It is called if an import or a reset began during the first read.
    #[cold]
    fn read_shop_again<T>(&self, read: impl Fn(&Tables) -> Option<T>) -> Option<T> {
        self.read_shop(read)
    }

    /// Reads a page of the shop. The page ends once the shop is hidden: `read` gets a function that returns false from
    /// then on.
    fn read_shop_page(&self, read: impl FnOnce(&Tables, &dyn Fn() -> bool) -> PageEnd) -> PageEnd {
        self.tables.write_epochs.wait_for_writes();
        let visibility = &self.tables.visibility;
        visibility
            .begin_read()
            .map_or(PageEnd::Last, |sequence| read(&self.tables, &|| visibility.is_unchanged(sequence)))
    }
}

#[async_trait]
impl PetReader for MemoryStore {
    fn pet(&self, id: PetId) -> Reply<Result<Option<PetRecord>, StoreError>> {
        Reply::now(Ok(self.read_shop(|tables| tables.pets.get(id))))
    }

    async fn pets<'a>(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        Ok(self.read_shop_page(|tables, is_visible| tables.pets.page(filter, page, is_visible, sink)))
    }
}

#[async_trait]
impl CategoryReader for MemoryStore {
    fn category(&self, id: CategoryId) -> Reply<Result<Option<CategoryRecord>, StoreError>> {
        Reply::now(Ok(self.read_shop(|tables| tables.categories.get(id))))
    }

    async fn categories<'a>(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'a>,
    ) -> Result<PageEnd, StoreError> {
        Ok(self.read_shop_page(|tables, is_visible| tables.categories.page(filter, page, is_visible, sink)))
    }
}

#[async_trait]
impl OrderReader for MemoryStore {
    fn order(&self, id: OrderId) -> Reply<Result<Option<OrderRecord>, StoreError>> {
        Reply::now(Ok(self.read_shop(|tables| tables.orders.get(id))))
    }

    async fn orders<'a>(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        sink: OrderSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        Ok(self.read_shop_page(|tables, is_visible| tables.orders.page(filter, page, is_visible, sink)))
    }
}

impl MemoryStore {
    fn credential_of(&self, name: KeyLookup) -> Result<Option<Credential>, StoreError> {
        let id = match name {
            KeyLookup::Id(id) => Some(id),
            KeyLookup::Digest(digest) => self.tables.keys.id_of(&digest),
        };
        let Some(id) = id else {
            return Ok(None);
        };
        let Some(fields) = self.tables.keys.credential(id) else {
            return Ok(None);
        };
        let KeyFields { account, scopes, expires_at, revoked, recorded_ban } = fields;
        let Some(plan) = self.tables.accounts.plan(account) else {
            return Err(StoreError::corrupt(format!(
                "key {id} belongs to account {account}, which does not exist"
            )));
        };
        Ok(Some(Credential { key: id, account, plan, scopes, expires_at, revoked, recorded_ban }))
    }
}

impl KeyReader for MemoryStore {
    fn credential(&self, name: KeyLookup) -> Reply<Result<Option<Credential>, StoreError>> {
        Reply::now(self.credential_of(name))
    }
}

impl IdempotencyRecords for MemoryStore {
    fn records_of(&self, account: AccountId) -> Reply<Result<u32, StoreError>> {
        Reply::now(Ok(self.tables.idempotency_records.count(account)))
    }
}

#[async_trait]
impl AccountDirectory for MemoryStore {
    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<Account>, StoreError> {
        self.tables.write_epochs.wait_for_writes();
        Ok(self.tables.accounts.page(&ascending(after.map(AccountId::get), limit)))
    }

    async fn account_named(&self, name: &FoldedName) -> Result<Option<Account>, StoreError> {
        self.tables.write_epochs.wait_for_writes();
        Ok(self.tables.accounts.named(name))
    }

    async fn keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError> {
        self.tables.write_epochs.wait_for_writes();
        Ok(self.tables.keys.page(&ascending(after.map(KeyId::get), limit)))
    }
}

const fn ascending(after: Option<u64>, limit: usize) -> PageRequest {
    PageRequest { order: SortDirection::Ascending, after, limit }
}
