//! Finding out the outcome of a commit whose answer was lost.

use std::time::Duration;

use petstore_ports::StoreError;
use tokio::time::{Instant, sleep, timeout_at};

use super::reconnect::Reconnecting;
use crate::error::Driver;

/// The pause between two attempts to find out.
const PAUSE: Duration = Duration::from_millis(20);

/// Inserts the token in place of the commit, or finds its row. Returns true if the commit has not taken place and no
/// longer can, and false if it has. The statement can be repeated if its own answer is lost.
const SQL: &str = "insert into commits (token, is_undone) values ($1, true)
     on conflict (token) do update set token = excluded.token returning is_undone";

/// The outcome of a commit whose answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Committed,
    /// It has not been committed, and never will be: its token is taken.
    NotCommitted,
}

/// Uses another connection to insert the token of the commit. While the old transaction runs, the insertion waits for
/// it. If the old transaction was committed, the insertion finds its row. If the insertion succeeds, the old transaction
/// was undone or has not run yet. If it has not run yet, its statements will fail because the token exists.
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
    let rows = open.session.rows_alone(SQL, &[&token.as_slice()]).await.map_err(failed)?;
    let is_undone = rows.first().map_or(Ok(true), |row| row.try_get(0)).map_err(failed)?;
    connection.keep(open);
    Ok(if is_undone { Outcome::NotCommitted } else { Outcome::Committed })
}
