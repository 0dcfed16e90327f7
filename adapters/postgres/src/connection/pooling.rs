//! Noticing a pooler that gives each transaction another connection to the server.

use std::time::Duration;

use tokio::time::timeout;

use super::connector::{Connector, Role};
use super::session::Session;
use crate::error::{OpenError, failed};

/// The number of times that a process of the server is asked for. A pooler may give a connection back by chance.
const ROUNDS: usize = 4;

/// The time limit for finding it out, which takes up to 17 round trips.
const TIME: Duration = Duration::from_secs(10);

/// The number of the server's process behind a connection, as text.
const PROCESS: &str = "select pg_backend_pid()";

/// The refusal of a pooler that gives each statement another connection, as PgBouncer words it.
const STATEMENT_MODE: &str = "statement pooling";

/// Refuses a pooler in transaction mode if statements are prepared. A connection without a pooler, or with one in session
/// mode, keeps its process of the server. In transaction mode a process goes to another connection as soon as a transaction
/// has ended. So a second connection gets the process of the first, or the first gets another one while the second is in a
/// transaction.
///
/// Without a free connection for the second one, or without answers in time, nothing is found out. A pooler accepts more
/// connections than its server.
///
/// A pooler in statement mode is refused in any case, because it allows no transactions.
pub(crate) async fn refuse(connector: &Connector, session: &Session) -> Result<(), OpenError> {
    if !session.prepares() {
        let begun = timeout(TIME, async {
            session.batch("begin").await?;
            session.batch("rollback").await
        });
        return match begun.await {
            Ok(Err(error)) => Err(refusal(error)),
            Ok(Ok(())) | Err(_) => Ok(()),
        };
    }
    let Ok(other) = connector.connect(Role::Reader).await else { return Ok(()) };
    let Ok(compared) = timeout(TIME, is_pooled(session, &other)).await else { return Ok(()) };
    match compared {
        Ok(false) => Ok(()),
        Ok(true) => {
            // The settings of both are now those of connections that other clients get.
            for pooled in [&other, session] {
                let _: Result<_, _> = timeout(connector.answer_time(), pooled.batch("reset all")).await;
            }
            Err(OpenError::Pooled)
        }
        Err(error) => Err(refusal(error)),
    }
}

fn refusal(error: tokio_postgres::Error) -> OpenError {
    let is_of_statement_mode =
        error.as_db_error().is_some_and(|refusal| refusal.message().contains(STATEMENT_MODE));
    if is_of_statement_mode {
        return OpenError::WithoutTransactions;
    }
    OpenError::Store(failed("cannot find out whether a pooler is in use", error))
}

async fn is_pooled(session: &Session, other: &Session) -> Result<bool, tokio_postgres::Error> {
    let first = process(session).await?;
    for _ in 0..ROUNDS {
        other.batch("begin").await?;
        let is_shared = process(other).await? == first;
        let is_pooled = is_shared || process(session).await? != first;
        other.batch("rollback").await?;
        if is_pooled {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Asks without preparing a statement, which another client of a pooler may have done under the same name.
async fn process(session: &Session) -> Result<Option<String>, tokio_postgres::Error> {
    session.word(PROCESS).await
}
