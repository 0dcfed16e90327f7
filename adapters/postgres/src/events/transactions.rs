//! The transactions of the sequencer. Each one is sent as a whole and takes one round trip.

use std::time::Duration;

use futures_util::future::join4;
use petstore_ports::{LogEnd, StoreError};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::backlog::Seen;
use super::fetch::{epoch, position};
use super::link::Line;
use super::retention::{Limits, Pruned};
use super::statements;
use crate::error::failed;
use crate::records::{Fields, stored};

/// The time limit of a transaction.
const TRANSACTION_TIME: Duration = Duration::from_secs(2);

/// Batches that one transaction numbers at most.
const NUMBERED_MAX: i64 = 4_096;

/// Batches that one transaction drops at most: readers wait for positions meanwhile.
const PRUNED_MAX: i64 = 1_000;

/// The result of giving positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) epoch_number: u64,
    pub(super) end: LogEnd,
    pub(super) seen: Seen,
}

/// Gives positions to the batches that have none, in the order of their `seq`. The positions are durable when this returns.
pub(super) async fn number(line: &Line, settled: i64) -> Result<Numbered, StoreError> {
    let (locked, row) = transaction(line, statements::NUMBER, &[&settled, &NUMBERED_MAX]).await?;
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

/// Drops the oldest batches that exceed the limits.
pub(super) async fn prune(line: &Line, limits: Limits) -> Result<Pruned, StoreError> {
    let not_before = stored(limits.not_before);
    let parameters: [&(dyn ToSql + Sync); 3] = [&not_before, &limits.bytes, &PRUNED_MAX];
    let (_, row) = transaction(line, statements::PRUNE, &parameters).await?;
    let mut fields = Fields::of("event_batches", &row);
    let batches: i64 = fields.plain()?;
    Ok(Pruned { events: fields.number(Ok::<_, &str>)?, has_more: batches >= PRUNED_MAX })
}

/// Runs a statement while the log is locked. Returns the row of the lock and that of the statement. After a failure the
/// connection is given up, because the transaction may still be open.
async fn transaction(
    line: &Line,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<(Row, Row), StoreError> {
    let outcome = match timeout(TRANSACTION_TIME, pipeline(line, sql, parameters)).await {
        Ok(outcome) => outcome.map_err(|error| failed("give positions to events", error)),
        Err(_) => Err(StoreError::unavailable("positions of events were not given in time")),
    };
    if outcome.is_err() {
        line.discard();
    }
    outcome
}

async fn pipeline(line: &Line, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<(Row, Row), Error> {
    let lock = line.session.prepared(statements::LOCK).await?;
    let statement = line.session.prepared(sql).await?;
    let client = line.session.client();
    // Each is sent when it is polled first, in this order.
    let begin = client.batch_execute("begin");
    let commit = client.batch_execute("commit");
    let (begun, locked, done, committed) =
        join4(begin, client.query_one(&lock, &[]), client.query_one(&statement, parameters), commit).await;
    // The commit of a transaction that failed undoes it, and reports no error. So each result counts.
    begun?;
    let rows = (locked?, done?);
    committed?;
    Ok(rows)
}
