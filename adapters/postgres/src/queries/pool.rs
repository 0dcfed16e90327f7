//! The connections for statements that may take longer.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petstore_ports::StoreError;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;

use super::Link;
use crate::calls::Calls;
use crate::connection::{Connector, Parameter, Role};

/// The maximum number of statements that wait for a connection.
const WAITING_MAX: usize = 1_024;

/// The time for which no further link is opened after one could not be, while another one is open.
const REFUSED_FOR: Duration = Duration::from_secs(1);

/// The parameters of a statement.
pub(crate) type Parameters = Vec<Box<dyn Parameter + Send>>;

/// A few connections, each of which executes one statement at a time, on the background thread.
#[derive(Clone)]
pub(crate) struct Pool {
    background: Handle,
    links: Arc<Links>,
    /// The time limit of a statement, with its wait for a connection.
    statement_time: Duration,
    /// Takes note of the outcomes; none for work that no request waits for.
    calls: Option<Arc<Calls>>,
}

struct Links {
    all: Vec<Arc<Link>>,
    free: Mutex<Vec<Arc<Link>>>,
    /// A link was given back.
    returned: Notify,
    /// The last time that a link could not be opened.
    refused: Mutex<Option<Instant>>,
    /// One permit for each free link.
    permits: Semaphore,
    /// The statements that execute or wait.
    statements: AtomicUsize,
    statements_max: usize,
}

impl Pool {
    pub(crate) fn new(connector: &Arc<Connector>, role: Role, size: usize, background: Handle) -> Self {
        let all: Vec<_> = (0..size).map(|_| Arc::new(Link::new(Arc::clone(connector), role))).collect();
        let links = Links {
            free: Mutex::new(all.clone()),
            all,
            returned: Notify::new(),
            refused: Mutex::default(),
            permits: Semaphore::new(size),
            statements: AtomicUsize::new(0),
            statements_max: size + WAITING_MAX,
        };
        Self { background, links: Arc::new(links), statement_time: connector.read_time(), calls: None }
    }

    /// Takes note of the outcomes of statements as those of pages.
    pub(crate) fn noting(self, calls: &Arc<Calls>) -> Self {
        Self { calls: Some(Arc::clone(calls)), ..self }
    }

    /// The number of statements that execute or wait for a connection.
    pub(crate) fn statements(&self) -> usize {
        self.links.statements.load(Ordering::Relaxed)
    }

    /// Returns whether a connection is open.
    pub(crate) fn has_open(&self) -> bool {
        self.links.has_open()
    }

    /// Executes a statement that may be repeated, and returns its rows.
    pub(crate) async fn rows(&self, sql: String, parameters: Parameters) -> Result<Vec<Row>, StoreError> {
        let links = Arc::clone(&self.links);
        let deadline = Instant::now() + self.statement_time;
        let task = self.background.spawn(async move {
            let _statement = links.enter()?;
            links.rows(&sql, &parameters, deadline).await
        });
        let outcome = task.await.unwrap_or_else(|_| Err(StoreError::unavailable("the read was abandoned")));
        if let Some(calls) = &self.calls {
            calls.pages.note(&outcome);
        }
        outcome
    }
}

impl Links {
    fn enter(&self) -> Result<Entered<'_>, StoreError> {
        let entered = Entered(&self.statements);
        if self.statements.fetch_add(1, Ordering::Relaxed) >= self.statements_max {
            return Err(StoreError::busy("too many statements wait for a connection to PostgreSQL"));
        }
        Ok(entered)
    }

    async fn rows(
        &self,
        sql: &str,
        parameters: &[Box<dyn Parameter + Send>],
        deadline: Instant,
    ) -> Result<Vec<Row>, StoreError> {
        let parameters: Vec<&dyn Parameter> =
            parameters.iter().map(|parameter| &**parameter as &dyn Parameter).collect();
        let (is_open, outcome) = {
            let (_permit, link) = self.borrow(deadline, self.wanted()).await?;
            let outcome = link.rows(sql, &parameters, deadline).await;
            (link.is_open(), outcome)
        };
        match outcome {
            // The server may refuse only further connections.
            Err(error) if !is_open && self.has_open() => {
                *self.refused.lock() = Some(Instant::now());
                let borrowed = self.borrow(deadline, Wanted::Open).await;
                let (_permit, link) = borrowed.map_err(|_| error)?;
                link.rows(sql, &parameters, deadline).await
            }
            outcome => outcome,
        }
    }

    fn has_open(&self) -> bool {
        self.all.iter().any(|link| link.is_open())
    }

    /// The link for the next statement.
    fn wanted(&self) -> Wanted {
        let refused = *self.refused.lock();
        let is_refused = refused.is_some_and(|at| at.elapsed() < REFUSED_FOR);
        if is_refused && self.has_open() { Wanted::Open } else { Wanted::Any }
    }

    /// Waits for a link. One that is open is preferred.
    async fn borrow(
        &self,
        deadline: Instant,
        wanted: Wanted,
    ) -> Result<(SemaphorePermit<'_>, Borrowed<'_>), StoreError> {
        loop {
            let permit = timeout_at(deadline, self.permits.acquire()).await;
            let permit = permit.map_err(|_| StoreError::busy("all connections to PostgreSQL are in use"))?;
            let permit = permit.map_err(|_| StoreError::unavailable("the store is closed"))?;
            if let Some(link) = self.take(wanted) {
                return Ok((permit, Borrowed { links: self, link }));
            }
            drop(permit);
            let returned = timeout_at(deadline, self.returned.notified()).await;
            returned.map_err(|_| StoreError::busy("all connections to PostgreSQL are in use"))?;
        }
    }

    fn take(&self, wanted: Wanted) -> Option<Arc<Link>> {
        let mut free = self.free.lock();
        match (free.iter().rposition(|link| link.is_open()), wanted) {
            (Some(place), _) => Some(free.swap_remove(place)),
            (None, Wanted::Any) => free.pop(),
            (None, Wanted::Open) => None,
        }
    }
}

/// The link that a statement needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Any, which is opened if it is not open.
    Any,
    /// An open one, because no further one can be opened.
    Open,
}

/// A statement that is counted until it ends.
struct Entered<'l>(&'l AtomicUsize);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A borrowed link. Dropping it gives the link back; its permit must be given back after that.
struct Borrowed<'l> {
    links: &'l Links,
    link: Arc<Link>,
}

impl Deref for Borrowed<'_> {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.link
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.links.free.lock().push(Arc::clone(&self.link));
        self.links.returned.notify_one();
    }
}
