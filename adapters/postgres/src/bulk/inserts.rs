//! Inserting many records: a chunk in one statement.

use petstore_domain::{CategoryRecord, OrderRecord, PetRecord, StoredMembers};
use petstore_ports::StoreError;

use crate::connection::{Parameter, Session};
use crate::error::failed;
use crate::members::{self, Derived, TableSql};
use crate::tables;

/// Records of one statement.
pub(super) const CHUNK: usize = 5_000;

/// Receives the number of records of each statement after it was executed.
pub(super) type Wrote<'w> = dyn FnMut(usize) + Send + 'w;

/// Inserts categories.
pub(super) async fn categories(
    session: &Session,
    records: &[CategoryRecord],
    wrote: &mut Wrote<'_>,
) -> Result<(), StoreError> {
    insert(session, records, &tables::CATEGORIES, &tables::OF_CATEGORIES, wrote).await
}

/// Inserts pets, whose categories are there.
pub(super) async fn pets(
    session: &Session,
    records: &[PetRecord],
    wrote: &mut Wrote<'_>,
) -> Result<(), StoreError> {
    insert(session, records, &tables::PETS, &tables::OF_PETS, wrote).await
}

/// Inserts orders.
pub(super) async fn orders(
    session: &Session,
    records: &[OrderRecord],
    wrote: &mut Wrote<'_>,
) -> Result<(), StoreError> {
    insert(session, records, &tables::ORDERS, &[], wrote).await
}

async fn insert<R: StoredMembers + Sync>(
    session: &Session,
    records: &[R],
    sql: &TableSql,
    derived: &[Derived<R>],
    wrote: &mut Wrote<'_>,
) -> Result<(), StoreError> {
    let text = numbered(&sql.insert);
    for chunk in records.chunks(CHUNK) {
        let columns = members::all(&chunk.iter().collect::<Vec<_>>(), derived);
        let inserted = async {
            let statement = session.prepared(&text).await?;
            let parameters: Vec<_> = columns.iter().map(|column| &**column as &dyn Parameter).collect();
            session.execute(&statement, &parameters).await
        };
        let inserted = inserted.await.map(drop);
        inserted.map_err(|error| failed("insert the rows of an import or a reset", error))?;
        wrote(chunk.len());
    }
    Ok(())
}

/// The statement with a number in place of each question mark.
fn numbered(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len() + 16);
    for (place, part) in sql.split('?').enumerate() {
        if place > 0 {
            text.push('$');
            text.push_str(&place.to_string());
        }
        text.push_str(part);
    }
    text
}
