//! The decision about the epoch after a failover.
//!
//! A standby that was promoted may lack acknowledged changes that only another node knows of. So a node that finds itself on
//! another server than the one that the shop has recorded does not write. It looks for what it has seen, and records in its
//! row that it has found it. Once every node that was live before the failover has done so, the epoch stays. These are the
//! nodes whose rows the new server has, and those that this node has seen when it last renewed its row: the new server may
//! lack the row of a node that had just joined. If a node lacks
//! something, it begins a new epoch. If a node says nothing for [`WAIT`], the epoch stays only if commits waited for a
//! standby before. The same holds if no node is left that ran before: the new server may lack the rows of all of them, with
//! their changes.

use std::time::Duration;

use petstore_ports::StoreError;

use super::Continuity;
use super::renewal::{RECORD, Reason, lock, lost, renew_locked};
use super::statement::server;
use crate::connection::session::Session;
use crate::error::{failed, is_withheld};

/// The version of the tables that has the columns.
pub(crate) const SINCE: usize = 5;

/// The time for which nodes that say nothing are awaited.
const WAIT: Duration = Duration::from_secs(5);

/// Reads whether the server is the recorded one, whether one is recorded, and whether commits waited for a standby.
const READ: &str = concat!(
    "select server_history is not distinct from ",
    server!(),
    ", server_history is null, is_synchronous from shop where one"
);

/// Records in the row of a node that it has found what it has seen. A row that the server lacks is inserted, and gets its other
/// columns with the next renewal. So are the rows of the nodes that this one has seen, so that all nodes await them. Then
/// returns the numbers of the other nodes that were live before the failover: of those that have not said so, and of those
/// that have. The last renewals are compared with each other, because a server that was promoted may have another clock.
/// - `$1`: the id of the node
/// - `$2`: the ids of the live nodes that this node has seen last
/// - `$3`: true if this node has a row
const CONFIRM: &str = concat!(
    "with server as materialized (select ",
    server!(),
    " as history),
    last as materialized (select max(seen_at) as seen_at from nodes),
    awaited as materialized (
        select nodes.id from nodes, last where nodes.seen_at > last.seen_at - interval '30 s'
        union select unnest($2::text[])
    ),
    recorded as (
        insert into nodes (id, version, event_form, host, address, started_at, seen_at, settings, confirmed_history)
        select node.id, '', event_form, '', '', moment.seen_at, moment.seen_at, '{}', node.history
        from schema_version, (select coalesce(seen_at, clock_timestamp()) as seen_at from last) as moment,
            (select $1::text as id, history from server union select unnest($2::text[]), null) as node
        where schema_version.one and $3::boolean
        on conflict (id) do update set confirmed_history = excluded.confirmed_history
            where excluded.confirmed_history is not null
    )
    select count(*) filter (where not has_confirmed), count(*) filter (where has_confirmed)
    from awaited, server, lateral (
        select exists (select from nodes where nodes.id = awaited.id and confirmed_history is not distinct from history)
            as has_confirmed) as found
    where awaited.id <> $1::text"
);

/// Commits without a wait for standbys, which may be away: what is committed this way may be lost, because it is found out
/// again.
const COMMIT_LOCALLY: &str = "set local synchronous_commit = local; commit";

/// Takes note of whether the server tells its timeline to the role.
pub(crate) async fn probe(continuity: &Continuity, session: &Session) -> Result<(), StoreError> {
    match session.rows_alone(concat!("select ", server!()), &[]).await {
        Ok(_) => continuity.tells_history(),
        // Some services do not have the functions, and an operator may have taken the privileges away.
        Err(error) if is_withheld(&error) => {}
        Err(error) => return Err(failed("read the timeline of the server", error)),
    }
    Ok(())
}

/// Takes a step of the decision on the connection of a writer. Returns true if the server is the recorded one now. `node`: the
/// id of this node. After an error the connection must be discarded.
pub(crate) async fn decide(
    continuity: &Continuity,
    session: &Session,
    node: &str,
) -> Result<bool, StoreError> {
    if !continuity.has_history() {
        return Ok(true);
    }
    let error = |error| failed("decide about the epoch after a failover", error);
    lock(session).await?;
    let rows = session.rows(READ, &[]).await.map_err(error)?;
    let row = rows.first().ok_or_else(|| StoreError::corrupt("shop has no row"))?;
    let (is_same, is_first, was_synchronous): (bool, bool, bool) =
        row.try_get(0).and_then(|same| Ok((same, row.try_get(1)?, row.try_get(2)?))).map_err(error)?;
    if is_same {
        session.batch("rollback").await.map_err(error)?;
        continuity.decided();
        return Ok(true);
    }
    if is_first {
        session.batch(RECORD).await.map_err(error)?;
        session.batch(COMMIT_LOCALLY).await.map_err(error)?;
        return Ok(true);
    }
    if let Some(loss) = lost(continuity, session).await? {
        renew_locked(continuity, session, Reason::Lost(loss)).await?;
        continuity.decided();
        return Ok(true);
    }
    let (live, has_row) = continuity.live_nodes();
    let rows = session.rows(CONFIRM, &[&node, &live, &has_row]).await.map_err(error)?;
    let row = rows.first().ok_or_else(|| StoreError::corrupt("the nodes cannot be counted"))?;
    let (missing, confirmed): (i64, i64) =
        row.try_get(0).and_then(|missing| Ok((missing, row.try_get(1)?))).map_err(error)?;
    // This node has a row only if it ran before.
    let is_confirmed = missing == 0 && (has_row || confirmed > 0);
    let is_late = continuity.undecided_for() >= WAIT;
    if !is_confirmed && !is_late {
        // Each node says it for itself, and repeats it after another failover.
        session.batch(COMMIT_LOCALLY).await.map_err(error)?;
        return Ok(false);
    }
    if !is_confirmed && !continuity.were_synchronous(was_synchronous) {
        renew_locked(continuity, session, Reason::Unconfirmed).await?;
    } else {
        session.batch(RECORD).await.map_err(error)?;
        session.batch(COMMIT_LOCALLY).await.map_err(error)?;
        continuity.say(false, "the database is served by another server than before, and the epoch stays");
    }
    continuity.decided();
    Ok(true)
}

/// Records whether commits wait for a standby. A standby that is away does not hold it up.
pub(crate) async fn record_sync(session: &Session, is_synchronous: bool) -> Result<(), StoreError> {
    let sql = format!(
        "set local synchronous_commit = local;
         update shop set is_synchronous = {is_synchronous} where one and is_synchronous <> {is_synchronous}"
    );
    let recorded = session.batch_alone(&sql).await;
    recorded.map_err(|error| failed("record whether commits wait for a standby", error))
}
