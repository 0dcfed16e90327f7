//! Beginning a new epoch of a shop whose records stay.

use std::fmt;

use petstore_ports::{LogEnd, StoreError};

use super::known::Loss;
use super::statement::server;
use super::{Continuity, carried, restored, statement};
use crate::connection::session::{Confirmed, Session};
use crate::error::failed;

/// Records the server of the session as the one that the epoch is decided for.
pub(super) const RECORD: &str = concat!("update shop set server_history = ", server!(), " where one");

/// The reason for a new epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason<'r> {
    /// The database lacks something that this handle has seen.
    Lost(Loss),
    /// The tables were copied from another database into the one with this identity.
    Copied(&'r str),
    /// The database is served by another server, and a node has not confirmed in time that its last change is there.
    Unconfirmed,
    /// An operator asks for it.
    Asked,
}

/// Begins a new epoch on the connection of a writer. After a loss or a copy that another node has met, that node's epoch is
/// used. Returns false in this case. After an error the connection must be discarded.
pub(crate) async fn renew(
    continuity: &Continuity,
    session: &Session,
    reason: Reason<'_>,
) -> Result<bool, StoreError> {
    lock(session).await?;
    if let Reason::Copied(identity) = reason {
        let sql = "update shop set database_identity = $1 where database_identity is distinct from $1 returning one";
        if session.rows(sql, &[&identity]).await.map_err(failure)?.is_empty() {
            session.batch("rollback").await.map_err(failure)?;
            return Ok(false);
        }
    }
    if matches!(reason, Reason::Lost(_)) && lost(continuity, session).await?.is_none() {
        session.batch("rollback").await.map_err(failure)?;
        return Ok(false);
    }
    renew_locked(continuity, session, reason).await.map(|()| true)
}

fn failure(error: tokio_postgres::Error) -> StoreError {
    failed("begin a new epoch", error)
}

/// Begins a transaction that locks the row of the shop and that of the log. A reset takes these locks in the same order.
pub(super) async fn lock(session: &Session) -> Result<(), StoreError> {
    let begin = format!(
        "{}; select from shop where one for update; select from event_log where one for update",
        session.begin()
    );
    session.batch(&begin).await.map_err(failure)
}

/// Looks for what this handle has seen, in a transaction that has locked the log.
pub(super) async fn lost(continuity: &Continuity, session: &Session) -> Result<Option<Loss>, StoreError> {
    let known = *continuity.known.lock();
    let (position, token) = known.asked(tokio::time::Instant::now());
    let token = token.as_ref().map(<[u8; 16]>::as_slice);
    let rows = session.rows(continuity.statement(), &[&position, &token]).await.map_err(failure)?;
    Ok(continuity.judge(&known, &statement::parse(&rows)?))
}

/// Commits a transaction of [`lock`]. A commit that may not be on a standby is an error.
async fn end(session: &Session) -> Result<(), StoreError> {
    match session.commit().await.map_err(failure)? {
        Confirmed::Durable => Ok(()),
        Confirmed::Doubtful => {
            Err(StoreError::indeterminate("PostgreSQL has warned while an epoch was committed"))
        }
    }
}

/// Begins a new epoch in a transaction of [`lock`], and commits it. The epoch is decided for the server of the session.
pub(super) async fn renew_locked(
    continuity: &Continuity,
    session: &Session,
    reason: Reason<'_>,
) -> Result<(), StoreError> {
    let error = failure;
    if continuity.has_history() {
        session.batch(RECORD).await.map_err(error)?;
    }
    let known = *continuity.known.lock();
    let epoch = continuity.new_epoch();
    let text = format!("{epoch:016x}");
    let before = session.rows("select epoch from event_log where one", &[]).await.map_err(error)?;
    session.rows("update shop set epoch = $1 where one", &[&text]).await.map_err(error)?;
    let sql =
        "update event_log set epoch = $1, epoch_number = greatest(epoch_number, $2::bigint) + 1 where one
        returning epoch_number, last_position";
    let number = i64::try_from(known.epoch_number()).unwrap_or(0);
    let rows = session.rows(sql, &[&text, &number]).await.map_err(error)?;
    let row = rows.first().ok_or_else(|| StoreError::corrupt("event_log has no row"))?;
    let (number, last): (i64, i64) =
        row.try_get(0).and_then(|number| Ok((number, row.try_get(1)?))).map_err(error)?;
    // After a failover the shop is the same one, and its webhooks continue.
    if matches!(reason, Reason::Lost(_) | Reason::Unconfirmed) {
        let before: Option<String> = before.first().map(|row| row.try_get(0)).transpose().map_err(error)?;
        if let Some(before) = before.and_then(|text| u64::from_str_radix(&text, 16).ok()) {
            carried::carry_webhooks(session, before, epoch).await?;
        }
    } else {
        restored::disable_webhooks(session).await?;
    }
    if reason == Reason::Unconfirmed {
        // All standbys may be away when a node starts. No change is acknowledged before the epoch is on a standby, because commits
        // get there in their order; if the epoch is lost, another one begins on the next server.
        session.batch("set local synchronous_commit = local").await.map_err(error)?;
    }
    end(session).await?;
    let last = u64::try_from(last).ok().and_then(petstore_domain::Position::new);
    let log_end = LogEnd { epoch, last: last.unwrap_or(petstore_domain::Position::START) };
    {
        let mut known = continuity.known.lock();
        *known = super::Known::default();
        known.read(u64::try_from(number).unwrap_or(0), log_end, None);
    }
    continuity.set_epoch(epoch);
    continuity.say(matches!(reason, Reason::Lost(_) | Reason::Unconfirmed), &reason.to_string());
    Ok(())
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(loss) => write!(
                f,
                "the database has lost acknowledged changes: it lacks {loss}; a new epoch has begun, so that entity tags, \
                 cursors and ids of events from the time before are not accepted any more; find out which standby was \
                 promoted, and set synchronous_standby_names"
            ),
            Self::Unconfirmed => f.write_str(
                "the database is served by another server than before, and not every node has confirmed that its last change is \
                 there: a new epoch has begun, so that entity tags, cursors and ids of events from the time before are not \
                 accepted any more; set synchronous_standby_names, and let all nodes reach the new server",
            ),
            Self::Copied(_) => f.write_str(
                "the tables were copied from another database: a new epoch has begun, so that entity tags, cursors and ids \
                 of events of the two databases differ",
            ),
            Self::Asked => f.write_str("a new epoch has begun"),
        }
    }
}
