//! Writes without a request, by which a lane whose batches fail finds out whether the next one would succeed.

use std::fmt::Write as _;

use petstore_ports::StoreError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::connection::Session;
use crate::error::failed;

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

    /// Lets the lane write once it has nothing else to do.
    pub(crate) async fn make(&self) -> Result<(), StoreError> {
        let closed = || StoreError::unavailable("the store is closed");
        let (asked, outcome) = oneshot::channel();
        self.0.send(asked).await.map_err(|_| closed())?;
        outcome.await.map_err(|_| closed())?
    }
}

/// Commits a row, as a batch does. Before that it writes a body of some pages and undoes it: on a full disk a row may still
/// fit into a page that exists.
pub(super) async fn try_write(session: &Session, token: [u8; 16]) -> Result<(), StoreError> {
    let token = token.iter().fold(String::new(), |mut digits, byte| {
        let _: Result<(), _> = write!(digits, "{byte:02x}");
        digits
    });
    let sql = format!(
        "{}; savepoint pages; insert into event_batches (events, first_at, latest_at, body)
             values (1, now(), now(), decode(repeat('00', 32768), 'hex'));
         rollback to savepoint pages; insert into commits (token, is_undone) values ('\\x{token}', true); commit",
        session.begin()
    );
    let late = |_| StoreError::unavailable("the database did not answer in time");
    let written = timeout(session.answer_time(), session.batch(&sql)).await.map_err(late)?;
    written.map_err(|error| failed("write without a request", error))
}
