//! The connection of one task: opened when it is needed, and replaced after a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use petstore_ports::StoreError;

use super::statements;
use crate::connection::{Connector, Role, Session};
use crate::error::failed;

/// The use of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Pages of the log.
    Pages,
    /// The transactions that give positions or drop old batches.
    Sequencer,
}

/// A connection that may have been given up.
pub(super) struct Connection {
    pub(super) session: Session,
    is_discarded: AtomicBool,
}

impl Connection {
    /// Gives the connection up: its state is not known after a failure.
    pub(super) fn discard(&self) {
        self.is_discarded.store(true, Ordering::Relaxed);
    }

    fn is_usable(&self) -> bool {
        !self.is_discarded.load(Ordering::Relaxed) && !self.session.is_closed()
    }
}

/// The connection of one task.
pub(super) struct Reconnecting {
    connector: Arc<Connector>,
    purpose: Use,
    connection: Option<Arc<Connection>>,
}

impl Reconnecting {
    pub(super) const fn new(connector: Arc<Connector>, purpose: Use) -> Self {
        Self { connector, purpose, connection: None }
    }

    /// The time limit of a transaction.
    pub(super) fn answer_time(&self) -> Duration {
        self.connector.answer_time()
    }

    /// Returns the open connection, or opens one. While the database cannot be reached, it fails after a short time.
    pub(super) async fn connection(&mut self) -> Result<Arc<Connection>, StoreError> {
        if let Some(connection) = self.connection.take_if(|connection| connection.is_usable()) {
            return Ok(Arc::clone(self.connection.insert(connection)));
        }
        self.connection = None;
        let connection =
            Arc::new(Connection { session: self.open().await?, is_discarded: AtomicBool::new(false) });
        Ok(Arc::clone(self.connection.insert(connection)))
    }

    async fn open(&self) -> Result<Session, StoreError> {
        match self.purpose {
            Use::Pages => {
                let mut session = self.connector.connect(Role::Reader).await?;
                let limited = session.limit_reads().await;
                limited.map_err(|error| failed("set up the connection for pages of events", error))?;
                Ok(session)
            }
            Use::Sequencer => {
                let mut session = self.connector.connect(Role::Writer).await?;
                let set = session.set(statements::SEQUENCER_SETTINGS).await;
                set.map_err(|error| failed("set up the connection of the sequencer", error))?;
                Ok(session)
            }
        }
    }
}
