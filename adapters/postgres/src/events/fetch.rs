//! Fetching batches. Equal fetches that wait at the same time share a statement: many readers follow the end of the log.

use std::collections::HashMap;
use std::sync::Arc;

use petstore_ports::{EventBounds, LogEnd, SortDirection, StoreError, StoreErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use tokio_postgres::Row;

use super::batches::{Fetched, Wanted};
use super::feed::Ends;
use super::reconnecting::{Connection, Reconnecting};
use super::sequencer::Sequencer;
use super::statements;
use crate::calls::Calls;
use crate::connection::continuity::Continuity;
use crate::error::{Fate, failed_read, fate};

/// The maximum number of fetches that wait for a statement.
pub(super) const JOBS_MAX: usize = 4_096;

/// The maximum number of statements that run at the same time. Further fetches wait, and equal ones among them then
/// share a statement.
const STATEMENTS_MAX: usize = 4;

/// Attempts of a fetch: a connection that was lost is replaced once.
const ATTEMPTS_MAX: u32 = 2;

/// A caller that waits for batches.
type Caller = oneshot::Sender<Result<Arc<Fetched>, StoreError>>;

/// A fetch that waits for its turn.
pub(super) struct Job {
    wanted: Wanted,
    caller: Caller,
    /// The number of attempts so far.
    attempts: u32,
}

/// The callers' side of the task.
#[derive(Clone)]
pub(super) struct Fetcher {
    jobs: mpsc::Sender<Job>,
    calls: Arc<Calls>,
}

impl Fetcher {
    pub(super) const fn new(jobs: mpsc::Sender<Job>, calls: Arc<Calls>) -> Self {
        Self { jobs, calls }
    }

    /// Fetches batches.
    pub(super) async fn fetch(&self, wanted: Wanted) -> Result<Arc<Fetched>, StoreError> {
        let (caller, answer) = oneshot::channel();
        self.send(Job { wanted, caller, attempts: 0 });
        let outcome = answer.await.map_err(|_| StoreError::unavailable("the store is closed"))?;
        self.calls.events.note(&outcome);
        outcome
    }

    /// Takes note of damage in batches that were fetched.
    pub(super) fn damaged(&self, error: &StoreError) {
        self.calls.events.failed(error);
    }

    fn send(&self, job: Job) {
        if let Err(unsent) = self.jobs.try_send(job) {
            let error = StoreError::busy("too many reads of the event log are waiting");
            answer([unsent.into_inner().caller], &Err(error));
        }
    }

    /// The extent of the log, with every change that was answered before the call.
    pub(super) async fn bounds(&self) -> Result<EventBounds, StoreError> {
        let order = SortDirection::Ascending;
        let wanted = Wanted { epoch: None, order, after: None, positions: 0, is_current: true };
        self.fetch(wanted).await.map(|fetched| fetched.bounds)
    }
}

/// Callers that are gone need no answer.
fn answer(callers: impl IntoIterator<Item = Caller>, outcome: &Result<Arc<Fetched>, StoreError>) {
    for caller in callers {
        let _: Result<(), _> = caller.send(outcome.clone());
    }
}

/// The parts that all statements share.
#[derive(Clone)]
pub(super) struct Shared {
    /// The queue to which a fetch returns if its connection was lost.
    pub(super) fetcher: Fetcher,
    pub(super) sequencer: Sequencer,
    pub(super) ends: Arc<Ends>,
    pub(super) continuity: Arc<Continuity>,
}

/// Serves jobs, all on one connection, until the store is closed.
pub(super) async fn serve(mut connections: Reconnecting, mut jobs: mpsc::Receiver<Job>, shared: Shared) {
    let turns = Arc::new(Semaphore::new(STATEMENTS_MAX));
    while let Some(first) = jobs.recv().await {
        // The semaphore is never closed.
        let Ok(turn) = Arc::clone(&turns).acquire_owned().await else { return };
        let mut turn = Some(turn);
        for (wanted, equal) in equal_jobs(first, &mut jobs) {
            let connection = match connections.connection().await {
                Ok(connection) => connection,
                Err(error) => {
                    answer(equal.into_iter().map(|job| job.caller), &Err(error));
                    continue;
                }
            };
            let turn = match turn.take() {
                Some(turn) => turn,
                None => match Arc::clone(&turns).acquire_owned().await {
                    Ok(turn) => turn,
                    Err(_) => return,
                },
            };
            tokio::spawn(run(connection, wanted, equal, turn, shared.clone()));
        }
    }
}

/// The jobs that wait now, with equal ones together. Those whose callers have gone are left out.
fn equal_jobs(first: Job, jobs: &mut mpsc::Receiver<Job>) -> HashMap<Wanted, Vec<Job>> {
    let mut equal: HashMap<Wanted, Vec<Job>> = HashMap::new();
    let rest = std::iter::from_fn(|| jobs.try_recv().ok());
    for job in std::iter::once(first).chain(rest).filter(|job| !job.caller.is_closed()) {
        equal.entry(job.wanted).or_default().push(job);
    }
    equal
}

/// Runs equal jobs.
async fn run(
    connection: Arc<Connection>,
    wanted: Wanted,
    equal: Vec<Job>,
    turn: OwnedSemaphorePermit,
    shared: Shared,
) {
    // The time includes the wait for positions.
    let time = connection.session.answer_time();
    let fetched = timeout(time, fetch(&connection, wanted, turn, &shared)).await;
    let is_lost = matches!(&fetched, Ok(Err(error)) if error.kind() == StoreErrorKind::Unavailable);
    let outcome = fetched.unwrap_or_else(|_| {
        connection.discard();
        Err(StoreError::unavailable("the event log was not read in time"))
    });
    let (again, ended): (Vec<_>, Vec<_>) =
        equal.into_iter().partition(|job| is_lost && job.attempts + 1 < ATTEMPTS_MAX);
    answer(ended.into_iter().map(|job| job.caller), &outcome);
    for job in again {
        shared.fetcher.send(Job { attempts: job.attempts + 1, ..job });
    }
}

/// Reads batches. If some have no position, it lets the sequencer run and reads again.
async fn fetch(
    connection: &Connection,
    wanted: Wanted,
    turn: OwnedSemaphorePermit,
    shared: &Shared,
) -> Result<Arc<Fetched>, StoreError> {
    let mut fetched = statement(connection, wanted).await?;
    if fetched.has_backlog {
        // Other fetches use the turn while this one waits for the sequencer.
        drop(turn);
        shared.sequencer.run().await?;
        // The sequencer has given a position to every batch that was committed before the reader asked. Batches that
        // have none now were committed later and need not be in the page.
        fetched = statement(connection, Wanted { is_current: false, ..wanted }).await?;
    }
    let EventBounds { epoch, last, .. } = fetched.bounds;
    let end = LogEnd { epoch, last };
    shared.continuity.read(fetched.epoch_number, end, fetched.newest);
    shared.ends.learn(fetched.epoch_number, end);
    Ok(Arc::new(fetched))
}

async fn statement(connection: &Connection, wanted: Wanted) -> Result<Fetched, StoreError> {
    let rows = query(connection, wanted).await.map_err(|error| {
        if fate(&error) != Fate::Exhausted {
            connection.discard();
        }
        failed_read("read the event log", error)
    })?;
    Fetched::parse(&rows)
}

async fn query(connection: &Connection, wanted: Wanted) -> Result<Vec<Row>, tokio_postgres::Error> {
    let sql = match wanted.order {
        SortDirection::Ascending => &*statements::ASCENDING,
        SortDirection::Descending => &*statements::DESCENDING,
    };
    let after = wanted.after.map(|position| i64::try_from(position.get()).unwrap_or(i64::MAX));
    let positions = i64::from(wanted.positions);
    let epoch = wanted.epoch.map(|epoch| format!("{epoch:016x}"));
    connection.session.rows_alone(sql, &[&after, &positions, &wanted.is_current, &epoch]).await
}

#[cfg(test)]
mod tests {
    use petstore_domain::Position;

    use super::*;

    #[test]
    fn equal_fetches_that_wait_share_a_statement() {
        let wanted = |after| {
            let after = Some(Position::new(after).unwrap());
            Wanted { epoch: None, order: SortDirection::Ascending, after, positions: 10, is_current: true }
        };
        let (sender, mut jobs) = mpsc::channel(10);
        let mut callers = Vec::new();
        for after in [7, 8, 7, 7, 9] {
            let (caller, answer) = oneshot::channel();
            sender.try_send(Job { wanted: wanted(after), caller, attempts: 0 }).ok().unwrap();
            callers.push(answer);
        }
        // The reader after position 9 has gone.
        callers.pop();
        let first = jobs.try_recv().unwrap();
        let equal = equal_jobs(first, &mut jobs);
        let counted = |after| equal.get(&wanted(after)).map(Vec::len);
        assert_eq!((counted(7), counted(8), counted(9)), (Some(3), Some(1), None));
    }
}
