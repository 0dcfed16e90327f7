//! A connection that is replaced after any failure.

use std::sync::Arc;

use parking_lot::Mutex;
use petstore_ports::StoreError;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::connection::{Connector, Role, Session};
use crate::error::failed;

/// Ends a read on the server after its caller has given up, so that each read that hangs does not occupy a connection.
/// Not for writers: a commit that waits for a standby is not undone if its statement is ended.
pub(crate) const READ_TIME: &str = "set statement_timeout = '2s'";

/// A connection for statements that may be repeated. It is opened at its first use and replaced after any failure. Its task runs
/// on the runtime that first used it.
pub(crate) struct Link {
    connector: Arc<Connector>,
    role: Role,
    session: Mutex<Option<Arc<Session>>>,
    /// One permit: statements that find no session wait for the one that opens it.
    opening: Semaphore,
}

impl Link {
    pub(crate) fn new(connector: Arc<Connector>, role: Role) -> Self {
        Self { connector, role, session: Mutex::default(), opening: Semaphore::new(1) }
    }

    /// Executes a statement that may be repeated, and returns its rows. After a failure it is executed once more on a new
    /// connection, within the same deadline.
    pub(crate) async fn rows(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
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

    async fn attempt(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        let session = self.session().await?;
        let rows = async {
            let statement = session.prepared(sql).await?;
            session.client().query(&statement, parameters).await
        };
        rows.await.map_err(|error| {
            self.discard(&session);
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
        let session = Arc::new(self.connector.connect(self.role).await?);
        if self.role == Role::Reader {
            let limited = session.batch(READ_TIME).await;
            limited.map_err(|error| failed("set up the connection", error))?;
        }
        *self.session.lock() = Some(Arc::clone(&session));
        Ok(session)
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
