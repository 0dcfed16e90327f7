//! Accounts and keys for an operator.

use async_trait::async_trait;
use petstore_domain::{Account, AccountId, FoldedName, KeyId, KeyRecord};
use petstore_ports::{AccountDirectory, PageRequest, SortDirection, StoreError};

use crate::PostgresStore;
use crate::reads::{Direction, bounds, keyset};
use crate::records::Record;

/// The maximum number of rows of one statement.
const SLICE: usize = 10_000;

#[async_trait]
impl AccountDirectory for PostgresStore {
    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<Account>, StoreError> {
        self.listed(after.map(AccountId::get), limit, |account: &Account| account.id.get()).await
    }

    async fn account_named(&self, name: &FoldedName) -> Result<Option<Account>, StoreError> {
        let sql = format!("select {} from accounts where folded_name = $1", Account::COLUMNS);
        let rows = self.pages.rows(sql, vec![Box::new(name.as_str().to_owned())]).await?;
        rows.first().map(Account::parse).transpose()
    }

    async fn keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<KeyRecord>, StoreError> {
        self.listed(after.map(KeyId::get), limit, |key: &KeyRecord| key.id.get()).await
    }
}

impl PostgresStore {
    /// Up to `limit` records after an id, read in slices so that no statement takes long.
    async fn listed<R: Record + Send>(
        &self,
        mut after: Option<u64>,
        limit: usize,
        id: impl Fn(&R) -> u64 + Send,
    ) -> Result<Vec<R>, StoreError> {
        let order = SortDirection::Ascending;
        let mut listed: Vec<R> = Vec::new();
        while listed.len() < limit {
            let slice = SLICE.min(limit - listed.len());
            let sql = keyset(R::COLUMNS, R::TABLE, &[Vec::new()], Direction::of(order));
            let rows = self.pages.rows(sql, bounds(&PageRequest { order, after, limit: slice })).await?;
            for row in rows.iter().take(slice) {
                listed.push(R::parse(row)?);
            }
            if rows.len() <= slice {
                break;
            }
            after = listed.last().map(&id);
        }
        Ok(listed)
    }
}
