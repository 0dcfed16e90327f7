//! The table of events: one row for each batch, written in the transaction of the batch.

use petstore_domain::{Position, Timestamp};
use petstore_ports::{EventBatch, EventBounds, EventLimits, EventsPruned, StoreError};
use rusqlite::{Connection, Error, OptionalExtension, Row, params};

use crate::epoch_text::digits;
use crate::error::unreadable;
use crate::table::Fields;

/// The name of the table.
pub(crate) const TABLE: &str = "event_batches";

/// Maximum number of rows that one step drops. It limits a step to a few milliseconds of the writer's time.
const PRUNE_MAX: usize = 1_000;

/// Number of bytes of dropped rows after which a step ends. This bound matters for rows of large batches, because the
/// duration of a step grows with the number of pages that are freed.
const PRUNE_BYTES_MAX: u64 = 512 * 1024;

/// The rows from the oldest on, each with the time of its latest event. A row whose time is damaged has that of the next row
/// with a time, so that it neither hides the extent of the log nor stays in it for ever.
/// - `?1` and `?2`: the first and the last time that a row may have
const BY_AGE: &str = "SELECT first, coalesce(
        CASE WHEN at BETWEEN ?1 AND ?2 THEN at END,
        (SELECT later.at FROM event_batches AS later
            WHERE later.first > event_batches.first AND later.at BETWEEN ?1 AND ?2 ORDER BY later.first LIMIT 1)
    ), length(body) FROM event_batches ORDER BY first";

/// The parameters of [`BY_AGE`].
const TIMES: [i64; 2] = [Timestamp::MIN.as_millis(), Timestamp::MAX.as_millis()];

/// Writes the events of a batch. Fails unless the events follow the last event in the table, because a gap would mean
/// that events are lost.
pub(crate) fn write(connection: &Connection, events: &EventBatch<'_>) -> rusqlite::Result<()> {
    let EventBatch { first, last, latest, body } = *events;
    let bytes = body.len() as u64;
    let sql = "UPDATE meta SET last_event = ?2, event_bytes = event_bytes + ?3 WHERE last_event = ?1 - 1";
    let changed = connection.prepare_cached(sql)?.execute(params![first.get(), last.get(), bytes])?;
    if changed != 1 {
        return Err(Error::StatementChangedRows(changed));
    }
    let sql = "INSERT INTO event_batches (first, last, at, body) VALUES (?1, ?2, ?3, ?4)";
    let values = params![first.get(), last.get(), latest.as_millis(), body];
    connection.prepare_cached(sql)?.execute(values).map(drop)
}

/// Begins a new epoch of the log.
pub(crate) fn restart(connection: &Connection, epoch: u64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM event_batches", [])?;
    let sql = "UPDATE meta SET event_epoch = ?1, last_event = 0, event_bytes = 0";
    let changed = connection.execute(sql, [digits(epoch)])?;
    if changed == 1 { Ok(()) } else { Err(Error::StatementChangedRows(changed)) }
}

/// Drops the oldest rows that exceed the limits, at most [`PRUNE_MAX`] rows and about [`PRUNE_BYTES_MAX`] bytes.
/// Returns true if more rows exceed the limits. The caller has begun a transaction.
pub(crate) fn prune(connection: &Connection, limits: &EventLimits) -> rusqlite::Result<bool> {
    let sql = "SELECT event_bytes FROM meta";
    let mut left: u64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    let before = left;
    let mut statement = connection.prepare_cached(BY_AGE)?;
    let mut rows = statement.query(TIMES)?;
    let (mut last, mut count, mut dropped, mut has_more) = (None, 0, 0, false);
    while let Some(row) = rows.next()? {
        let (first, at, bytes): (i64, Option<i64>, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let is_new = at.is_none_or(|at| at >= limits.not_before.as_millis());
        if is_new && left <= limits.bytes_max {
            break;
        }
        has_more = count == PRUNE_MAX || dropped >= PRUNE_BYTES_MAX;
        if has_more {
            break;
        }
        (last, count, dropped, left) = (Some(first), count + 1, dropped + bytes, left.saturating_sub(bytes));
    }
    drop(rows);
    if let Some(last) = last {
        let sql = "DELETE FROM event_batches WHERE first <= ?1";
        connection.prepare_cached(sql)?.execute([last])?;
        let sql = "UPDATE meta SET event_bytes = max(0, event_bytes - ?1)";
        connection.prepare_cached(sql)?.execute([before - left])?;
    }
    Ok(has_more)
}

/// Reads the extent of the log. The caller has begun a transaction, or has the only connection that writes.
pub(crate) fn bounds(connection: &Connection) -> Result<EventBounds, StoreError> {
    let failed = |error| unreadable("meta", &error);
    let sql = "SELECT id, event_epoch, last_event FROM meta";
    let parse = |row: &Row<'_>| -> Result<(u64, Position), StoreError> {
        let mut row = Fields::new("meta", row);
        let _id: i64 = row.plain("id")?;
        let epoch = row.text("event_epoch", |digits| u64::from_str_radix(digits, 16))?;
        Ok((epoch, row.number("last_event", |number| Position::new(number).ok_or("is too large"))?))
    };
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let found = statement.query_row([], |row| Ok(parse(row))).optional().map_err(failed)?;
    let (epoch, last) = found.ok_or_else(|| StoreError::corrupt("meta has no row"))??;

    let failed = |error| unreadable(TABLE, &error);
    let mut statement = connection.prepare_cached(BY_AGE).map_err(failed)?;
    let oldest = statement.query_row(TIMES, |row| Ok(parse_oldest(row))).optional().map_err(failed)?;
    let (pruned, oldest_at) = oldest.transpose()?.unwrap_or((last, None));
    Ok(EventBounds { epoch, pruned, last, oldest_at })
}

/// Parses the oldest row: the position before it, and its time.
fn parse_oldest(row: &Row<'_>) -> Result<(Position, Option<Timestamp>), StoreError> {
    let mut row = Fields::new(TABLE, row);
    let first = row.number("first", position)?;
    let at: Option<i64> = row.plain("at")?;
    Ok((first.before(), at.and_then(|millis| Timestamp::from_millis(millis).ok())))
}

fn position(number: u64) -> Result<Position, &'static str> {
    Position::new(number).filter(|it| *it > Position::START).ok_or("is out of range")
}

/// The columns of a row except its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventRow {
    pub(crate) first: Position,
    pub(crate) last: Position,
    pub(crate) latest: Timestamp,
}

/// Parses the first columns of a row.
pub(crate) fn parse_row(row: &Row<'_>) -> Result<EventRow, StoreError> {
    let mut row = Fields::new(TABLE, row);
    let (first, last) = (row.number("first", position)?, row.number("last", position)?);
    if last < first {
        return Err(row.damaged("last", "is before first"));
    }
    let millis: i64 = row.plain("at")?;
    let latest = Timestamp::from_millis(millis).map_err(|error| row.damaged("at", error))?;
    Ok(EventRow { first, last, latest })
}

/// Checks that the newest row ends with the last event.
pub(crate) fn check_end(connection: &Connection, bounds: &EventBounds) -> Result<(), StoreError> {
    let failed = |error| unreadable(TABLE, &error);
    let sql = "SELECT first, last, at FROM event_batches ORDER BY first DESC LIMIT 1";
    let newest = connection.query_row(sql, [], |row| Ok(parse_row(row))).optional().map_err(failed)?;
    match newest.transpose()? {
        Some(EventRow { first, last, .. }) if last != bounds.last => Err(StoreError::corrupt(format!(
            "{TABLE} row {first}: it ends with event {last}, and the last event is {}",
            bounds.last
        ))),
        _ => Ok(()),
    }
}

/// Reads the extent of the log after a step has dropped rows.
pub(crate) fn pruned(connection: &Connection, has_more: bool) -> Result<EventsPruned, StoreError> {
    Ok(EventsPruned { bounds: bounds(connection)?, has_more })
}
