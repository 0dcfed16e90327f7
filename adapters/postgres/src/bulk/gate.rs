//! The lock that keeps writers out of the shop while it is replaced.
//!
//! Each transaction that changes the shop first locks the table `shop_lock` in a mode that such transactions share;
//! then it locks rows. An import or a reset first locks the table exclusively; then it locks anything else. So
//! whichever of the two waits for the table holds no lock that the other one needs.

use petstore_ports::StoreError;

use crate::connection::{Connector, Role, Session};
use crate::error::failed;

/// Keeps writers out until it is opened or dropped. Closing it waits for the transactions of writers that have begun.
pub(super) struct Gate(Session);

/// Locks the table exclusively. The time limit for an idle transaction is raised, because a long pause of the caller
/// must not end the transaction.
const CLOSE: &str =
    "set local idle_in_transaction_session_timeout = '10min'; lock table shop_lock in exclusive mode";

impl Gate {
    /// Keeps writers out. Fails as busy if the table is not free in time, for example because of another import or
    /// reset.
    pub(super) async fn close(connector: &Connector) -> Result<Self, StoreError> {
        let session = connector.connect_with_retries(Role::Writer).await?;
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
    let sql = format!("{}; {CLOSE}", session.begin());
    session.batch(&sql).await.map_err(|error| failed("lock the shop for an import or a reset", error))
}
