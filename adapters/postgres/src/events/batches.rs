//! Batches with their positions, as one statement reads them together with the extent of the log.

use petstore_domain::Position;
use petstore_ports::{EventBounds, SortDirection, StoreError};
use tokio_postgres::Row;

use super::columns::{epoch, position};
use crate::connection::continuity::{Mark, mark};
use crate::error::failed;
use crate::records::Fields;

/// The batches to be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Wanted {
    /// The epoch that the log must have; none if any epoch will do.
    pub(super) epoch: Option<u64>,
    pub(super) order: SortDirection,
    /// The position to begin at, exclusive; none for the oldest or the newest event.
    pub(super) after: Option<Position>,
    /// The number of positions.
    pub(super) positions: u32,
    /// True if every change that was answered before must have its position before batches are read.
    pub(super) is_current: bool,
}

/// A batch with its positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) first: Position,
    pub(super) last: Position,
    pub(super) body: Vec<u8>,
}

/// The batches that overlap the positions, and the extent of the log at the same moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fetched {
    pub(super) bounds: EventBounds,
    /// The number of the epoch.
    pub(super) epoch_number: u64,
    /// True if current batches were wanted and some have no position. Then no batch was read.
    pub(super) has_backlog: bool,
    /// The newest batch of the log.
    pub(super) newest: Option<Mark>,
    /// In the order of their positions. A batch that is missing leaves a gap.
    pub(super) batches: Vec<Batch>,
}

/// The index of the first column that belongs to the batch. The columns before it are the extent of the log.
const BATCH: usize = 6;

/// The index of the first column of the newest batch.
const NEWEST: usize = 9;

impl Fetched {
    /// Parses the rows of a statement, of which there is at least one.
    pub(super) fn parse(rows: &[Row]) -> Result<Self, StoreError> {
        let row = rows.first().ok_or_else(|| StoreError::corrupt("event_log has no row"))?;
        let mut fields = Fields::of("event_log", row);
        let (epoch, epoch_number) = (epoch(&mut fields)?, fields.number(Ok::<_, &str>)?);
        let (last, pruned) = (position(&mut fields)?, position(&mut fields)?);
        let bounds = EventBounds { epoch, pruned, last, oldest_at: fields.optional_time()? };
        let has_backlog = fields.plain()?;
        let newest = mark(&mut Fields::after(NEWEST, "event_batches", row))?;
        let mut batches = Vec::with_capacity(rows.len());
        for row in rows {
            batches.extend(batch(row)?);
        }
        batches.sort_unstable_by_key(|batch| batch.first);
        Ok(Self { bounds, epoch_number, has_backlog, newest, batches })
    }
}

/// Reads the batch of a row, if it has one.
fn batch(row: &Row) -> Result<Option<Batch>, StoreError> {
    let read = |column| row.try_get(column).map_err(|error| failed("read the event log", error));
    let last: Option<i64> = read(BATCH)?;
    let Some(last) = last else { return Ok(None) };
    let events: i32 = row.try_get(BATCH + 1).map_err(|error| failed("read the event log", error))?;
    let body = row.try_get(BATCH + 2).map_err(|error| failed("read the event log", error))?;
    let position = |number: i64| u64::try_from(number).ok().and_then(Position::new);
    let positions = position(last - i64::from(events) + 1).zip(position(last));
    let (first, last) = positions.ok_or_else(|| {
        StoreError::corrupt("event_batches: the columns last_position and events do not fit")
    })?;
    Ok(Some(Batch { first, last, body }))
}
