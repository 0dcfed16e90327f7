//! Exports: pages by id, all on one snapshot.
//!
//! The port `Bulk` wants the rows as of one moment, so one read-only transaction stays open until the last page. It
//! delays no writer. But until it ends, the server cannot remove old versions of rows.

use std::ops::ControlFlow;
use std::sync::Arc;

use petstore_domain::{CategoryRecord, OrderRecord, PetRecord};
use petstore_ports::{Row, StoreError};

use crate::PostgresStore;
use crate::connection::{Role, Session};
use crate::error::failed;
use crate::records::Record;

/// Rows of one page.
const PAGE: i64 = 2_000;

/// Passes all rows of the shop to the sink.
pub(super) fn export(
    store: &PostgresStore,
    sink: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let connector = Arc::clone(&store.connector);
    let session = store.background.run(async move {
        let session = connector.connect_with_retries(Role::Reader).await?;
        let begin = session.begin_as("isolation level repeatable read read only");
        session.batch(&begin).await.map_err(|error| failed("begin an export", error))?;
        Ok::<_, StoreError>(Arc::new(session))
    })??;
    let id = |record: &CategoryRecord| record.category.id.get();
    if walk(store, &session, id, &mut |record| sink(Row::Category(record)))?.is_break() {
        return Ok(());
    }
    let id = |record: &PetRecord| record.pet.id.get();
    if walk(store, &session, id, &mut |record| sink(Row::Pet(record)))?.is_break() {
        return Ok(());
    }
    let id = |record: &OrderRecord| record.order.id.get();
    walk(store, &session, id, &mut |record| sink(Row::Order(record))).map(drop)
}

fn walk<R: Record + Send + 'static>(
    store: &PostgresStore,
    session: &Arc<Session>,
    id: impl Fn(&R) -> u64,
    sink: &mut dyn FnMut(R) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, StoreError> {
    let mut after = 0;
    loop {
        let page = Arc::clone(session);
        let records: Vec<R> = store.background.run(async move { read(&page, after).await })??;
        let Some(last) = records.last().map(&id) else { return Ok(ControlFlow::Continue(())) };
        after = i64::try_from(last).unwrap_or(i64::MAX);
        for record in records {
            if sink(record).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
}

async fn read<R: Record>(session: &Session, after: i64) -> Result<Vec<R>, StoreError> {
    let sql = format!("select {} from {} where id > $1 order by id limit $2", R::COLUMNS, R::TABLE);
    let rows = session
        .rows(&sql, &[&after, &PAGE])
        .await
        .map_err(|error| failed("read a page of an export", error))?;
    rows.iter().map(R::parse).collect()
}
