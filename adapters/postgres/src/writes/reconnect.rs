//! The connection of the lane.

use std::sync::Arc;

use petstore_ports::StoreError;

use super::statement::Texts;
use crate::connection::{Connector, Role, Session};

/// An open connection with the texts that it has prepared.
pub(super) struct Open {
    pub(super) session: Session,
    pub(super) texts: Texts,
}

/// The connection of the lane. It is discarded after a failure and opened again at the next use.
pub(super) struct Reconnecting {
    connector: Arc<Connector>,
    open: Option<Box<Open>>,
}

impl Reconnecting {
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        Self { connector, open: None }
    }

    /// Takes the connection, or opens one.
    pub(super) async fn take(&mut self) -> Result<Box<Open>, StoreError> {
        if let Some(open) = self.open.take().filter(|open| !open.session.is_closed()) {
            return Ok(open);
        }
        let session = self.connector.connect(Role::Writer).await?;
        Ok(Box::new(Open { session, texts: Texts::default() }))
    }

    /// Gives the connection back for the next use.
    pub(super) fn keep(&mut self, open: Box<Open>) {
        self.open = Some(open);
    }
}
