//! The schema of the database.

use petstore_ports::StoreError;

use crate::connection::Session;
use crate::error::failed;

/// The steps from each version to the next. A released step never changes.
const MIGRATIONS: &[&str] = &[include_str!("schema/1.sql")];

/// Creates the tables in a schema that does not exist, with these epochs.
pub(crate) async fn create(session: &Session, schema: &str, epoch: u64) -> Result<(), StoreError> {
    let exists = session.client().query_one("select to_regclass('shop') is not null", &[]).await;
    let exists: bool = exists.map_err(|error| failed("look for the schema", error))?.get(0);
    if exists {
        return Ok(());
    }
    let steps = MIGRATIONS.concat();
    let sql = format!(
        "begin; create schema if not exists {schema}; {steps} insert into shop (epoch, is_sandbox) values ('{epoch:016x}', false);
         insert into event_log (epoch) values ('{epoch:016x}'); insert into key_changes (number) values (0); commit"
    );
    session.batch(&sql).await.map_err(|error| failed("create the schema", error))
}
