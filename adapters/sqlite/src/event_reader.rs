//! The reader of events. It can read while the journal is written.

use std::ops::ControlFlow;

use petstore_domain::Position;
use petstore_ports::{EventBatch, EventBatchReader, EventBounds, EventRange, SortDirection, StoreError};
use rusqlite::{Connection, params};

use crate::error::unreadable;
use crate::event_batches::{TABLE, bounds, parse_row};
use crate::open_files::OpenFiles;

/// Reads pages of events from the files of an open journal. Each page gets a new connection, so that the files are
/// checked for each page, and the journal may be recovered between two pages.
pub(crate) struct EventReader(OpenFiles);

impl EventReader {
    pub(crate) const fn of(files: OpenFiles) -> Self {
        Self(files)
    }
}

impl EventBatchReader for EventReader {
    fn read(
        &mut self,
        range: &EventRange,
        into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
    ) -> Result<EventBounds, StoreError> {
        let connection = self.0.reader()?;
        // The transaction only reads, so it is dropped without a commit.
        let snapshot = connection.unchecked_transaction().map_err(|error| unreadable("snapshot", &error))?;
        read_page(&snapshot, range, into)
    }
}

/// Reads a page within the transaction of the caller.
pub(crate) fn read_page(
    connection: &Connection,
    range: &EventRange,
    into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
) -> Result<EventBounds, StoreError> {
    let bounds = bounds(connection)?;
    if bounds.pruned <= range.after && range.last <= bounds.last && range.after < range.last {
        read_rows(connection, range, into)?;
    }
    Ok(bounds)
}

/// The batches of a range. The first batch may begin before the range, and the last one may end after it.
const ASCENDING: &str = "SELECT first, last, at, body FROM event_batches
     WHERE first >= (SELECT coalesce(max(first), 0) FROM event_batches WHERE first <= ?1) AND first <= ?2
     ORDER BY first";
const DESCENDING: &str = "SELECT first, last, at, body FROM event_batches
     WHERE first >= (SELECT coalesce(max(first), 0) FROM event_batches WHERE first <= ?1) AND first <= ?2
     ORDER BY first DESC";

fn read_rows(
    connection: &Connection,
    range: &EventRange,
    into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let failed = |error| unreadable(TABLE, &error);
    let sql = if range.order == SortDirection::Ascending { ASCENDING } else { DESCENDING };
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let begin = range.after.next();
    let mut rows = statement.query(params![begin.get(), range.last.get()]).map_err(failed)?;
    let mut chain = Chain::of(range);
    loop {
        let place = |error| unreadable(&format!("{TABLE}, at event {}", chain.next), &error);
        let Some(row) = rows.next().map_err(place)? else { break };
        let batch = parse_row(row)?;
        chain.follow(batch.first, batch.last)?;
        let body = row.get_ref(3).map_err(failed)?.as_blob();
        let body =
            body.map_err(|_| StoreError::corrupt(format!("{TABLE} row {}: body is no blob", batch.first)))?;
        if into(EventBatch { first: batch.first, last: batch.last, latest: batch.latest, body }).is_break() {
            return Ok(());
        }
    }
    chain.finish()
}

/// The check that the batches of a page follow each other without a gap, for both orders.
struct Chain {
    order: SortDirection,
    /// The next position of the page.
    next: Position,
    /// The last position of the page.
    end: Position,
    is_begun: bool,
}

impl Chain {
    fn of(range: &EventRange) -> Self {
        let (begin, last, order) = (range.after.next(), range.last, range.order);
        let (next, end) = if order == SortDirection::Ascending { (begin, last) } else { (last, begin) };
        Self { order, next, end, is_begun: false }
    }

    fn follow(&mut self, first: Position, last: Position) -> Result<(), StoreError> {
        let (near, far) = if self.order == SortDirection::Ascending { (first, last) } else { (last, first) };
        let is_next = near == self.next || (!self.is_begun && (first..=last).contains(&self.next));
        if !is_next {
            return Err(self.gap());
        }
        self.is_begun = true;
        self.next = if self.order == SortDirection::Ascending { far.next() } else { far.before() };
        Ok(())
    }

    fn finish(&self) -> Result<(), StoreError> {
        let is_complete = match self.order {
            SortDirection::Ascending => self.next > self.end,
            SortDirection::Descending => self.next < self.end,
        };
        if is_complete { Ok(()) } else { Err(self.gap()) }
    }

    fn gap(&self) -> StoreError {
        StoreError::corrupt(format!("{TABLE}: event {} is missing", self.next))
    }
}
