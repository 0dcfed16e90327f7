//! The new epoch of the event log that begins with an import or a reset.

use petstore_domain::Position;
use petstore_ports::{LogEnd, StoreError};
use tokio_postgres::Error;

use crate::connection::Session;
use crate::error::failed;

/// The event log after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Restarted {
    pub(super) epoch_number: u64,
    pub(super) end: LogEnd,
}

/// The epoch of the log that begins with a bulk load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewEpoch {
    /// The epoch with this value.
    Given(u64),
    /// The one that follows the current one.
    Following,
}

impl NewEpoch {
    const fn after(self, before: u64) -> u64 {
        match self {
            Self::Given(epoch) => epoch,
            // The step is odd, so no epoch comes again before all other 64-bit numbers have come.
            Self::Following => before.wrapping_add(0x9E37_79B9_7F4A_7C15),
        }
    }
}

/// Locks the log against the sequencers. Must be called before anything that they need is locked.
pub(super) async fn lock(session: &Session) -> Result<(), StoreError> {
    let locked = session.batch("select from event_log where one for update").await;
    locked.map_err(|error| failed("lock the event log", error))
}

/// Removes all events and begins a new epoch, as part of the transaction that locked the log. No writer is at work.
pub(super) async fn restart(session: &Session, new: NewEpoch) -> Result<Restarted, StoreError> {
    let restarted = async {
        let rows = session.rows("select epoch from event_log where one", &[]).await?;
        let before: String = rows.first().map_or(Ok(String::new()), |row| row.try_get(0))?;
        let epoch = new.after(u64::from_str_radix(&before, 16).unwrap_or(0));
        session.batch("delete from event_batches").await?;
        let sql = "update event_log set epoch = $1, epoch_number = epoch_number + 1, last_position = 0, pruned_position = 0, \
            bytes = 0 where one returning epoch_number";
        let rows = session.rows(sql, &[&format!("{epoch:016x}")]).await?;
        let number: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        let epoch_number = u64::try_from(number).unwrap_or(0);
        Ok::<_, Error>(Restarted { epoch_number, end: LogEnd { epoch, last: Position::START } })
    };
    restarted.await.map_err(|error| failed("begin a new epoch of the event log", error))
}
