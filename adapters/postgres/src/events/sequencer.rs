//! The task that gives positions and drops old batches: one transaction at a time for each node.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_ports::{StoreError, StoreErrorKind};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::backlog::Backlog;
use super::feed::Ends;
use super::reconnecting::{Connection, Reconnecting};
use super::retention::{EventRetention, Limits, Pruned};
use super::transactions::{number, prune};

/// The maximum number of requests that wait for a run.
pub(super) const REQUESTS_MAX: usize = 4_096;

/// The shortest time between the starts of two runs. Requests that come within it share the next run, and so its
/// durable commit.
const RUN_INTERVAL: Duration = Duration::from_millis(20);

/// Attempts of a run: a connection that was lost is replaced once.
const ATTEMPTS_MAX: u32 = 2;

/// A request to the task.
pub(super) enum Request {
    /// Give positions to all batches that are committed when this is received.
    Run(oneshot::Sender<Result<(), StoreError>>),
    /// Drop old batches, a bounded number of them.
    Prune(Limits, oneshot::Sender<Result<Pruned, StoreError>>),
}

/// The number of runs since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct RunCounts {
    runs: AtomicU64,
    failures: AtomicU64,
    /// The time of all runs, in microseconds.
    micros: AtomicU64,
}

impl RunCounts {
    /// The number of runs that gave positions to all batches that they found.
    pub(crate) fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// The number of runs that failed.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// The time of all runs, including those that failed.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }

    fn add(&self, outcome: &Result<(), StoreError>, took: Duration) {
        self.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        let count = if outcome.is_ok() { &self.runs } else { &self.failures };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// The callers' side of the task.
#[derive(Clone)]
pub(super) struct Sequencer {
    requests: mpsc::Sender<Request>,
    counts: Arc<RunCounts>,
}

impl Sequencer {
    pub(super) fn new(requests: mpsc::Sender<Request>) -> Self {
        Self { requests, counts: Arc::default() }
    }

    /// The counts of the task's runs.
    pub(super) fn counts(&self) -> &Arc<RunCounts> {
        &self.counts
    }

    /// Gives positions to all batches that are committed now. Callers at the same time share a run.
    pub(super) async fn run(&self) -> Result<(), StoreError> {
        self.request(Request::Run).await
    }

    /// Drops batches that are too old or too many at this time.
    pub(super) async fn prune(
        &self,
        retention: EventRetention,
        now: Timestamp,
    ) -> Result<Pruned, StoreError> {
        self.request(|done| Request::Prune(retention.limits(now), done)).await
    }

    async fn request<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Request,
    ) -> Result<T, StoreError> {
        let (done, outcome) = oneshot::channel();
        let sent = self.requests.try_send(request(done));
        sent.map_err(|_| StoreError::busy("too many readers wait for positions of events"))?;
        outcome.await.map_err(|_| StoreError::unavailable("the store is closed"))?
    }
}

/// Serves requests until the store is closed.
pub(super) async fn serve(
    mut connections: Reconnecting,
    mut requests: mpsc::Receiver<Request>,
    ends: Arc<Ends>,
    counts: Arc<RunCounts>,
) {
    let mut worker = Worker { connection: None, backlog: Backlog::default(), ends };
    let mut next_run = Instant::now();
    while let Some(request) = requests.recv().await {
        match request {
            Request::Run(done) => {
                sleep_until(next_run).await;
                next_run = Instant::now() + RUN_INTERVAL;
                let mut waiting = vec![done];
                let mut prunes = Vec::new();
                // The run serves all requests that came before it begins.
                while let Ok(request) = requests.try_recv() {
                    match request {
                        Request::Run(done) => waiting.push(done),
                        Request::Prune(limits, done) => prunes.push((limits, done)),
                    }
                }
                let began = Instant::now();
                let outcome = worker.number_all(&mut connections).await;
                counts.add(&outcome, began.elapsed());
                for done in waiting {
                    // A caller that is gone needs no answer.
                    let _ = done.send(outcome.clone());
                }
                for (limits, done) in prunes {
                    let _ = done.send(worker.prune(&mut connections, limits).await);
                }
            }
            Request::Prune(limits, done) => {
                let _ = done.send(worker.prune(&mut connections, limits).await);
            }
        }
    }
}

/// The state of the task.
struct Worker {
    /// The connection that the backlog belongs to.
    connection: Option<Arc<Connection>>,
    backlog: Backlog,
    ends: Arc<Ends>,
}

impl Worker {
    /// Gives positions to all batches that are visible when it is called. If the connection is lost, tries once more on
    /// another one: the positions that were already given stay.
    async fn number_all(&mut self, connections: &mut Reconnecting) -> Result<(), StoreError> {
        let deadline = Instant::now() + connections.answer_time();
        let mut attempts = 1;
        loop {
            let connection = self.connect(connections).await?;
            match number(&connection, self.backlog.settled()).await {
                Ok(numbered) => {
                    self.backlog.ran(numbered.seen);
                    self.ends.learn(numbered.epoch_number, numbered.end);
                    if numbered.seen.is_complete {
                        return Ok(());
                    }
                }
                Err(error) => {
                    let is_lost = error.kind() == StoreErrorKind::Unavailable;
                    if !is_lost || attempts == ATTEMPTS_MAX || Instant::now() >= deadline {
                        return Err(error);
                    }
                    attempts += 1;
                }
            }
        }
    }

    async fn prune(&mut self, connections: &mut Reconnecting, limits: Limits) -> Result<Pruned, StoreError> {
        let connection = self.connect(connections).await?;
        prune(&connection, limits).await
    }

    /// Returns the connection. If it is a new one, begins a new backlog, because it may lead to another server, for
    /// which the old backlog does not hold.
    async fn connect(&mut self, connections: &mut Reconnecting) -> Result<Arc<Connection>, StoreError> {
        let connection = connections.connection().await?;
        if !self.connection.as_ref().is_some_and(|known| Arc::ptr_eq(known, &connection)) {
            self.backlog = Backlog::default();
            self.connection = Some(Arc::clone(&connection));
        }
        Ok(connection)
    }
}
