//! A page of events: the positions that a query reads, and the events that its filter admits.

use std::ops::{ControlFlow, RangeInclusive};

use petstore_domain::{Event, Position};
use petstore_event_codec::{BodyError, read};
use petstore_ports::{EventBounds, EventPage, EventQuery, SortDirection};

/// The positions that a page reads: after `after`, up to and including `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) after: Position,
    pub(crate) last: Position,
}

/// The error if a page cannot begin at the position of the query. Either events after the position have been dropped,
/// or the position is beyond the last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outside;

impl Span {
    /// Returns the positions that a query reads in a log of this extent.
    pub(crate) fn of(query: &EventQuery, bounds: &EventBounds) -> Result<Self, Outside> {
        let (pruned, last) = (bounds.pruned.get(), bounds.last.get());
        let (after, last) = match query.order {
            SortDirection::Ascending => {
                let after = query.after.map_or(pruned, Position::get);
                if !(pruned..=last).contains(&after) {
                    return Err(Outside);
                }
                (after, last.min(after.saturating_add(query.positions_max)))
            }
            SortDirection::Descending => {
                let before = query.after.map_or(last + 1, Position::get);
                let newest = before.saturating_sub(1);
                if before > last + 1 || newest < pruned {
                    return Err(Outside);
                }
                (newest.saturating_sub(query.positions_max).max(pruned), newest)
            }
        };
        let position = |number| Position::new(number).unwrap_or(Position::MAX);
        Ok(Self { after: position(after), last: position(last) })
    }
}

/// Collects the events of a page from bodies that are added in the order of the query.
pub(crate) struct PageBuilder<'q> {
    query: &'q EventQuery,
    bounds: EventBounds,
    span: Span,
    events: Vec<Event>,
}

impl<'q> PageBuilder<'q> {
    pub(crate) const fn new(query: &'q EventQuery, bounds: EventBounds, span: Span) -> Self {
        Self { query, bounds, span, events: Vec::new() }
    }

    /// Adds the events of a body that the filter admits and that are in the span. Returns `Break` once the page is
    /// full.
    pub(crate) fn add(
        &mut self,
        positions: RangeInclusive<Position>,
        body: &[u8],
    ) -> Result<ControlFlow<()>, BodyError> {
        match self.query.order {
            SortDirection::Ascending => self.add_from_first(positions, body)?,
            SortDirection::Descending => self.add_from_last(positions, body)?,
        }
        Ok(if self.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn add_from_first(&mut self, positions: RangeInclusive<Position>, body: &[u8]) -> Result<(), BodyError> {
        read(body, positions, &self.query.filter, &mut |position, at, happening| {
            if position > self.span.last || self.is_full() {
                return ControlFlow::Break(());
            }
            if position > self.span.after {
                self.events.push(Event { id: self.bounds.id(position), at, happening });
            }
            ControlFlow::Continue(())
        })
    }

    fn add_from_last(&mut self, positions: RangeInclusive<Position>, body: &[u8]) -> Result<(), BodyError> {
        let mut of_body = Vec::new();
        read(body, positions, &self.query.filter, &mut |position, at, happening| {
            if position > self.span.last {
                return ControlFlow::Break(());
            }
            if position > self.span.after {
                of_body.push(Event { id: self.bounds.id(position), at, happening });
            }
            ControlFlow::Continue(())
        })?;
        let room = self.query.events_max - self.events.len();
        self.events.extend(of_body.into_iter().rev().take(room));
        Ok(())
    }

    /// Ends the page before a batch that cannot be read. Returns false if nothing of the page would be left.
    pub(crate) fn end_before(&mut self, batch: RangeInclusive<Position>) -> bool {
        let (first, last) = batch.into_inner();
        let is_left = match self.query.order {
            SortDirection::Ascending => first.before() > self.span.after,
            SortDirection::Descending => last < self.span.last,
        };
        match self.query.order {
            SortDirection::Ascending => {
                self.span.last = self.span.last.min(first.before());
                // A part of the batch may have been read.
                self.events.retain(|event| event.id.position < first);
            }
            SortDirection::Descending => self.span.after = self.span.after.max(last),
        }
        is_left
    }

    /// Ends the page after a batch that was added, because the next one cannot be read.
    pub(crate) fn end_after(&mut self, first: Position, last: Position) {
        let next = match self.query.order {
            SortDirection::Ascending => last.next(),
            SortDirection::Descending => first.before(),
        };
        self.end_before(next..=next);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.events.len() >= self.query.events_max
    }

    pub(crate) fn finish(self) -> EventPage {
        let last = self.events.last().filter(|_| self.is_full()).map(|event| event.id.position);
        let Span { after, last: end } = self.span;
        let reached = last.unwrap_or_else(|| match self.query.order {
            SortDirection::Ascending => end,
            // This is the oldest position of the page. If the page read none, it is the position at which the page
            // begins.
            SortDirection::Descending if after < end => after.next(),
            SortDirection::Descending => self.query.after.unwrap_or_else(|| self.bounds.last.next()),
        });
        EventPage { events: self.events, reached, bounds: self.bounds }
    }
}
