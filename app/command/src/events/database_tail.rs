//! Following the event log in a database while nodes write it.

use std::sync::Arc;

use petstore_domain::{EventFilter, EventId};
use petstore_http::IdleTime;
use petstore_ports::{EventQuery, EventRead, LogEnd, SortDirection};
use petstore_service::Ports;

use super::file_tail::{expired, kinds, received};
use super::output::Output;
use crate::environment::{SystemClock, SystemEntropy};
use crate::failure::Failure;
use crate::progress::ProgressReport;
use crate::runtime::single_threaded;
use crate::settings::Db;
use crate::store::{Backend, NAME_ITS_SOCKET, check_made};

/// The maximum number of events on a page, and the maximum number of positions that a page covers.
const PAGE: u16 = 1_000;

/// Prints the events of a database, until the limit is reached or standard output is closed. Blocks.
pub(super) fn follow(
    db: &Db,
    after: Option<EventId>,
    types: &[String],
    mut output: Output,
) -> Result<(), Failure> {
    let filter = EventFilter { kinds: kinds(types)?, account: None };
    check_made(db)?;
    let backend =
        Backend::open(db, NAME_ITS_SOCKET, IdleTime::default(), &(ProgressReport::of_command(false) as _))?;
    let ports = backend.ports(backend.clock(Arc::new(SystemClock)), Arc::new(SystemEntropy));
    single_threaded()?.block_on(run(&db.to_string(), &ports, after, filter, &mut output))
}

async fn run(
    name: &str,
    ports: &Ports,
    after: Option<EventId>,
    filter: EventFilter,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut place = if let Some(id) = after {
        id
    } else {
        let bounds = ports.events.bounds().await;
        let bounds = bounds.map_err(|error| output.failure(name, &error.report()))?;
        bounds.id(bounds.last)
    };
    loop {
        let read = ports.events.read(page_after(place, filter)).await;
        let page = match read.map_err(|error| output.failure(name, &error.report()))? {
            EventRead::Page(page) => page,
            EventRead::Expired(bounds) => return Err(output.failure(name, &expired(&bounds))),
        };
        for event in &page.events {
            if output.print(&received(event)?)?.is_break() {
                return Ok(());
            }
        }
        place = page.bounds.id(page.reached.max(place.position));
        if place.position >= page.bounds.last {
            let known = LogEnd { epoch: place.epoch, last: place.position };
            ports.feed.changed(known, filter).await;
        }
    }
}

fn page_after(place: EventId, filter: EventFilter) -> EventQuery {
    EventQuery {
        epoch: Some(place.epoch),
        order: SortDirection::Ascending,
        after: Some(place.position),
        filter,
        events_max: usize::from(PAGE),
        positions_max: u64::from(PAGE),
    }
}
