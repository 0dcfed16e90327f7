//! The connections for statements that may take longer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petstore_ports::StoreError;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;

use super::Link;
use crate::connection::{Connector, Parameter, Role};

/// The maximum number of statements that wait for a connection.
const WAITING_MAX: usize = 1_024;

/// The parameters of a statement.
pub(crate) type Parameters = Vec<Box<dyn Parameter + Send>>;

/// A few connections, each of which executes one statement at a time, on the background thread.
#[derive(Clone)]
pub(crate) struct Pool {
    background: Handle,
    links: Arc<Links>,
    /// The time limit of a statement, with its wait for a connection.
    statement_time: Duration,
}

struct Links {
    free: Mutex<Vec<Link>>,
    /// One permit for each free link.
    permits: Semaphore,
    /// The statements that execute or wait.
    statements: AtomicUsize,
    statements_max: usize,
}

impl Pool {
    pub(crate) fn new(connector: &Arc<Connector>, role: Role, size: usize, background: Handle) -> Self {
        let links = Links {
            free: Mutex::new((0..size).map(|_| Link::new(Arc::clone(connector), role)).collect()),
            permits: Semaphore::new(size),
            statements: AtomicUsize::new(0),
            statements_max: size + WAITING_MAX,
        };
        Self { background, links: Arc::new(links), statement_time: connector.read_time() }
    }

    /// The number of statements that execute or wait for a connection.
    pub(crate) fn statements(&self) -> usize {
        self.links.statements.load(Ordering::Relaxed)
    }

    /// Executes a statement that may be repeated, and returns its rows.
    pub(crate) async fn rows(&self, sql: String, parameters: Parameters) -> Result<Vec<Row>, StoreError> {
        let links = Arc::clone(&self.links);
        let deadline = Instant::now() + self.statement_time;
        let task = self.background.spawn(async move {
            let _statement = links.enter()?;
            links.rows(&sql, &parameters, deadline).await
        });
        task.await.unwrap_or_else(|_| Err(StoreError::unavailable("the read was abandoned")))
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
        let permit = timeout_at(deadline, self.permits.acquire()).await;
        let permit = permit.map_err(|_| StoreError::busy("all connections to PostgreSQL are in use"))?;
        let _permit = permit.map_err(|_| StoreError::unavailable("the store is closed"))?;
        let link = Borrowed { links: self, link: self.free.lock().pop() };
        let Some(free) = &link.link else {
            return Err(StoreError::unavailable("no connection to PostgreSQL is free"));
        };
        let parameters: Vec<&dyn Parameter> =
            parameters.iter().map(|parameter| &**parameter as &dyn Parameter).collect();
        free.rows(sql, &parameters, deadline).await
    }
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
    link: Option<Link>,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.links.free.lock().extend(self.link.take());
    }
}
