//! Finding out the outcome of a commit whose answer was lost, or that the server has answered with a warning.

use std::time::Duration;

use petstore_ports::StoreError;
use tokio::time::{Instant, sleep, timeout_at};

use super::reconnect::{Open, Reconnecting};
use crate::connection::Confirmed;
use crate::error::Driver;

/// The pause between two attempts to find out.
const PAUSE: Duration = Duration::from_millis(20);

/// The failure of a commit about which the server has warned.
const DOUBTFUL: &str =
    "PostgreSQL has warned during a commit, which a failover may lose: a synchronous standby may lack it";

/// Inserts the token in place of the commit, or finds its row. Returns true if the commit has not taken place and no
/// longer can, and false if it has. The statement can be repeated if its own answer is lost.
const SQL: &str = "insert into commits (token, is_undone) values ($1, true)
     on conflict (token) do update set token = excluded.token returning is_undone";

/// The outcome of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It has been committed, and is as durable as the server's settings ask for.
    Committed,
    /// It has not been committed, and never will be: its token is taken.
    NotCommitted,
}

/// Uses another connection to insert the token of the commit. While the old transaction runs, the insertion waits for
/// it. If the old transaction was committed, the insertion finds its row. If the insertion succeeds, the old transaction
/// was undone or has not run yet. If it has not run yet, its statements will fail because the token exists.
///
/// The insertion writes in either case, so a server with synchronous standbys confirms it only after the commit that it
/// found. If the server warns about the insertion's own commit, nothing is known.
pub(super) async fn settle(connection: &mut Reconnecting, token: [u8; 16]) -> Result<Outcome, StoreError> {
    // Beyond this time the callers are told that the outcome is unknown.
    let end = Instant::now() + connection.answer_time();
    let mut last = StoreError::indeterminate("the commit was not answered in time");
    while Instant::now() < end {
        match timeout_at(end, insert(connection, token)).await {
            Ok(Ok(outcome)) => return Ok(outcome),
            Ok(Err(error)) => last = error,
            Err(_) => break,
        }
        sleep(PAUSE).await;
    }
    Err(StoreError::indeterminate("it is unknown whether the changes were committed").with_source(last))
}

async fn insert(connection: &mut Reconnecting, token: [u8; 16]) -> Result<Outcome, StoreError> {
    let open = connection.take().await?;
    let failed = |error| StoreError::indeterminate("look for the commit").with_source(Driver(error));
    let (is_undone, confirmed) = write(&open, token).await.map_err(failed)?;
    connection.keep(open);
    match confirmed {
        Confirmed::Doubtful => Err(StoreError::indeterminate(DOUBTFUL)),
        Confirmed::Durable if is_undone => Ok(Outcome::NotCommitted),
        Confirmed::Durable => Ok(Outcome::Committed),
    }
}

/// Inserts the token, or finds it. The commit is a separate message, so that a warning of the insertion, such as one about
/// old transactions, is not taken for one of the commit.
async fn write(open: &Open, token: [u8; 16]) -> Result<(bool, Confirmed), tokio_postgres::Error> {
    let session = &open.session;
    session.batch(&session.begin()).await?;
    let rows = session.rows(SQL, &[&token.as_slice()]).await?;
    let is_undone = rows.first().map_or(Ok(true), |row| row.try_get(0))?;
    Ok((is_undone, session.commit().await?))
}
