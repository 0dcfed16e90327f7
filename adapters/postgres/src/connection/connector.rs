//! Opening a connection.

use std::time::Duration;

use petstore_ports::StoreError;
use tokio::time::timeout;
use tokio_postgres::{Config, NoTls};

use super::Session;
use crate::error::failed;

/// The time limit for opening a connection.
const CONNECT_TIME: Duration = Duration::from_secs(2);

/// The use of a connection, which decides its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Reads, each a statement without a transaction.
    Reader,
    /// Writes in transactions.
    Writer,
}

/// Opens connections to one database.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    config: Config,
    schema: String,
}

impl Connector {
    pub(crate) fn new(config: Config, schema: String) -> Self {
        Self { config, schema }
    }

    /// The schema of the tables.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// Opens a connection, whose task runs on the current runtime until the session is dropped.
    pub(crate) async fn connect(&self, role: Role) -> Result<Session, StoreError> {
        let opened = timeout(CONNECT_TIME, self.open(role)).await;
        opened.map_err(|_| StoreError::unavailable("no connection to PostgreSQL in time"))?
    }

    async fn open(&self, role: Role) -> Result<Session, StoreError> {
        let connected = self.config.connect(NoTls).await;
        let (client, connection) = connected.map_err(|error| failed("connect to PostgreSQL", error))?;
        // Its errors reach the client's callers.
        tokio::spawn(connection);
        let session = Session::new(client);
        session.batch(&self.settings(role)).await.map_err(|error| failed("set up the connection", error))?;
        Ok(session)
    }

    /// Sets what the statements rely on: plans that use indexes whatever the statistics say.
    fn settings(&self, role: Role) -> String {
        let common = format!(
            "set search_path = {}; set jit = off; set plan_cache_mode = force_generic_plan; set client_encoding = 'UTF8'",
            self.schema
        );
        match role {
            // Only an index in the order of the rows is ever the right plan of a read, also while the statistics are those of an
            // empty table.
            Role::Reader => format!(
                "{common}; set enable_seqscan = off; set enable_bitmapscan = off; set enable_hashjoin = off; \
                 set enable_mergejoin = off; set enable_sort = off; set enable_incremental_sort = off"
            ),
            Role::Writer => format!(
                "{common}; set synchronous_commit = on; set enable_hashjoin = off; set enable_mergejoin = off; \
                 set idle_in_transaction_session_timeout = '5s'; set lock_timeout = '1500ms'"
            ),
        }
    }
}
