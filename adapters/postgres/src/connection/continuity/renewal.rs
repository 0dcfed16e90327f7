//! Beginning a new epoch of a shop whose records stay.

use std::fmt;

use petstore_ports::{LogEnd, StoreError};

use super::known::Loss;
use super::{Continuity, restored, statement};
use crate::connection::session::{Confirmed, Session};
use crate::error::failed;

/// The reason for a new epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason<'r> {
    /// The database lacks something that this handle has seen.
    Lost(Loss),
    /// The tables were copied from another database into the one with this identity.
    Copied(&'r str),
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
    let error = |error| failed("begin a new epoch", error);
    // A reset takes these locks in the same order.
    let begin = format!(
        "{}; select from shop where one for update; select from event_log where one for update",
        session.begin()
    );
    session.batch(&begin).await.map_err(error)?;
    let known = *continuity.known.lock();
    if let Reason::Copied(identity) = reason {
        let sql = "update shop set database_identity = $1 where database_identity is distinct from $1 returning one";
        if session.rows(sql, &[&identity]).await.map_err(error)?.is_empty() {
            session.batch("rollback").await.map_err(error)?;
            return Ok(false);
        }
    }
    if matches!(reason, Reason::Lost(_)) {
        let (position, token) = known.asked(tokio::time::Instant::now());
        let token = token.as_ref().map(<[u8; 16]>::as_slice);
        let found =
            statement::parse(&session.rows(statement::CHECK, &[&position, &token]).await.map_err(error)?)?;
        if continuity.judge(&known, &found).is_none() {
            session.batch("rollback").await.map_err(error)?;
            return Ok(false);
        }
    }
    let epoch = continuity.new_epoch();
    let text = format!("{epoch:016x}");
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
    if !matches!(reason, Reason::Lost(_)) {
        restored::disable_webhooks(session).await?;
    }
    if session.commit().await.map_err(error)? == Confirmed::Doubtful {
        return Err(StoreError::indeterminate("PostgreSQL has warned while a new epoch was committed"));
    }
    let last = u64::try_from(last).ok().and_then(petstore_domain::Position::new);
    let end = LogEnd { epoch, last: last.unwrap_or(petstore_domain::Position::START) };
    {
        let mut known = continuity.known.lock();
        *known = super::Known::default();
        known.read(u64::try_from(number).unwrap_or(0), end, None);
    }
    continuity.set_epoch(epoch);
    continuity.say(matches!(reason, Reason::Lost(_)), &reason.to_string());
    Ok(true)
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
            Self::Copied(_) => f.write_str(
                "the tables were copied from another database: a new epoch has begun, so that entity tags, cursors and ids \
                 of events of the two databases differ",
            ),
            Self::Asked => f.write_str("a new epoch has begun"),
        }
    }
}
