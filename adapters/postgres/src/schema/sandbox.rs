//! The mark of a schema that a sandbox may reset. It is set only when the schema is created.

use petstore_ports::StoreError;

use crate::connection::Session;
use crate::error::failed;

/// The failure of a reset of a schema without the mark.
pub(crate) fn no_sandbox() -> StoreError {
    StoreError::unavailable("a server without --sandbox uses the schema, which is no longer a sandbox's")
}

/// Removes the mark.
pub(crate) async fn disclaim(session: &Session) -> Result<(), StoreError> {
    let removed = session.batch_alone("update shop set is_sandbox = false where is_sandbox").await;
    removed.map_err(|error| failed("cannot remove the mark of a sandbox", error))
}

/// Returns whether a schema has the mark. Its name stands in the statement, which is outside of a transaction.
pub(crate) async fn is_sandbox(session: &Session, schema: &str) -> Result<bool, StoreError> {
    let sql = format!("select is_sandbox from \"{schema}\".shop where one");
    let rows = session.rows(&sql, &[]).await.map_err(|error| failed("read the mark of a sandbox", error))?;
    let row = rows.first().ok_or_else(|| StoreError::corrupt("shop: the row is missing"))?;
    Ok(row.get(0))
}
