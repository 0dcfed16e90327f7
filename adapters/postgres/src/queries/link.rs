//! A connection that is replaced after any failure.

use std::sync::Arc;
use std::time::Duration;

use petstore_ports::StoreError;
use petstore_remote_connection::Replaceable;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::Row;

use crate::connection::{Connector, Parameter, Role, Session};
use crate::error::{Fate, failed, failed_read, fate};

/// A connection for statements that may be repeated. It is opened at its first use and replaced after any failure. Its task runs
/// on the runtime that first used it.
pub(crate) struct Link {
    connector: Arc<Connector>,
    role: Role,
    session: Replaceable<Session>,
}

impl Link {
    pub(crate) fn new(connector: Arc<Connector>, role: Role) -> Self {
        Self { connector, role, session: Replaceable::default() }
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
            self.session.clear();
            let late = StoreError::unavailable("PostgreSQL has not answered in time");
            Err(match first {
                Some(failure) => late.with_source(failure),
                None => late,
            })
        })
    }

    async fn attempt(&self, sql: &str, parameters: &[&dyn Parameter]) -> Result<Vec<Row>, StoreError> {
        let session = self.session.get(is_usable, self.open()).await?;
        session.rows_alone(sql, parameters).await.map_err(|error| {
            // The server has undone the statement, and a new connection would lead to the same shortage.
            if fate(&error) != Fate::Exhausted {
                self.session.discard(&session);
            }
            failed_read("read", error)
        })
    }

    /// Opens the connection in a task on the current runtime, which goes on after this time. Fails if it is not open by then, and
    /// at once while another caller opens it.
    pub(super) async fn open_within(self: &Arc<Self>, time: Duration) -> Result<(), StoreError> {
        let late = || StoreError::unavailable("a connection is still being opened");
        let turn = self.session.turn().ok_or_else(late)?;
        if self.is_open() {
            return Ok(());
        }
        let link = Arc::clone(self);
        let opening = tokio::spawn(async move {
            let opened = link.open().await.map(|session| drop(link.session.put(session)));
            drop(turn);
            opened
        });
        match timeout(time, opening).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(_)) | Err(_) => Err(late()),
        }
    }

    /// Opens the connection. The caller holds the permit.
    async fn open(&self) -> Result<Session, StoreError> {
        let mut session = self.connector.connect(self.role).await?;
        if self.role == Role::Reader {
            let limited = session.limit_reads().await;
            limited.map_err(|error| failed("set up the connection", error))?;
        }
        Ok(session)
    }

    /// Returns whether a connection is open.
    pub(super) fn is_open(&self) -> bool {
        self.session.usable(is_usable).is_some()
    }
}

fn is_usable(session: &Session) -> bool {
    !session.is_closed()
}
