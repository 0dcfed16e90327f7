//! The statements that find a key with its account.

use petstore_domain::{Account, KeyDigest, KeyRecord};
use petstore_ports::{Credential, StoreError};
use tokio_postgres::Row;

use crate::queries::Lookup;
use crate::records::{Fields, Record};

/// A credential, and the number of changes of accounts and keys at the moment at which it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) changes: i64,
    pub(crate) credential: Credential,
}

/// Finds a key by the digest of its secret.
pub(crate) struct CredentialByDigest;

/// Finds a key by its id.
pub(crate) struct CredentialById;

impl Lookup for CredentialByDigest {
    type Key = KeyDigest;
    type Column = Vec<u8>;
    type Columns = Vec<Vec<u8>>;
    type Found = Seen;

    fn sql() -> String {
        text("digest")
    }

    fn column(key: &KeyDigest) -> Vec<u8> {
        key.0.to_vec()
    }

    fn key(column: Vec<u8>) -> Result<KeyDigest, StoreError> {
        let digest = column.try_into();
        digest.map(KeyDigest).map_err(|_| StoreError::corrupt("keys: the column digest is not a SHA-256"))
    }

    fn found(row: &Row) -> Result<Seen, StoreError> {
        seen(row)
    }
}

impl Lookup for CredentialById {
    type Key = i64;
    type Column = i64;
    type Columns = Vec<i64>;
    type Found = Seen;

    fn sql() -> String {
        text("id")
    }

    fn column(key: &i64) -> i64 {
        *key
    }

    fn key(column: i64) -> Result<i64, StoreError> {
        Ok(column)
    }

    fn found(row: &Row) -> Result<Seen, StoreError> {
        seen(row)
    }
}

fn text(column: &str) -> String {
    let list = |table: &str, columns: &str| {
        columns.split(", ").map(|name| format!("{table}.{}", name.trim())).collect::<Vec<_>>().join(", ")
    };
    // The account is read in a subquery with a limit, so that the only possible plan uses the primary key of the
    // accounts.
    format!(
        "select keys.{column}, (select number from key_changes where one), {}, {} from keys \
         cross join lateral (select {} from accounts where id = keys.account_id limit 1) as accounts \
         where keys.{column} = any($1) order by keys.{column}",
        list("keys", KeyRecord::COLUMNS),
        list("accounts", Account::COLUMNS),
        Account::COLUMNS,
    )
}

fn seen(row: &Row) -> Result<Seen, StoreError> {
    // The first column is the one that the key was found by.
    let mut fields = Fields::after(1, KeyRecord::TABLE, row);
    let changes = fields.plain()?;
    let key = KeyRecord::read(&mut fields)?;
    let account = Account::read(&mut fields)?;
    Ok(Seen { changes, credential: Credential::new(&key, &account) })
}
