//! The statements of the event log.

use std::sync::LazyLock;

use crate::connection::Settings;
use crate::connection::continuity::{MARK, NEWEST};

/// Settings of the sequencer's connection, in addition to those of a writer. The only good plan of its statements uses
/// the indexes, even while the statistics are those of an empty table.
pub(super) const SEQUENCER_SETTINGS: Settings = &[("enable_seqscan", "off"), ("enable_bitmapscan", "off")];

/// Locks the log, and returns the number of the transaction.
pub(super) const LOCK: &str = "select pg_current_xact_id()::text::bigint from event_log where one for update";

/// Gives positions. It needs the lock, and a snapshot taken after it.
/// - `$1`: a `seq` up to which the batches are settled
/// - `$2`: the maximum number of batches
pub(super) const NUMBER: &str = "\
with log as materialized (select epoch, epoch_number, last_position from event_log where one),
unnumbered as materialized (
    select seq, events, octet_length(body) as bytes from event_batches
    where last_position is null and seq > greatest((select settled_seq from event_log where one), $1::bigint)
    order by seq limit $2::bigint
),
placed as materialized (select seq, bytes, sum(events) over (order by seq) as events_to_here from unnumbered),
total as materialized (
    select count(*) as batches, coalesce(max(events_to_here), 0) as events, coalesce(sum(bytes), 0) as bytes, max(seq) as last_seq
    from placed
),
numbered as (
    update event_batches set last_position = log.last_position + placed.events_to_here
    from placed, log where event_batches.seq = placed.seq
),
advanced as (
    update event_log set last_position = event_log.last_position + total.events, bytes = event_log.bytes + total.bytes,
        settled_seq = greatest(settled_seq, $1::bigint)
    from total where one and (total.batches > 0 or settled_seq < $1::bigint)
)
select log.epoch, log.epoch_number, log.last_position + total.events, total.batches, total.last_seq,
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint
from log, total";

/// The condition for a column with a time that an event may have. A damaged time must neither hide the extent of the log nor
/// keep its batch for ever.
macro_rules! is_time {
    ($column:literal) => {
        concat!($column, " between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999+00'")
    };
}

/// The condition for a batch whose first time is not damaged.
pub(crate) const HAS_TIME: &str = is_time!("first_at");

/// The extent of the log, and the batches of a span of positions. One row without a batch if the span has none.
/// - `$1`: the place to begin at, or null
/// - `$2`: the number of positions
/// - `$3`: true if batches without a position matter. If there are any, no batch is returned.
/// - `$4`: the epoch that the reader expects, or null
fn page(span: &str) -> String {
    format!(
        "\
with log as materialized (
    select epoch, epoch_number, last_position, pruned_position,
        (select first_at from event_batches where last_position > event_log.pruned_position and {HAS_TIME}
            order by last_position limit 1) as oldest_at,
        $3::boolean and exists (
            select from event_batches where last_position is null and seq > (select settled_seq from event_log where one)
        ) as has_backlog,
        $4::text is null or $4::text = epoch as is_expected, {MARK}
    from event_log left join lateral {NEWEST} as mark on true where one
)
select log.epoch, log.epoch_number, log.last_position, log.pruned_position, log.oldest_at, log.has_backlog,
    batch.last_position, batch.events, batch.body, {MARK}
from log
cross join lateral (select {span}) as span (after, last)
left join lateral (
    (select last_position, events, body from event_batches
        where last_position > span.after and last_position < span.last)
    union all
    (select last_position, events, body from event_batches
        where last_position >= span.last order by last_position limit 1)
) as batch on span.last > span.after and log.pruned_position <= span.after and span.last <= log.last_position
    and log.is_expected and not log.has_backlog"
    )
}

/// The positions after `$1`, or from the oldest on.
pub(super) static ASCENDING: LazyLock<String> = LazyLock::new(|| {
    page(
        "coalesce($1::bigint, log.pruned_position), \
         least(log.last_position, coalesce($1::bigint, log.pruned_position) + $2::bigint)",
    )
});

/// The positions before `$1`, or from the newest on.
pub(super) static DESCENDING: LazyLock<String> = LazyLock::new(|| {
    page(
        "greatest(log.pruned_position, coalesce($1::bigint - 1, log.last_position) - $2::bigint), \
         coalesce($1::bigint - 1, log.last_position)",
    )
});

/// Returns true if the oldest batch exceeds a limit and is to be dropped, and false otherwise.
/// - `$1`: the time before which batches are too old
/// - `$2`: the maximum number of bytes
pub(super) const IS_OVER: &str = concat!(
    "\
select bytes > $2::bigint or coalesce((
    select latest_at < $1::timestamptz from event_batches
    where last_position > event_log.pruned_position and ",
    is_time!("latest_at"),
    " order by last_position limit 1
), false)
from event_log where one"
);

/// Drops the oldest batches that are too old or too many, up to the first that is neither. A batch whose time is damaged has
/// that of the next one. It needs the lock.
/// - `$1` and `$2`: as for [`IS_OVER`]
/// - `$3`: the maximum number of batches
pub(super) const PRUNE: &str = concat!(
    "\
with log as materialized (select bytes, pruned_position from event_log where one),
oldest as materialized (
    select seq, last_position, events, octet_length(body) as bytes,
        coalesce(case when ",
    is_time!("latest_at"),
    " then latest_at end, (select later.latest_at from event_batches as later
            where later.last_position > event_batches.last_position and ",
    is_time!("later.latest_at"),
    " order by later.last_position limit 1)) as latest_at
    from event_batches
    where last_position > (select pruned_position from log)
    order by last_position limit $3::bigint
),
counted as materialized (
    select seq, last_position, events, oldest.bytes,
        coalesce(latest_at >= $1::timestamptz, true) and log.bytes - (sum(oldest.bytes) over (order by last_position) - oldest.bytes) <= $2::bigint
            as is_kept
    from oldest, log
),
dropped as materialized (
    select seq, last_position, events, bytes from counted
    where last_position < coalesce((select min(last_position) from counted where is_kept), 9223372036854775807)
),
deleted as (delete from event_batches using dropped where event_batches.seq = dropped.seq),
total as materialized (
    select count(*) as batches, coalesce(sum(events), 0) as events, coalesce(sum(bytes), 0) as bytes, max(last_position) as last_position
    from dropped
),
advanced as (
    update event_log set pruned_position = total.last_position, bytes = greatest(0, event_log.bytes - total.bytes)
    from total where one and total.batches > 0
)
select batches, events from total"
);
