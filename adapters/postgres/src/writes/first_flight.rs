//! Reading records, with or without locks, and drawing ids: one flight of pipelined statements.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use futures_util::future::join_all;
use petstore_domain::RecordRef;
use petstore_ports::StoreError;
use tokio::time::timeout;
use tokio_postgres::{Error, Row};

use super::failure::Failure;
use super::loaded::Loaded;
use super::next_ids::{self, NextIds};
use super::reconnect::Open;
use super::wanted::{Add, Locking, Wanted};
use crate::connection::Session;

type Statements<'s> = Vec<Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send + 's>>>;

/// Begins a transaction with these statements, locks these records, and draws ids.
pub(super) async fn lock(
    open: &Open,
    references: &BTreeSet<&RecordRef>,
    wanted: &Wanted,
    begin: &str,
) -> Result<(Loaded, NextIds), Failure> {
    fly(open, references, wanted, Some(begin)).await
}

/// Reads these records without locks, and draws ids.
pub(super) async fn read(
    open: &Open,
    references: &BTreeSet<&RecordRef>,
    wanted: &Wanted,
) -> Result<(Loaded, NextIds), Failure> {
    fly(open, references, wanted, None).await
}

/// Rolls a transaction back. Returns `true` if the connection can be used again, and `false` if the server has not
/// confirmed it in time.
pub(super) async fn roll_back(open: &Open) -> bool {
    matches!(timeout(open.session.answer_time(), open.session.batch("rollback")).await, Ok(Ok(())))
}

async fn fly(
    open: &Open,
    references: &BTreeSet<&RecordRef>,
    wanted: &Wanted,
    begin: Option<&str>,
) -> Result<(Loaded, NextIds), Failure> {
    let locking = if begin.is_some() { Locking::Rows } else { Locking::None };
    let late = |_| Failure::Late(StoreError::unavailable("the records were not read in time"));
    let flight =
        timeout(open.session.answer_time(), send(open, wanted, locking, begin)).await.map_err(late)?;
    let (adds, results) = flight.map_err(|error| Failure::of("read the records of a batch", error))?;
    let mut loaded = Loaded::absent(references.iter().copied());
    let mut ids = NextIds::default();
    let mut results = results.into_iter();
    for (add, rows) in adds.into_iter().zip(results.by_ref()) {
        add(&mut loaded, &rows).map_err(Failure::Refused)?;
    }
    for ((kind, _), rows) in wanted.draws().zip(results) {
        let drawn = rows.iter().map(|row| row.try_get::<_, i64>(0).map(|id| u64::try_from(id).unwrap_or(0)));
        let drawn: Result<Vec<u64>, Error> = drawn.collect();
        ids.add(kind, drawn.map_err(|error| Failure::of("draw ids", error))?);
    }
    Ok((loaded, ids))
}

/// Sends all statements before the first answer arrives. Returns the rows of the reads and draws.
async fn send(
    open: &Open,
    wanted: &Wanted,
    locking: Locking,
    begin: Option<&str>,
) -> Result<(Vec<Add>, Vec<Vec<Row>>), Error> {
    let session = &open.session;
    let reads = wanted.reads(locking);
    let mut prepared = Vec::with_capacity(reads.len());
    for read in &reads {
        prepared.push(session.prepared(&read.sql).await?);
    }
    let mut drawn = Vec::new();
    for (kind, count) in wanted.draws() {
        drawn.push((session.prepared(next_ids::sql(kind)).await?, count));
    }
    // Without prepared statements these need a separate transaction, which has the settings.
    let alone = (begin.is_none() && !session.prepares()).then(|| session.begin());
    let mut statements: Statements<'_> = Vec::with_capacity(2 + prepared.len() + drawn.len());
    statements.push(Box::pin(batch(session, begin.or(alone.as_deref()))));
    for (statement, read) in prepared.iter().zip(&reads) {
        statements.push(Box::pin(session.query(statement, &read.parameters)));
    }
    for (statement, count) in &drawn {
        statements.push(Box::pin(async move { session.query(statement, &[*count]).await }));
    }
    statements.push(Box::pin(batch(session, alone.as_ref().map(|_| "commit"))));
    // A statement is sent when its future is polled first, so they are sent in their order. The first failure is the
    // cause of the later ones.
    let results = join_all(statements).await.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok((reads.into_iter().map(|read| read.add).collect(), results.into_iter().skip(1).collect()))
}

async fn batch(session: &Session, sql: Option<&str>) -> Result<Vec<Row>, Error> {
    if let Some(sql) = sql {
        session.batch(sql).await?;
    }
    Ok(Vec::new())
}
