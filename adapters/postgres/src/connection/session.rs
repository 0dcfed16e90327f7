//! An open connection with its prepared statements.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio_postgres::{Client, Error, Statement};

use super::counts::Counted;

/// An open connection with its prepared statements. It is discarded after any failure that its server did not report.
pub(crate) struct Session {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
    _counted: Counted,
}

impl Session {
    pub(super) fn new(client: Client, counted: Counted) -> Self {
        Self { client, statements: Mutex::default(), _counted: counted }
    }

    /// The driver's client, for statements that were prepared here.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns whether the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Prepares a statement, unless this connection has prepared the same text before. The number of distinct texts
    /// must be bounded, because all of them are kept.
    pub(crate) async fn prepared(&self, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.lock().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.lock().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Executes statements without parameters, separated by semicolons.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }
}
