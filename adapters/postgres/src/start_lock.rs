//! A lock for the part of a start that only one node at a time may do.

use std::time::Duration;

use petstore_ports::StoreError;
use tokio::time::timeout;

use crate::PostgresStore;
use crate::connection::{Connector, Role, Session};
use crate::error::failed;

/// The first key of the advisory lock, a number that means nothing. The second key is a hash of the schema's name.
const LOCK: i32 = 1_349_285_957;

/// The time limit for the lock on this side of the connection. The server ends the wait earlier, unless it hangs.
const LOCK_TIME: Duration = Duration::from_secs(15);

/// A lock that one handle of a store holds at a time, until it is dropped or its connection ends.
pub struct StartLock {
    // When the session ends, the server rolls its transaction back, which releases the lock.
    _session: Session,
}

impl PostgresStore {
    /// Takes the lock for the part of a start that one node at a time does, such as making the first key if there is none.
    /// Waits for 10 s at most. Blocks.
    ///
    /// # Errors
    /// The database cannot be reached, or another node holds the lock for too long.
    pub fn lock_start(&self) -> Result<StartLock, StoreError> {
        self.background.handle().block_on(take(&self.connector))
    }
}

async fn take(connector: &Connector) -> Result<StartLock, StoreError> {
    let session = connector.connect_with_retries(Role::Writer).await?;
    // The holder may work for longer than a transaction of the write lane may be idle.
    let sql = format!(
        "{}; set local lock_timeout = '10s'; set local idle_in_transaction_session_timeout = '60s';
         select pg_advisory_xact_lock({LOCK}, hashtext('{}'))",
        session.begin(),
        connector.schema()
    );
    let late = |_| StoreError::unavailable("PostgreSQL has not answered a statement of the start in time");
    let taken = timeout(LOCK_TIME, session.batch(&sql)).await.map_err(late)?;
    taken.map_err(|error| failed("cannot take the lock for the start of a node", error))?;
    Ok(StartLock { _session: session })
}
