//! The connection of the lane.

use std::sync::Arc;
use std::time::Duration;

use petstore_ports::StoreError;
use tokio::time::Instant;

use super::begin::Plans;
use super::statement::Texts;
use crate::connection::{Connector, Role, Session, Settings};
use crate::error::failed;

/// The time limits of the lane. For each lock of a batch, because all callers of the node wait meanwhile. For a pause
/// within a transaction, because a node that hangs between its two flights keeps its locks until then, and other nodes
/// wait for them.
const SETTINGS: Settings = &[("lock_timeout", "'500ms'"), ("idle_in_transaction_session_timeout", "'1s'")];

/// An open connection with the texts that it has prepared.
pub(super) struct Open {
    pub(super) session: Session,
    pub(super) texts: Texts,
    pub(super) plans: Plans,
}

/// The connection of the lane. It is discarded after a failure and opened again at the next use.
pub(crate) struct Reconnecting {
    connector: Arc<Connector>,
    open: Option<Box<Open>>,
    /// A connection that was not used yet.
    first: Option<Session>,
}

impl Reconnecting {
    /// Begins with a connection that is open.
    pub(crate) fn with(connector: Arc<Connector>, first: Session) -> Self {
        Self { connector, open: None, first: Some(first) }
    }

    /// The time within which a batch must be answered, and the outcome of a commit be found out.
    pub(super) fn answer_time(&self) -> Duration {
        self.connector.answer_time()
    }

    /// Takes the connection, or opens one.
    pub(super) async fn take(&mut self) -> Result<Box<Open>, StoreError> {
        if let Some(open) = self.open.take().filter(|open| !open.session.is_closed()) {
            return Ok(open);
        }
        let mut session = match self.first.take().filter(|session| !session.is_closed()) {
            Some(session) => session,
            None => self.connector.connect(Role::Writer).await?,
        };
        session.set(SETTINGS).await.map_err(|error| failed("set up a connection for writes", error))?;
        Ok(Box::new(Open { session, texts: Texts::default(), plans: Plans::new(Instant::now()) }))
    }

    /// Gives the connection back for the next use.
    pub(super) fn keep(&mut self, open: Box<Open>) {
        self.open = Some(open);
    }
}
