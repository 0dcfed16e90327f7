//! The statements about nodes.

/// Inserts or renews the row of a node. Its commit waits neither for the disk nor for a standby: a renewal that is lost is
/// repeated a second later, and a standby that does not answer must not make nodes look as if they were gone.
/// Returns the form of events in force, the number of other live nodes, and two facts about nodes that do not know `$3`:
/// one is live; one has a row. Then the milliseconds by which the clock of this node's machine is ahead of the database's, and
/// those of the nodes that have renewed their rows within 3 s. A row from before a step of the database's clock by 5 s or more
/// does not look like one of the last 3 s. Then the ids of the other live nodes. A row without a release was inserted by a
/// decision about the epoch; see [`crate::connection::continuity`].
/// - `$1` to `$6`: id, version, newest form of events, host, address, settings
/// - `$7`: the seconds since the start
/// - `$8`: the time of the machine in microseconds since 1970, or null
pub(super) const RENEW: &str = "\
with quick as materialized (
    select set_config('synchronous_commit', 'off', true) as is_set, clock_timestamp() as now,
        $8::bigint / 1000 - (extract(epoch from clock_timestamp()) * 1000)::bigint as ahead
),
renewed as (
    insert into nodes (id, version, event_form, host, address, settings, started_at, seen_at, clock_ahead_ms)
    select $1::text, $2::text, $3::int4, $4::text, $5::text, $6::text[],
        now - make_interval(secs => $7::float8), now, ahead
    from quick
    on conflict (id) do update set version = excluded.version, event_form = excluded.event_form, host = excluded.host,
        address = excluded.address, seen_at = excluded.seen_at, settings = excluded.settings,
        started_at = case when nodes.version = '' then excluded.started_at else nodes.started_at end,
        clock_ahead_ms = excluded.clock_ahead_ms
)
select event_form,
    (select count(*) from nodes where id <> $1::text and seen_at > clock_timestamp() - interval '30 s'),
    exists (select from nodes where event_form < $3::int4 and seen_at > clock_timestamp() - interval '30 s'),
    exists (select from nodes where event_form < $3::int4),
    (select ahead from quick),
    array(select clock_ahead_ms from nodes, quick where id <> $1::text and clock_ahead_ms is not null
        and seen_at between now - interval '3 s' and now),
    array(select id from nodes where id <> $1::text and seen_at > clock_timestamp() - interval '30 s')
from schema_version where one";

/// Inserts the row of a node that joins, unless the form of events in force is one that it does not know. Returns the form
/// in force. The row of `schema_version` stays locked until the commit, so that the form is not raised meanwhile. The commit
/// waits for the disk, but not for a standby.
/// - `$1` to `$7`: as for [`RENEW`]
pub(super) const JOIN: &str = "\
with local as materialized (select set_config('synchronous_commit', 'local', true) as is_set),
form as materialized (select event_form from schema_version, local where one and is_set is not null for update of schema_version),
joined as (
    insert into nodes (id, version, event_form, host, address, settings, started_at, seen_at)
    select $1::text, $2::text, $3::int4, $4::text, $5::text, $6::text[],
        clock_timestamp() - make_interval(secs => $7::float8), clock_timestamp()
    from form where form.event_form <= $3::int4
)
select event_form from form";

/// Removes the row of a node, without waiting for the disk.
pub(super) const LEAVE: &str = "\
with quick as materialized (select set_config('synchronous_commit', 'off', true) as is_set)
delete from nodes using quick where id = $1::text and is_set is not null";

/// The statements of a transaction that raises the form of events in force to the one that a node knows, unless a live node does not know it. The statements
/// must be sent together, as simple queries: the last one sees the nodes that joined before the lock was taken. The commit
/// does not wait for a standby, so that the lock is held for a moment only. A standby that has an event of the new form has
/// the raised form, too, because that was committed before.
pub(super) fn raise(form: u32) -> String {
    format!(
        "set local synchronous_commit = local; select from schema_version where one for update;
         update schema_version set event_form = {form} where event_form < {form} and not exists (
             select from nodes where event_form < {form} and seen_at > clock_timestamp() - interval '30 s')"
    )
}

/// All nodes, with the seconds since they were last seen, and whether they are live.
pub(super) const LIST: &str = "\
select id, version, event_form, host, address, started_at, seen_at,
    greatest(0, extract(epoch from clock_timestamp() - seen_at))::float8,
    seen_at > clock_timestamp() - interval '30 s', settings
from nodes order by started_at, id";
