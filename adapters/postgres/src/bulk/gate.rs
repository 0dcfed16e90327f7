//! The lock that keeps writers out of the shop while it is replaced.
//!
//! Each transaction that changes the shop locks the table `shop_lock` in a mode that others share, before it locks any row.
//! An import or a reset locks it exclusively, before it locks anything else. So neither can wait for the other while it holds a
//! lock that the other needs.

use petstore_ports::StoreError;

use crate::connection::{Connector, Role, Session};
use crate::error::failed;

/// Keeps writers out until it is released or dropped. Waits for those that have begun.
pub(super) struct Gate(Session);

/// Locks the table exclusively. A long pause of the caller must not end the transaction: only a lost connection does.
const CLOSE: &str =
    "begin; set local idle_in_transaction_session_timeout = '10min'; lock table shop_lock in exclusive mode";

impl Gate {
    /// Keeps writers out. Fails as busy if another import or reset does.
    pub(super) async fn close(connector: &Connector) -> Result<Self, StoreError> {
        let session = connector.connect(Role::Writer).await?;
        close_in(&session).await?;
        Ok(Self(session))
    }

    /// Lets writers in.
    pub(super) async fn open(self) {
        // After a failure the connection is closed, which has the same effect.
        let _: Result<(), _> = self.0.batch("rollback").await;
    }
}

/// Begins a transaction that keeps writers out until its end.
pub(super) async fn close_in(session: &Session) -> Result<(), StoreError> {
    session.batch(CLOSE).await.map_err(|error| failed("lock the shop for an import or a reset", error))
}
