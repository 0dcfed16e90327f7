//! A connection that is replaced after any failure.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petstore_ports::StoreError;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::Row;

use crate::connection::{Connector, Parameter, Role, Session};
use crate::error::{Fate, failed, fate};

/// A connection for statements that may be repeated. It is opened at its first use and replaced after any failure. Its task runs
/// on the runtime that first used it.
pub(crate) struct Link {
    connector: Arc<Connector>,
    role: Role,
    session: Mutex<Option<Arc<Session>>>,
    /// One permit: statements that find no session wait for the one that opens it.
    opening: Arc<Semaphore>,
}

impl Link {
    pub(crate) fn new(connector: Arc<Connector>, role: Role) -> Self {
        Self { connector, role, session: Mutex::default(), opening: Arc::new(Semaphore::new(1)) }
    }

    /// The time limit of a read on this connection.
    pub(crate) fn read_time(&self) -> Duration {
        self.connector.read_time()
    }

    /// Executes a statement that may be repeated, and returns its rows. After a failure it is executed once more on a new
    /// connection, within the same deadline.
    pub(crate) async fn rows(
        &self,
        sql: &str,
        parameters: &[&dyn Parameter],
        deadline: Instant,
    ) -> Result<Vec<Row>, StoreError> {
        let mut first = None;
        let answered = timeout_at(deadline, async {
            match self.attempt(sql, parameters).await {
                // A new connection helps if the connection has ended, or if a change of the tables has invalidated the
                // prepared statement.
                Err(failure) => {
                    first = Some(failure);
                    self.attempt(sql, parameters).await
                }
                rows => rows,
            }
        });
        answered.await.unwrap_or_else(|_| {
            self.session.lock().take();
            let late = StoreError::unavailable("PostgreSQL has not answered in time");
            Err(match first {
                Some(failure) => late.with_source(failure),
                None => late,
            })
        })
    }

    async fn attempt(&self, sql: &str, parameters: &[&dyn Parameter]) -> Result<Vec<Row>, StoreError> {
        let session = self.session().await?;
        session.rows_alone(sql, parameters).await.map_err(|error| {
            // The server has undone the statement, and a new connection would lead to the same shortage.
            if fate(&error) != Fate::Exhausted {
                self.discard(&session);
            }
            failed("read", error)
        })
    }

    /// The open session, or a new one.
    async fn session(&self) -> Result<Arc<Session>, StoreError> {
        if let Some(session) = self.open_session() {
            return Ok(session);
        }
        // The semaphore is never closed.
        let _opening = self.opening.acquire().await;
        if let Some(session) = self.open_session() {
            return Ok(session);
        }
        self.open().await
    }

    /// Opens the connection in a task on the current runtime, which goes on after this time. Fails if it is not open by then, and
    /// at once while another caller opens it.
    pub(super) async fn open_within(self: &Arc<Self>, time: Duration) -> Result<(), StoreError> {
        let late = || StoreError::unavailable("a connection is still being opened");
        let turn = Arc::clone(&self.opening).try_acquire_owned().map_err(|_| late())?;
        if self.is_open() {
            return Ok(());
        }
        let link = Arc::clone(self);
        let opening = tokio::spawn(async move {
            let opened = link.open().await.map(drop);
            drop(turn);
            opened
        });
        match timeout(time, opening).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(_)) | Err(_) => Err(late()),
        }
    }

    /// Opens the connection. The caller holds the permit.
    async fn open(&self) -> Result<Arc<Session>, StoreError> {
        let mut session = self.connector.connect(self.role).await?;
        if self.role == Role::Reader {
            let limited = session.limit_reads().await;
            limited.map_err(|error| failed("set up the connection", error))?;
        }
        let session = Arc::new(session);
        *self.session.lock() = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Returns whether a connection is open.
    pub(super) fn is_open(&self) -> bool {
        self.open_session().is_some()
    }

    fn open_session(&self) -> Option<Arc<Session>> {
        self.session.lock().clone().filter(|session| !session.is_closed())
    }

    /// Forgets a session that has failed, unless it has been replaced already.
    fn discard(&self, failed: &Arc<Session>) {
        let mut session = self.session.lock();
        if session.as_ref().is_some_and(|session| Arc::ptr_eq(session, failed)) {
            *session = None;
        }
    }
}
