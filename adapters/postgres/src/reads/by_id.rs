//! Records by their id.

use petstore_ports::StoreError;
use tokio_postgres::Row;

use crate::queries::Lookup;
use crate::records::Record;

impl<R: Record + Clone + Send + Sync + 'static> Lookup for R {
    type Key = i64;
    type Column = i64;
    type Columns = Vec<i64>;
    type Found = R;

    fn sql() -> String {
        // Because of the `order by`, the planner does not use another index that merely ends with the id, whatever the
        // statistics say.
        format!("select {} from {} where id = any($1) order by id", R::COLUMNS, R::TABLE)
    }

    fn column(key: &i64) -> i64 {
        *key
    }

    fn key(column: i64) -> Result<i64, StoreError> {
        Ok(column)
    }

    fn found(row: &Row) -> Result<R, StoreError> {
        R::parse(row)
    }
}
