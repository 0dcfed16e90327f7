//! A page of events, read in slices: each slice is one statement.

use std::ops::{ControlFlow, RangeInclusive};

use petstore_domain::{Event, EventKinds, Position};
use petstore_ports::{EventBounds, EventPage, EventQuery, EventRead, SortDirection, StoreError};

use super::batches::{Batch, Fetched, Wanted};
use super::fetch::Fetcher;

/// The maximum number of positions of a slice. It bounds the memory of a page.
const SLICE_MAX: u64 = 10_000;

/// The number of positions of the first slice of a page with a filter. Few events may pass the filter.
const FILTERED_SLICE: u64 = 1_000;

/// The number of positions that the first slice has beyond the events of the page. They make up for private events of
/// other accounts, which do not pass.
const SPARE_POSITIONS: u64 = 16;

/// The ratio of a slice to the one before.
const SLICE_GROWTH: u64 = 4;

/// Reads a page.
pub(super) async fn read(fetcher: &Fetcher, query: &EventQuery) -> Result<EventRead, StoreError> {
    let EventQuery { epoch, order, after, .. } = *query;
    let mut positions = first_slice(query);
    let wanted = |after, positions: u64, is_current| {
        let positions = u32::try_from(positions).unwrap_or(u32::MAX);
        Wanted { epoch, order, after, positions, is_current }
    };
    let first = fetcher.fetch(wanted(after, positions, true)).await?;
    let bounds = first.bounds;
    if epoch.is_some_and(|epoch| epoch != bounds.epoch) {
        return Ok(EventRead::Expired(bounds));
    }
    let Some(mut page) = Page::begin(query, bounds) else { return Ok(EventRead::Expired(bounds)) };
    let mut added = page.add(&first.batches, positions);
    while let (Ok(()), Some(rest)) = (&added, page.rest()) {
        positions = rest.min(positions.saturating_mul(SLICE_GROWTH)).min(SLICE_MAX);
        let slice = fetcher.fetch(wanted(Some(page.reached), positions, false)).await?;
        if !page.is_continued_by(&slice) {
            // Events were dropped meanwhile. The page ends with what was read before. If its end is no longer in the
            // log, the next page tells the reader.
            break;
        }
        added = page.add(&slice.batches, positions);
    }
    if let Err(error) = added {
        fetcher.damaged(&error);
        // The page ends before the damage. Only a page that begins at the damage fails.
        if !page.has_progressed() {
            return Err(error);
        }
    }
    Ok(EventRead::Page(page.finish()))
}

/// The positions of the first slice: enough for a page that nearly every event passes.
fn first_slice(query: &EventQuery) -> u64 {
    let events_max = u64::try_from(query.events_max).unwrap_or(u64::MAX);
    let enough = if query.filter.kinds == EventKinds::ANY {
        events_max.saturating_add(SPARE_POSITIONS)
    } else {
        FILTERED_SLICE
    };
    enough.min(query.positions_max).min(SLICE_MAX)
}

/// A page that is being read.
struct Page<'q> {
    query: &'q EventQuery,
    bounds: EventBounds,
    events: Vec<Event>,
    /// The position at which the page begins.
    begin: Position,
    /// The last position that was read, or the one at which the page begins.
    reached: Position,
    /// The number of positions that were read.
    positions: u64,
}

impl<'q> Page<'q> {
    /// Begins a page; none if the position at which it begins is not in the log.
    fn begin(query: &'q EventQuery, bounds: EventBounds) -> Option<Self> {
        let (place, is_inside) = match query.order {
            SortDirection::Ascending => {
                let place = query.after.unwrap_or(bounds.pruned);
                (place, (bounds.pruned..=bounds.last).contains(&place))
            }
            SortDirection::Descending => {
                let place = query.after.unwrap_or_else(|| bounds.last.next());
                let is_inside = place <= bounds.last.next() && place.before() >= bounds.pruned;
                (place, is_inside)
            }
        };
        is_inside.then(|| Self {
            query,
            bounds,
            events: Vec::new(),
            begin: place,
            reached: place,
            positions: 0,
        })
    }

    /// The number of positions that may still be read; none once the page is complete.
    fn rest(&self) -> Option<u64> {
        let kept = match self.query.order {
            SortDirection::Ascending => self.bounds.last.get() - self.reached.get(),
            SortDirection::Descending => self.reached.before().get() - self.bounds.pruned.get(),
        };
        let rest = kept.min(self.query.positions_max - self.positions);
        (rest > 0 && !self.is_full()).then_some(rest)
    }

    fn is_full(&self) -> bool {
        self.events.len() >= self.query.events_max
    }

    /// Returns `true` if no event was dropped between the first statement of the page and that of this slice, and no
    /// new epoch began; otherwise `false`.
    fn is_continued_by(&self, slice: &Fetched) -> bool {
        let EventBounds { epoch, pruned, .. } = slice.bounds;
        (epoch, pruned) == (self.bounds.epoch, self.bounds.pruned)
    }

    /// Adds those events of a slice that pass the filter. The slice has this many positions. Fails at the first batch that is
    /// damaged or missing; the page then ends before it.
    fn add(&mut self, batches: &[Batch], positions: u64) -> Result<(), StoreError> {
        let Some(positions) = self.rest().map(|rest| rest.min(positions)) else { return Ok(()) };
        let slice = match self.query.order {
            SortDirection::Ascending => self.reached.next()..=at(self.reached.get() + positions),
            SortDirection::Descending => at(self.reached.get() - positions)..=self.reached.before(),
        };
        match self.query.order {
            SortDirection::Ascending => self.add_ascending(batches, &slice)?,
            SortDirection::Descending => self.add_descending(batches, &slice)?,
        }
        self.positions += positions;
        self.reached = match (self.is_full(), self.events.last(), self.query.order) {
            (true, Some(event), _) => event.id.position,
            (_, _, SortDirection::Ascending) => *slice.end(),
            (_, _, SortDirection::Descending) => *slice.start(),
        };
        Ok(())
    }

    fn add_ascending(
        &mut self,
        batches: &[Batch],
        slice: &RangeInclusive<Position>,
    ) -> Result<(), StoreError> {
        for batch in batches {
            let next = self.reached.next();
            if batch.first > next {
                return Err(missing(next));
            }
            let count = self.events.len();
            if let Err(error) = self.read_batch(batch, slice) {
                // A part of the batch may have been read.
                self.events.truncate(count);
                return Err(error);
            }
            if self.is_full() {
                return Ok(());
            }
            self.reached = batch.last.min(*slice.end());
        }
        if self.reached < *slice.end() { Err(missing(self.reached.next())) } else { Ok(()) }
    }

    fn add_descending(
        &mut self,
        batches: &[Batch],
        slice: &RangeInclusive<Position>,
    ) -> Result<(), StoreError> {
        for batch in batches.iter().rev() {
            let next = self.reached.before();
            if batch.last < next {
                return Err(missing(next));
            }
            let count = self.events.len();
            if let Err(error) = self.read_batch(batch, slice) {
                self.events.truncate(count);
                return Err(error);
            }
            self.events[count..].reverse();
            if self.is_full() {
                self.events.truncate(self.query.events_max);
                return Ok(());
            }
            self.reached = batch.first.max(*slice.start());
        }
        if self.reached > *slice.start() { Err(missing(self.reached.before())) } else { Ok(()) }
    }

    /// Adds the events of a batch that are in the slice and pass the filter, in the order of their positions. In a page in
    /// ascending order the events end once the page is full.
    fn read_batch(&mut self, batch: &Batch, slice: &RangeInclusive<Position>) -> Result<(), StoreError> {
        let events_max = match self.query.order {
            SortDirection::Ascending => self.query.events_max,
            SortDirection::Descending => usize::MAX,
        };
        let read = petstore_event_codec::read(
            &batch.body,
            batch.first..=batch.last,
            &self.query.filter,
            &mut |position, at, happening| {
                if position > *slice.end() || self.events.len() >= events_max {
                    return ControlFlow::Break(());
                }
                if position >= *slice.start() {
                    self.events.push(Event { id: self.bounds.id(position), at, happening });
                }
                ControlFlow::Continue(())
            },
        );
        read.map_err(|error| {
            let (first, last) = (batch.first, batch.last);
            StoreError::corrupt(format!("event_batches: the row with the events {first} to {last}"))
                .with_source(error)
        })
    }

    /// Returns whether positions were read, so that the page may end where it is.
    fn has_progressed(&self) -> bool {
        self.reached != self.begin
    }

    fn finish(self) -> EventPage {
        EventPage { events: self.events, reached: self.reached, bounds: self.bounds }
    }
}

fn at(number: u64) -> Position {
    Position::new(number).unwrap_or(Position::MAX)
}

fn missing(position: Position) -> StoreError {
    StoreError::corrupt(format!("event_batches: the row with the event {position} is missing"))
}
