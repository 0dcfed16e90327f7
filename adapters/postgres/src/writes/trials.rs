//! Writes without a request, by which a lane whose batches fail finds out whether the next one would succeed.

use std::fmt::Write as _;
use std::time::Duration;

use petstore_ports::StoreError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::reconnect::Open;
use crate::connection::Session;
use crate::error::failed;

/// The shortest and the longest time for which a late answer is awaited before another trial is made. A commit that waits for a
/// standby occupies a connection to the server even after its trial was given up.
pub(super) const PATIENCE_MIN: Duration = Duration::from_secs(1);
const PATIENCE_MAX: Duration = Duration::from_secs(30);

/// The time for which the answer of the next late trial is awaited.
pub(super) fn longer(patience: Duration) -> Duration {
    patience.saturating_mul(2).min(PATIENCE_MAX)
}

/// The task of a trial. It returns the connection after a success.
pub(super) type Trying = JoinHandle<Result<Box<Open>, StoreError>>;

/// A trial that was not answered in time.
pub(super) struct Late {
    pub(super) trying: Trying,
    /// The time until which no other trial is made.
    pub(super) until: Instant,
}

/// A caller that waits for the outcome.
pub(super) type Asked = oneshot::Sender<Result<(), StoreError>>;

/// Asks a lane for a write.
#[derive(Clone)]
pub(crate) struct Trials(mpsc::Sender<Asked>);

impl Trials {
    pub(super) fn new() -> (Self, mpsc::Receiver<Asked>) {
        let (sender, asked) = mpsc::channel(1);
        (Self(sender), asked)
    }

    /// Lets the lane write after the batch that it runs now.
    pub(crate) async fn make(&self) -> Result<(), StoreError> {
        let closed = || StoreError::unavailable("the store is closed");
        let (asked, outcome) = oneshot::channel();
        self.0.send(asked).await.map_err(|_| closed())?;
        outcome.await.map_err(|_| closed())?
    }
}

/// The tables that batches write.
const WRITTEN: &str = "accounts, categories, commits, event_batches, idempotency_counts, idempotency_records, key_changes, keys, \
    orders, pets, webhook_changes, webhook_deliveries, webhook_leases, webhooks";

/// Commits a row, as a batch does. Before that it locks the tables as batches do, because another session may hold any of
/// them, and writes a body of some pages and undoes it: on a full disk a row may still fit into a page that exists.
pub(super) async fn try_write(session: &Session, token: [u8; 16]) -> Result<(), StoreError> {
    let token = token.iter().fold(String::new(), |mut digits, byte| {
        let _: Result<(), _> = write!(digits, "{byte:02x}");
        digits
    });
    let sql = format!(
        "{}; set local lock_timeout = '100ms'; lock table shop_lock in row share mode; lock table {WRITTEN} in row exclusive mode;
         savepoint pages; insert into event_batches (events, first_at, latest_at, body)
             values (1, now(), now(), decode(repeat('00', 32768), 'hex'));
         rollback to savepoint pages; insert into commits (token, is_undone) values ('\\x{token}', true); commit",
        session.begin()
    );
    session.batch(&sql).await.map_err(|error| failed("write without a request", error))
}

/// The failure of a trial that is not answered in time.
pub(super) fn late() -> StoreError {
    StoreError::unavailable("the database did not answer in time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patience_with_late_trials_grows_up_to_a_bound() {
        let mut patience = PATIENCE_MIN;
        for expected in [2, 4, 8, 16, 30, 30] {
            patience = longer(patience);
            assert_eq!(patience, Duration::from_secs(expected));
        }
    }
}
