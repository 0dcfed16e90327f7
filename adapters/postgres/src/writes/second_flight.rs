//! Writing and committing a batch: one flight of pipelined statements.

use futures_util::future::{join, join3};
use petstore_ports::StoreError;
use tokio::time::timeout;
use tokio_postgres::{Error, Row};

use super::absence::{self, Absent, Identity};
use super::failure::Failure;
use super::reconnect::Open;
use super::statement::Statement;
use crate::connection::{Confirmed, Session, Statement as Prepared};

/// The answer to a commit.
pub(super) enum Answer {
    /// It was committed. These are the records that the batch had read as absent and that have appeared by the second
    /// read.
    Committed(Vec<Identity>),
    /// The connection was lost, or the answer did not come in time: the commit may have taken place.
    Unknown,
    /// It was committed, and the server has warned during the flight: the commit may not be on a standby that it had to wait
    /// for. The connection can be used again.
    Doubtful,
}

/// Reads absent records again. Returns those that have appeared.
pub(super) async fn read_again(open: &Open, absent: &Absent) -> Result<Vec<Identity>, Failure> {
    let rows = async {
        let statement = open.session.prepared(absence::SQL).await?;
        query(&open.session, Some((&statement, absent))).await
    };
    let rows = timeout(open.session.answer_time(), rows).await.map_err(|_| late())?;
    absence::identities(&rows.map_err(|error| Failure::of("read absent records again", error))?)
}

/// Ends a transaction that writes nothing.
pub(super) async fn release(open: &Open, absent: Option<&Absent>) -> Result<Answer, Failure> {
    let flight = async {
        let session = &open.session;
        let statement = prepared_again(open, absent).await?;
        let (rows, ended) =
            join(query(session, statement.as_ref().zip(absent)), session.batch("rollback")).await;
        ended.and(rows)
    };
    let rows = timeout(open.session.answer_time(), flight).await.map_err(|_| late())?;
    let rows = rows.map_err(|error| Failure::of("end a transaction without changes", error))?;
    Ok(Answer::Committed(absence::identities(&rows)?))
}

/// Writes the changes of a batch and commits. The statements are sent together.
///
/// The answer to `commit` proves nothing on its own: after a failed statement the server answers `commit` without an
/// error, but rolls the transaction back. So the batch is committed only if the statements before it have succeeded,
/// too.
pub(super) async fn commit(
    open: &Open,
    statement: Statement<'_>,
    absent: Option<&Absent>,
) -> Result<Answer, Failure> {
    let session = &open.session;
    let preparing = async {
        let again = prepared_again(open, absent).await?;
        Ok::<_, Error>((again, session.prepared(&statement.sql).await?))
    };
    let prepared = timeout(open.session.answer_time(), preparing).await.map_err(|_| late())?;
    let (again, write) = prepared.map_err(|error| Failure::of("prepare the write of a batch", error))?;
    let parameters = statement.parameters();
    let warnings = session.warnings();
    let flight = join3(
        query(session, again.as_ref().zip(absent)),
        session.execute(&write, &parameters),
        session.batch("commit"),
    );
    let Ok((rows, written, committed)) = timeout(open.session.answer_time(), flight).await else {
        return Ok(Answer::Unknown);
    };
    let rows = match (rows, written) {
        (Ok(rows), Ok(_)) => rows,
        // The server itself reports the failure, so it does not commit the transaction.
        (Err(error), _) | (_, Err(error)) if error.code().is_some() => {
            return Err(Failure::of("write a batch", error));
        }
        (Err(_), _) | (_, Err(_)) => return Ok(Answer::Unknown),
    };
    match committed.map_err(|error| Failure::of("commit a batch", error)) {
        // The commit stands, even if the ids of the appeared records cannot be read. Then all absent records count as
        // appeared, and the decisions that rest on them are made again.
        Ok(()) if session.confirmed_since(warnings) == Confirmed::Doubtful => Ok(Answer::Doubtful),
        Ok(()) => {
            let all = |_| absent.map(Absent::all).unwrap_or_default();
            Ok(Answer::Committed(absence::identities(&rows).unwrap_or_else(all)))
        }
        Err(Failure::Lost(_)) => Ok(Answer::Unknown),
        Err(failure) => Err(failure),
    }
}

async fn prepared_again(open: &Open, absent: Option<&Absent>) -> Result<Option<Prepared<'static>>, Error> {
    match absent {
        Some(_) => open.session.prepared(absence::SQL).await.map(Some),
        None => Ok(None),
    }
}

async fn query(session: &Session, again: Option<(&Prepared<'_>, &Absent)>) -> Result<Vec<Row>, Error> {
    match again {
        Some((statement, absent)) => session.query(statement, &absent.parameters()).await,
        None => Ok(Vec::new()),
    }
}

fn late() -> Failure {
    Failure::Late(StoreError::unavailable("the database did not answer in time"))
}
