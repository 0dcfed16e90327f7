//! The transactions of the sequencer. Each one is sent as a whole and takes one round trip.

use futures_util::future::join4;
use petstore_ports::{LogEnd, StoreError};
use tokio::time::timeout;
use tokio_postgres::{Error, Row};

use super::backlog::Seen;
use super::columns::{epoch, position};
use super::reconnecting::Connection;
use super::retention::{Limits, Pruned};
use super::statements;
use crate::connection::Parameter;
use crate::error::{Fate, failed_read, fate};
use crate::records::{Fields, stored};

/// The maximum number of batches to which one transaction gives positions.
const NUMBERED_MAX: i64 = 4_096;

/// The maximum number of batches that one transaction drops. Readers wait for positions meanwhile.
const PRUNED_MAX: i64 = 1_000;

/// The result of giving positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) epoch_number: u64,
    pub(super) end: LogEnd,
    pub(super) seen: Seen,
}

/// Gives positions to the batches that have none, in the order of their `seq`. The positions are durable when this returns.
pub(super) async fn number(connection: &Connection, settled: i64) -> Result<Numbered, StoreError> {
    let (locked, row) = transaction(connection, statements::NUMBER, &[&settled, &NUMBERED_MAX]).await?;
    let transaction = Fields::of("event_log", &locked).number(Ok::<_, &str>)?;
    let mut fields = Fields::of("event_log", &row);
    let (epoch, epoch_number) = (epoch(&mut fields)?, fields.number(Ok::<_, &str>)?);
    let last = position(&mut fields)?;
    let batches: i64 = fields.plain()?;
    let last_seq = fields.plain()?;
    let oldest_running = fields.number(Ok::<_, &str>)?;
    let seen = Seen { transaction, oldest_running, last_seq, is_complete: batches < NUMBERED_MAX };
    Ok(Numbered { epoch_number, end: LogEnd { epoch, last }, seen })
}

/// Drops the oldest batches that exceed the limits. If there are none, the log is not locked.
pub(super) async fn prune(connection: &Connection, limits: Limits) -> Result<Pruned, StoreError> {
    let not_before = stored(limits.not_before);
    if !is_over(connection, &[&not_before, &limits.bytes]).await? {
        return Ok(Pruned { events: 0, has_more: false });
    }
    let parameters: [&dyn Parameter; 3] = [&not_before, &limits.bytes, &PRUNED_MAX];
    let (_, row) = transaction(connection, statements::PRUNE, &parameters).await?;
    let mut fields = Fields::of("event_batches", &row);
    let batches: i64 = fields.plain()?;
    Ok(Pruned { events: fields.number(Ok::<_, &str>)?, has_more: batches >= PRUNED_MAX })
}

async fn is_over(connection: &Connection, parameters: &[&dyn Parameter]) -> Result<bool, StoreError> {
    let rows = limited(connection, connection.session.rows_alone(statements::IS_OVER, parameters)).await?;
    let row = first(rows)?;
    row.try_get(0).map_err(|error| StoreError::corrupt("event_log cannot be read").with_source(error))
}

/// Runs a statement while the log is locked. Returns the row of the lock and that of the statement. If the server lacks a
/// resource, the transaction is rolled back and the connection stays. After any other failure the connection is given up,
/// because the transaction may still be open.
async fn transaction(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn Parameter],
) -> Result<(Row, Row), StoreError> {
    let (locked, changed) = limited(connection, pipeline(connection, sql, parameters)).await?;
    Ok((first(locked)?, first(changed)?))
}

fn first(rows: Vec<Row>) -> Result<Row, StoreError> {
    rows.into_iter().next().ok_or_else(|| StoreError::corrupt("event_log has no row"))
}

/// Awaits an answer within the time limit. After a failure that the connection does not survive it is given up.
async fn limited<T>(
    connection: &Connection,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, StoreError> {
    let Ok(outcome) = timeout(connection.session.answer_time(), answer).await else {
        connection.discard();
        return Err(StoreError::unavailable("positions of events were not given in time"));
    };
    if let Err(error) = &outcome
        && !(fate(error) == Fate::Exhausted && is_rolled_back(connection).await)
    {
        connection.discard();
    }
    outcome.map_err(|error| failed_read("give positions to events", error))
}

/// Rolls a failed transaction back. Returns whether the server has confirmed it in time.
async fn is_rolled_back(connection: &Connection) -> bool {
    let session = &connection.session;
    matches!(timeout(session.answer_time(), session.batch("rollback")).await, Ok(Ok(())))
}

async fn pipeline(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn Parameter],
) -> Result<(Vec<Row>, Vec<Row>), Error> {
    let session = &connection.session;
    let lock = session.prepared(statements::LOCK).await?;
    let statement = session.prepared(sql).await?;
    let begin = session.begin();
    // A statement is sent when its future is polled first, so they are sent in this order.
    let (start, locked, changed, end) = join4(
        session.batch(&begin),
        session.query(&lock, &[]),
        session.query(&statement, parameters),
        session.batch("commit"),
    )
    .await;
    // The commit of a failed transaction rolls it back and reports no error. So the results of the other statements
    // must be checked, too.
    start?;
    let rows = (locked?, changed?);
    end?;
    Ok(rows)
}
