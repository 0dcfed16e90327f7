//! The statement that looks for what a handle has seen.

use petstore_domain::Position;
use petstore_ports::{LogEnd, StoreError};
use tokio_postgres::Row;

use super::known::{DatabaseState, History, Mark, Standbys};
use crate::records::Fields;

/// The columns of a [`Mark`].
pub(crate) const MARK: &str = "mark_seq, mark_events, mark_first_at, mark_latest_at, mark_bytes, mark_tail";

/// The query of the [`Mark`] of the batch whose last event has a position.
macro_rules! mark_at {
    ($position:literal) => {
        concat!(
            "(select seq as mark_seq, events as mark_events, first_at as mark_first_at, latest_at as mark_latest_at, \
             octet_length(body) as mark_bytes, \
             substring(body from greatest(octet_length(body) - 31, 1)) as mark_tail \
             from event_batches where last_position = ",
            $position,
            " limit 1)"
        )
    };
}

/// The query of the mark of the newest batch, beside the table `event_log`.
pub(crate) const NEWEST: &str = mark_at!("event_log.last_position");

/// The number of the cluster and its timeline, as SQL; null in recovery. The control file would name the timeline before the
/// promotion until the next checkpoint.
macro_rules! server {
    () => {
        "(case when not pg_is_in_recovery() then (select system_identifier::text from pg_control_system()) || '/' || \
         substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) end)"
    };
}
pub(super) use server;

/// Looks for a batch and a commit, and reads the state of the database. The argument is SQL that says whether the server is the
/// one that the shop has recorded.
macro_rules! check {
    ($is_same:expr) => { concat!(
    "select shop.epoch, log.epoch, log.epoch_number, log.last_position, log.pruned_position, key_changes.number,
    $2::bytea is null or exists (select from commits where token = $2::bytea and not is_undone),
    current_setting('transaction_read_only') = 'on', current_setting('synchronous_standby_names') <> '',
    shop.is_synchronous, (extract(epoch from clock_timestamp()) * 1000000)::bigint, ",
    $is_same,
    ",
    mark_seq, mark_events, mark_first_at, mark_latest_at, mark_bytes, mark_tail
    from (select * from event_log where one) as log
    cross join (select epoch, server_history, is_synchronous from shop where one) as shop
    cross join (select number from key_changes where one) as key_changes
    left join lateral ",
    mark_at!("$1::bigint"),
    " as mark on true"
)};
}

/// The statement for a server that tells its timeline.
/// - `$1`: the position of the last event of the batch, or null
/// - `$2`: the token of the commit, or null
pub(super) const CHECK: &str = check!(concat!("coalesce(shop.server_history, '') = ", server!()));

/// The statement for a server that does not.
pub(super) const CHECK_WITHOUT_HISTORY: &str = check!("null::boolean");

/// Parses the row of [`CHECK`].
pub(super) fn parse(rows: &[Row]) -> Result<DatabaseState, StoreError> {
    let row = rows.first().ok_or_else(|| StoreError::corrupt("event_log, shop or key_changes has no row"))?;
    let mut fields = Fields::of("event_log", row);
    let epoch = |digits: &str| u64::from_str_radix(digits, 16);
    let position = |number| Position::new(number).ok_or("is too large");
    let shop_epoch = fields.parsed(epoch)?;
    let log_epoch = fields.parsed(epoch)?;
    let epoch_number = fields.number(Ok::<_, &str>)?;
    let last = fields.number(position)?;
    Ok(DatabaseState {
        shop_epoch,
        epoch_number,
        end: LogEnd { epoch: log_epoch, last },
        pruned: fields.number(position)?,
        key_changes: fields.plain()?,
        has_commit: fields.plain()?,
        is_read_only: fields.plain()?,
        standbys: Standbys { are_awaited: fields.plain()?, are_recorded: fields.plain()? },
        shown: fields.plain()?,
        history: match fields.plain::<Option<bool>>()? {
            None => History::Unknown,
            Some(true) => History::Same,
            Some(false) => History::Undecided,
        },
        batch: mark(&mut fields)?,
    })
}

/// Reads the columns of a batch; none if they are null.
pub(crate) fn mark(fields: &mut Fields<'_>) -> Result<Option<Mark>, StoreError> {
    let seq: Option<i64> = fields.plain()?;
    let Some(seq) = seq else { return Ok(None) };
    let (events, first_at, latest_at, bytes) =
        (fields.plain()?, fields.plain()?, fields.plain()?, fields.plain()?);
    let end: Vec<u8> = fields.plain()?;
    let mut tail = [0; 32];
    let length = end.len().min(tail.len());
    tail[..length].copy_from_slice(&end[..length]);
    Ok(Some(Mark { seq, events, first_at, latest_at, bytes, tail }))
}
