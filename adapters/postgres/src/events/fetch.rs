//! Fetching batches: one statement reads them, the extent of the log, and whether there are batches without a position.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{Position, Timestamp};
use petstore_ports::{EventBounds, LogEnd, PageOrder, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_postgres::Row;

use super::columns::{epoch, position};
use super::feed::Ends;
use super::reconnecting::{Connection, Reconnecting};
use super::sequencer::Sequencer;
use super::statements;
use crate::error::failed;
use crate::records::Fields;

/// Fetches that wait for a connection at most.
pub(super) const JOBS_MAX: usize = 4_096;

/// The time limit of a statement.
const STATEMENT_TIME: Duration = Duration::from_secs(2);

/// The time limit of a fetch, including the wait for positions.
const FETCH_TIME: Duration = Duration::from_secs(4);

/// The batches to be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The epoch of the log, if only one will do.
    pub(super) epoch: Option<u64>,
    pub(super) order: PageOrder,
    /// The position to begin at, exclusive; none for the oldest or the newest event.
    pub(super) after: Option<Position>,
    /// The number of positions.
    pub(super) positions: u32,
    /// True if every change that was answered must have its position first.
    pub(super) is_current: bool,
}

/// A batch with its positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) first: Position,
    pub(super) last: Position,
    pub(super) body: Vec<u8>,
}

/// The batches that overlap the positions, and the extent of the log at the same moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fetched {
    pub(super) bounds: EventBounds,
    /// In the order of their positions, without a gap.
    pub(super) batches: Vec<Batch>,
}

/// A fetch that waits for its rows.
pub(super) struct Job {
    wanted: Wanted,
    done: oneshot::Sender<Result<Vec<Row>, StoreError>>,
}

/// The callers' side of the task.
#[derive(Clone)]
pub(super) struct Fetcher {
    jobs: mpsc::Sender<Job>,
}

impl Fetcher {
    pub(super) const fn new(jobs: mpsc::Sender<Job>) -> Self {
        Self { jobs }
    }

    /// Fetches batches. Rows are parsed on the caller's thread.
    pub(super) async fn fetch(&self, wanted: Wanted) -> Result<Fetched, StoreError> {
        let (done, rows) = oneshot::channel();
        let sent = self.jobs.try_send(Job { wanted, done });
        sent.map_err(|_| StoreError::busy("too many reads of the event log are waiting"))?;
        let rows = rows.await.map_err(|_| StoreError::unavailable("the store is closed"))??;
        parse(&rows)
    }

    /// The extent of the log, with every change that was answered before the call.
    pub(super) async fn bounds(&self) -> Result<EventBounds, StoreError> {
        let order = PageOrder::Ascending;
        let wanted = Wanted { epoch: None, order, after: None, positions: 0, is_current: true };
        self.fetch(wanted).await.map(|fetched| fetched.bounds)
    }
}

/// Serves jobs, all on one connection, until the store is closed.
pub(super) async fn serve(
    mut connections: Reconnecting,
    mut jobs: mpsc::Receiver<Job>,
    sequencer: Sequencer,
    ends: Arc<Ends>,
) {
    while let Some(Job { wanted, done }) = jobs.recv().await {
        if done.is_closed() {
            continue;
        }
        match connections.connection().await {
            Ok(connection) => {
                let (sequencer, ends) = (sequencer.clone(), Arc::clone(&ends));
                tokio::spawn(async move {
                    let fetching = timeout(FETCH_TIME, fetch(&connection, wanted, &sequencer, &ends)).await;
                    let late = || StoreError::unavailable("the event log was not read in time");
                    // A caller that is gone needs no answer.
                    let _ = done.send(fetching.unwrap_or_else(|_| Err(late())));
                });
            }
            Err(error) => drop(done.send(Err(error))),
        }
    }
}

/// Reads the rows. If batches have no position, it lets the sequencer run and reads again.
async fn fetch(
    connection: &Connection,
    wanted: Wanted,
    sequencer: &Sequencer,
    ends: &Ends,
) -> Result<Vec<Row>, StoreError> {
    let mut rows = statement(connection, wanted).await?;
    if has_backlog(&rows)? {
        sequencer.run().await?;
        // What is committed after the call need not be in the page.
        rows = statement(connection, Wanted { is_current: false, ..wanted }).await?;
    }
    if let Some(row) = rows.first() {
        let (bounds, epoch_number) = bounds(&mut Fields::of("event_log", row))?;
        ends.learn(epoch_number, LogEnd { epoch: bounds.epoch, last: bounds.last });
    }
    Ok(rows)
}

async fn statement(connection: &Connection, wanted: Wanted) -> Result<Vec<Row>, StoreError> {
    let outcome = match timeout(STATEMENT_TIME, query(connection, wanted)).await {
        Ok(outcome) => outcome.map_err(|error| failed("read the event log", error)),
        Err(_) => Err(StoreError::unavailable("the event log was not read in time")),
    };
    if outcome.is_err() {
        connection.discard();
    }
    outcome
}

async fn query(connection: &Connection, wanted: Wanted) -> Result<Vec<Row>, tokio_postgres::Error> {
    let sql = match wanted.order {
        PageOrder::Ascending => &*statements::ASCENDING,
        PageOrder::Descending => &*statements::DESCENDING,
    };
    let statement = connection.session.prepared(sql).await?;
    let after = wanted.after.map(|position| i64::try_from(position.get()).unwrap_or(i64::MAX));
    let positions = i64::from(wanted.positions);
    let epoch = wanted.epoch.map(|epoch| format!("{epoch:016x}"));
    connection.session.client().query(&statement, &[&after, &positions, &wanted.is_current, &epoch]).await
}

/// The column `has_backlog`.
const HAS_BACKLOG: usize = 5;

fn has_backlog(rows: &[Row]) -> Result<bool, StoreError> {
    let row = rows.first().ok_or_else(|| StoreError::corrupt("event_log has no row"))?;
    row.try_get(HAS_BACKLOG).map_err(|error| failed("read the event log", error))
}

/// Reads the extent of the log and the number of its epoch.
fn bounds(fields: &mut Fields<'_>) -> Result<(EventBounds, u64), StoreError> {
    let (epoch, epoch_number) = (epoch(fields)?, fields.number(Ok::<_, &str>)?);
    let (last, pruned) = (position(fields)?, position(fields)?);
    let oldest_at: Option<Timestamp> = fields.optional_time()?;
    Ok((EventBounds { epoch, pruned, last, oldest_at }, epoch_number))
}

fn parse(rows: &[Row]) -> Result<Fetched, StoreError> {
    let row = rows.first().ok_or_else(|| StoreError::corrupt("event_log has no row"))?;
    let (bounds, _) = bounds(&mut Fields::of("event_log", row))?;
    let mut batches = Vec::with_capacity(rows.len());
    for row in rows {
        batches.extend(batch(row)?);
    }
    batches.sort_unstable_by_key(|batch| batch.first);
    if let Some(pair) = batches.windows(2).find(|pair| pair[1].first != pair[0].last.next()) {
        let after = pair[0].last;
        return Err(StoreError::corrupt(format!(
            "event_batches: the events after position {after} are missing"
        )));
    }
    Ok(Fetched { bounds, batches })
}

/// Reads the batch of a row, if it has one.
fn batch(row: &Row) -> Result<Option<Batch>, StoreError> {
    let read = |column| row.try_get(column).map_err(|error| failed("read the event log", error));
    let last: Option<i64> = read(HAS_BACKLOG + 1)?;
    let Some(last) = last else { return Ok(None) };
    let events: i32 = row.try_get(HAS_BACKLOG + 2).map_err(|error| failed("read the event log", error))?;
    let body = row.try_get(HAS_BACKLOG + 3).map_err(|error| failed("read the event log", error))?;
    let position = |number: i64| u64::try_from(number).ok().and_then(Position::new);
    let positions = position(last - i64::from(events) + 1).zip(position(last));
    let (first, last) = positions.ok_or_else(|| {
        StoreError::corrupt("event_batches: the columns last_position and events do not fit")
    })?;
    Ok(Some(Batch { first, last, body }))
}
