//! Statements that find rows by a list of keys.

use petstore_ports::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::FromSqlOwned;

use crate::connection::Parameter;

/// A statement that finds at most one row for each key of a list.
pub(crate) trait Lookup: Send + Sync + 'static {
    /// The key. Its order is that of the rows.
    type Key: Ord + Send + Sync + 'static;
    /// The form of the key in SQL, which the first column of each row has.
    type Column: FromSqlOwned;
    /// The array that `$1` of the statement is.
    type Columns: FromIterator<Self::Column> + Parameter + Send + 'static;
    /// The contents of a row.
    type Found: Clone + Send + 'static;

    /// The text of the statement. Its rows are sorted by the key.
    fn sql() -> String;

    /// The key as a parameter.
    fn column(key: &Self::Key) -> Self::Column;

    /// Parses the first column of a row.
    fn key(column: Self::Column) -> Result<Self::Key, StoreError>;

    /// Parses a row.
    fn found(row: &Row) -> Result<Self::Found, StoreError>;
}
