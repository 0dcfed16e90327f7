//! Following the event log in a data file, beside the server that writes it.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use petstore_domain::{Event, EventFilter, EventId, EventKinds, Position};
use petstore_event_codec as codec;
use petstore_http::event_json;
use petstore_ports::{EventBatchReader, EventBounds, EventRange, SortDirection};
use petstore_sqlite::EventFile;
use tokio::time::sleep;

use super::output::Output;
use super::page::ReceivedEvent;
use crate::failure::Failure;

/// The wait between two reads of the file.
const POLL: Duration = Duration::from_millis(250);

/// The maximum number of positions that one page covers. It bounds the memory of a page, and the time for which a read
/// keeps the write-ahead log of the file from being reset.
const PAGE: u64 = 1_000;

/// Prints the events of a file, until the limit is reached or standard output is closed.
pub(super) async fn follow(
    file: &Path,
    after: Option<EventId>,
    types: &[String],
    mut output: Output,
) -> Result<(), Failure> {
    let filter = EventFilter { kinds: kinds(types)?, account: None };
    let name = file.display().to_string();
    if !file.exists() {
        return Err(Failure::because(format!(
            "{name}: the file does not exist: name the data file of the server"
        )));
    }
    let opened = EventFile::open(file);
    let mut log = opened.map_err(|error| Failure::because(format!("{name}: {}", error.report())))?;
    let mut place: Option<EventId> = after;
    loop {
        let known = place.map_or(Position::START, |id| id.position);
        let bounds = read(&mut log, known, known, &filter).map_err(|why| output.failure(&name, &why))?.0;
        let id = place.unwrap_or_else(|| bounds.id(bounds.last));
        let last =
            Position::new(id.position.get().saturating_add(PAGE)).unwrap_or(bounds.last).min(bounds.last);
        let (bounds, events) =
            read(&mut log, id.position, last, &filter).map_err(|why| output.failure(&name, &why))?;
        if !bounds.can_follow(id) {
            return Err(output.failure(&name, &expired(&bounds)));
        }
        for event in &events {
            if output.print(&received(event)?)?.is_break() {
                return Ok(());
            }
        }
        place = Some(bounds.id(last));
        if last == bounds.last {
            sleep(POLL).await;
        }
    }
}

/// Returns the bounds of the log, and the events between two positions that pass the filter.
fn read(
    log: &mut EventFile,
    after: Position,
    last: Position,
    filter: &EventFilter,
) -> Result<(EventBounds, Vec<Event>), String> {
    let range = EventRange { after, last, order: SortDirection::Ascending };
    let mut found = Vec::new();
    let mut fault = None;
    let bounds = log.read(&range, &mut |batch| {
        let decoded =
            codec::read(batch.body, batch.first..=batch.last, filter, &mut |position, at, happening| {
                if position > after && position <= last {
                    found.push((position, at, happening));
                }
                ControlFlow::Continue(())
            });
        match decoded {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                fault = Some(error.to_string());
                ControlFlow::Break(())
            }
        }
    });
    let bounds = bounds.map_err(|error| error.report())?;
    if let Some(fault) = fault {
        return Err(fault);
    }
    let events = found.into_iter();
    let events = events.map(|(position, at, happening)| Event { id: bounds.id(position), at, happening });
    Ok((bounds, events.collect()))
}

pub(super) fn expired(bounds: &EventBounds) -> String {
    format!(
        "the log does not have the events after that place. The oldest place in it is {}: pass it with \
         --after, or begin without --after",
        bounds.id(bounds.pruned)
    )
}

/// An event in the form in which a server sends it.
pub(super) fn received(event: &Event) -> Result<ReceivedEvent, Failure> {
    ReceivedEvent::parse(event_json(event))
        .ok_or_else(|| Failure::because(format!("event {} cannot be rendered", event.id)))
}

pub(super) fn kinds(types: &[String]) -> Result<EventKinds, Failure> {
    let mut kinds = EventKinds::ANY;
    match types.iter().find(|pattern| !kinds.add_pattern(pattern)) {
        None => Ok(kinds),
        Some(unknown) => Err(Failure::usage(format!(
            "--types: {unknown} is no type of events; expected types such as order.placed, or order.*"
        ))),
    }
}
