//! The mark of a schema that a sandbox may reset. It is made with the schema, and never again.

use petstore_ports::StoreError;

use crate::connection::Session;
use crate::error::failed;

/// Removes the mark.
pub(crate) async fn disclaim(session: &Session) -> Result<(), StoreError> {
    let removed = session.client().execute("update shop set is_sandbox = false where is_sandbox", &[]).await;
    removed.map(drop).map_err(|error| failed("cannot remove the mark of a sandbox", error))
}
