//! The number of idempotency records of an account.

use petstore_domain::AccountId;
use petstore_ports::{IdempotencyRecords, Reply, StoreError};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::queries::Lookup;
use crate::records::stored_id;

/// Sums the counts of an account's slots.
pub(crate) struct CountOfAccount;

impl Lookup for CountOfAccount {
    type Key = i64;
    type Column = i64;
    type Columns = Vec<i64>;
    type Found = u32;

    fn sql() -> String {
        // A subquery for each account, so that each sum is read by the primary key.
        "select account, (select coalesce(sum(records), 0)::bigint from idempotency_counts where account_id = account) \
         from unnest($1::bigint[]) as account order by account"
            .to_owned()
    }

    fn column(key: &i64) -> i64 {
        *key
    }

    fn key(column: i64) -> Result<i64, StoreError> {
        Ok(column)
    }

    fn found(row: &Row) -> Result<u32, StoreError> {
        let sum: i64 = row.try_get(1).map_err(|error| {
            StoreError::corrupt("idempotency_counts: the column records cannot be read").with_source(error)
        })?;
        // A record may be counted in one slot and subtracted in another, and a sum may be read in between. So a sum
        // below zero is no damage.
        Ok(u32::try_from(sum.max(0)).unwrap_or(u32::MAX))
    }
}

impl IdempotencyRecords for PostgresStore {
    fn records_of(&self, account: AccountId) -> Reply<Result<u32, StoreError>> {
        let count = self.loaders.load(|loader| &loader.counts, stored_id(account.get()));
        count.map(|found| Ok(found?.unwrap_or(0)))
    }
}
