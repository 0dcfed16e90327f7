//! Noticing that the tables were copied from another database.

use petstore_ports::StoreError;

use super::{Continuity, Reason, renew};
use crate::connection::session::Session;
use crate::error::{failed, is_withheld};

/// The version of the tables that has the column.
pub(crate) const SINCE: usize = 2;

/// The identity of a database: the number that its cluster was given when it was created, which standbys share, and the
/// number of the database in it.
const IDENTITY: &str = "select format('%s/%s', system_identifier, (select oid from pg_database where datname = current_database()))
    from pg_control_system()";

/// A number for the shop: 16 hexadecimal digits from the identity of the database and the schema.
const SHOP: &str =
    "select left(encode(sha256(convert_to(database_identity || '/' || current_schema(), 'UTF8')), 'hex'), 16)
    from shop where one";

/// Reads the number of the shop, which stays the same through resets, new epochs and failovers. Tables that were copied have
/// another one. None if the identity of the database is not known.
pub(crate) async fn shop(session: &Session) -> Result<Option<String>, StoreError> {
    let error = |error| failed("read the identity of the shop", error);
    let rows = session.rows_alone(SHOP, &[]).await.map_err(error)?;
    rows.first().map_or(Ok(None), |row| row.try_get(0)).map_err(error)
}

/// Begins a new epoch if the tables were copied from another database. Several nodes that start at once begin one epoch.
pub(crate) async fn settle(continuity: &Continuity, session: &Session) -> Result<(), StoreError> {
    let error = |error| failed("compare the identity of the database", error);
    let identity: String = match session.rows(IDENTITY, &[]).await {
        Ok(rows) => {
            let row = rows.first().ok_or_else(|| StoreError::corrupt("pg_control_system has no row"))?;
            row.try_get(0).map_err(error)?
        }
        // An operator has taken the privilege away, which all roles have by default, or a service lacks the function.
        Err(refused) if is_withheld(&refused) => return Ok(()),
        Err(other) => return Err(error(other)),
    };
    let rows =
        session.rows_alone("select database_identity from shop where one", &[]).await.map_err(error)?;
    let stored: Option<String> = rows.first().map_or(Ok(None), |row| row.try_get(0)).map_err(error)?;
    match stored {
        Some(stored) if stored == identity => Ok(()),
        Some(_) => renew(continuity, session, Reason::Copied(&identity)).await.map(drop),
        None => {
            let sql = "update shop set database_identity = $1 where database_identity is null";
            session.rows_alone(sql, &[&identity]).await.map(drop).map_err(error)
        }
    }
}
