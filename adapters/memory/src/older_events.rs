//! Events that the ring no longer holds. They are read from the journal, on a separate thread.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use petstore_domain::{EventFilter, Position};
use petstore_event_codec::{BodyError, read};
use petstore_ports::{
    EventBatch, EventBatchReader, EventBounds, EventQuery, EventRange, EventRead, Reply, SortDirection,
    StoreError, StoreErrorKind,
};

use crate::event_log::{EventLog, PageBuilder, Span};
use crate::oneshot::{Sender, channel};

/// Capacity of the queue of pages.
const QUEUE_MAX: usize = 64;

/// Maximum number of attempts to read a page. An attempt fails if the journal meanwhile drops the first events of the
/// page.
const TRIES_MAX: usize = 4;

/// Reads pages of events from the journal.
pub(crate) struct OlderEvents {
    log: Arc<EventLog>,
    source: Mutex<Source>,
}

enum Source {
    /// Pages are read by the caller.
    Caller(Box<dyn EventBatchReader>),
    /// Pages are read by a thread, in the order of the requests.
    Thread(SyncSender<Request>, JoinHandle<()>),
    Closed,
}

/// A page that is to be read.
struct Request {
    query: EventQuery,
    bounds: EventBounds,
    span: Span,
    sender: Sender<EventRead>,
}

impl OlderEvents {
    /// Creates a reader that reads on the thread of each caller until [`OlderEvents::spawn`] is called.
    pub(crate) fn new(log: Arc<EventLog>, reader: Box<dyn EventBatchReader>) -> Self {
        Self { log, source: Mutex::new(Source::Caller(reader)) }
    }

    /// Starts a thread that reads from now on.
    pub(crate) fn spawn(&self) -> Result<(), StoreError> {
        let mut source = self.source.lock();
        let Source::Caller(reader) = std::mem::replace(&mut *source, Source::Closed) else { return Ok(()) };
        let (sender, requests) = sync_channel(QUEUE_MAX);
        let log = Arc::clone(&self.log);
        let thread = thread::Builder::new().name("petstore-events".to_owned());
        let thread = thread.spawn(move || read_all(&log, reader, &requests)).map_err(|error| {
            StoreError::unavailable("cannot start the thread that reads older events").with_source(error)
        })?;
        *source = Source::Thread(sender, thread);
        Ok(())
    }

    /// Reads a page that begins with events that the ring does not hold. The ring has returned `bounds` and `span` for
    /// the page.
    pub(crate) fn read(
        &self,
        query: EventQuery,
        bounds: EventBounds,
        span: Span,
    ) -> Reply<Result<EventRead, StoreError>> {
        let receiver = match &mut *self.source.lock() {
            Source::Caller(reader) => {
                return Reply::now(read_noting(&self.log, &mut **reader, &query, bounds, span));
            }
            Source::Closed => return Reply::now(Err(StoreError::unavailable("the store is closed"))),
            Source::Thread(requests, _) => {
                let (sender, receiver) = channel();
                match requests.try_send(Request { query, bounds, span, sender }) {
                    Ok(()) => receiver,
                    Err(TrySendError::Full(_)) => {
                        let text = format!("all {QUEUE_MAX} places of the queue for older events are taken");
                        return Reply::now(Err(StoreError::busy(text)));
                    }
                    Err(TrySendError::Disconnected(_)) => return Reply::now(Err(ended())),
                }
            }
        };
        Reply::later(async move {
            receiver.await.map_err(|error| match error.kind() {
                // The thread ended without an answer. A read changes nothing, so the caller need not be told that the
                // outcome is unknown.
                StoreErrorKind::Indeterminate => ended(),
                _ => error,
            })
        })
    }

    /// Answers the waiting requests, and drops the reader. Further requests are refused.
    pub(crate) fn close(&self) {
        let source = std::mem::replace(&mut *self.source.lock(), Source::Closed);
        if let Source::Thread(requests, thread) = source {
            drop(requests);
            // This function may run on the reading thread itself, if a waker that the thread called has dropped the
            // last reference to the store. A thread cannot join itself, and this thread ends anyway.
            if thread.thread().id() != thread::current().id() {
                // The error means that the thread has panicked. It is ignored, because the waiting callers were already
                // told that the thread ended.
                let _ = thread.join();
            }
        }
    }
}

fn ended() -> StoreError {
    StoreError::unavailable("the thread that reads older events has ended: restart the server")
}

/// The receiver of the batches of a range.
type Sink<'s> = &'s mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>;

/// Checks at the start that each event that is kept can be read. `read_events` reads the batches of a range.
pub(crate) fn check_all(
    read_events: impl FnOnce(&EventRange, Sink<'_>) -> Result<EventBounds, StoreError>,
    bounds: &EventBounds,
) -> Result<(), StoreError> {
    if bounds.last == bounds.pruned {
        return Ok(());
    }
    let range = EventRange { after: bounds.pruned, last: bounds.last, order: SortDirection::Ascending };
    let mut checked = Ok(());
    read_events(&range, &mut |batch| {
        checked = check(&batch);
        if checked.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    checked
}

fn check(batch: &EventBatch<'_>) -> Result<(), StoreError> {
    let positions = batch.first..=batch.last;
    read(batch.body, positions, &EventFilter::ALL, &mut |_, _, _| ControlFlow::Continue(())).map_err(
        |error| match error {
            BodyError::UnknownFormat(_) => StoreError::unavailable(format!(
                "{error}: open the data with the version that wrote it, or a newer one"
            )),
            BodyError::Damaged(_) => damaged(batch.first, &error),
        },
    )
}

fn damaged(first: Position, error: &BodyError) -> StoreError {
    StoreError::corrupt(format!("events from {first} on: {error}"))
}

/// Main function of the thread.
fn read_all(log: &EventLog, mut reader: Box<dyn EventBatchReader>, requests: &Receiver<Request>) {
    while let Ok(Request { query, bounds, span, sender }) = requests.recv() {
        sender.send(read_noting(log, &mut *reader, &query, bounds, span));
    }
}

/// Reads a page, and takes note of the damage that it meets.
fn read_noting(
    log: &EventLog,
    reader: &mut dyn EventBatchReader,
    query: &EventQuery,
    bounds: EventBounds,
    span: Span,
) -> Result<EventRead, StoreError> {
    read_page(log, reader, query, bounds, span).inspect_err(|error| log.damage().note(error))
}

/// Reads a page. If the journal meanwhile drops the first events of the page, reads again with the new extent of the
/// log, or reports that the page has expired. The page has also expired if the journal has begun a new epoch of the
/// log.
fn read_page(
    log: &EventLog,
    reader: &mut dyn EventBatchReader,
    query: &EventQuery,
    mut bounds: EventBounds,
    mut span: Span,
) -> Result<EventRead, StoreError> {
    for _ in 0..TRIES_MAX {
        let range = EventRange { after: span.after, last: span.last, order: query.order };
        let mut page = PageBuilder::new(query, bounds, span);
        let (mut damage, mut sound) = (None, None);
        let read = reader.read(&range, &mut |batch| match page.add(batch.first..=batch.last, batch.body) {
            Ok(flow) => {
                sound = Some((batch.first, batch.last));
                flow
            }
            Err(error) => {
                // The page ends before the damage. Only a page that begins at the damage fails.
                let found = damaged(batch.first, &error);
                if page.end_before(batch.first..=batch.last) {
                    log.damage().note(&found);
                } else {
                    damage = Some(found);
                }
                ControlFlow::Break(())
            }
        });
        let found = match (read, sound) {
            // A row cannot be read, or is missing. The page ends after the last batch that was read.
            (Err(error), Some((first, last))) if error.kind() == StoreErrorKind::Corrupt => {
                page.end_after(first, last);
                log.damage().note(&error);
                // The empty range gives the extent of the log now, which shows if the page has expired meanwhile.
                let nothing = EventRange { last: span.after, ..range };
                reader.read(&nothing, &mut |_| ControlFlow::Break(())).map_err(|_| error)?
            }
            (read, _) => read?,
        };
        if found.epoch != bounds.epoch {
            return Ok(EventRead::Expired(log.bounds()));
        }
        if found.pruned <= span.after {
            return damage.map_or_else(|| Ok(EventRead::Page(page.finish())), Err);
        }
        bounds = EventBounds { pruned: found.pruned, oldest_at: found.oldest_at, ..bounds };
        match Span::of(query, &bounds) {
            Ok(later) => span = later,
            Err(_) => return Ok(EventRead::Expired(bounds)),
        }
    }
    Err(StoreError::busy("the oldest events are being dropped faster than they are read"))
}

#[cfg(test)]
mod tests {
    use petstore_domain::{Happening, InventoryItem, PetId, PetStatus, Previous, Timestamp};
    use petstore_event_codec::Body;

    use super::*;
    use crate::event_retention::EventRetention;

    /// The damage of a batch of two positions.
    #[derive(Debug, Clone, Copy)]
    enum Damage {
        /// Its row cannot be read.
        Row,
        /// The end of its body is missing. Its first event can be read.
        Cut,
        /// Its body has this number of events.
        Events(usize),
    }

    /// A journal of three batches of two positions each. The second batch is damaged.
    struct DamagedInTheMiddle(Damage);

    const SIX: EventBounds =
        EventBounds { epoch: 7, pruned: Position::START, last: at(6), oldest_at: Some(Timestamp::EPOCH) };

    const fn at(number: u64) -> Position {
        match Position::new(number) {
            Some(position) => position,
            None => Position::MAX,
        }
    }

    fn body(events: usize) -> Vec<u8> {
        let item = InventoryItem { pet_id: PetId::FIRST, quantity: 1, status: PetStatus::Available };
        let happening = Happening::InventoryUpdated { item, previous: Previous::none(&item) };
        let mut body = Body::new();
        body.push(Timestamp::EPOCH, &vec![happening; events]);
        body.as_bytes().to_vec()
    }

    impl EventBatchReader for DamagedInTheMiddle {
        fn read(
            &mut self,
            range: &EventRange,
            into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
        ) -> Result<EventBounds, StoreError> {
            let mut firsts = vec![1, 3, 5];
            if range.order == SortDirection::Descending {
                firsts.reverse();
            }
            for first in firsts {
                if first > range.last.get() || first < range.after.get() {
                    continue;
                }
                let mut body = body(2);
                match self.0 {
                    Damage::Row if first == 3 => {
                        return Err(StoreError::corrupt("events from 3 on: the row is damaged"));
                    }
                    Damage::Cut if first == 3 => body.truncate(body.len() - 1),
                    Damage::Events(count) if first == 3 => body = self::body(count),
                    _ => {}
                }
                let (first, last) = (at(first), at(first + 1));
                if into(EventBatch { first, last, latest: Timestamp::EPOCH, body: &body }).is_break() {
                    break;
                }
            }
            Ok(SIX)
        }
    }

    #[test]
    fn events_outside_a_damaged_batch_are_read_and_each_contact_is_noted() {
        use SortDirection::{Ascending, Descending};
        // The events and the place that each page reaches; none if it fails.
        type Found = Option<(&'static [u64], u64)>;
        let pages: [(SortDirection, Option<u64>, Found); 7] = [
            (Ascending, None, Some((&[1, 2], 2))),
            (Ascending, Some(2), None),
            (Ascending, Some(3), None),
            (Ascending, Some(4), Some((&[5, 6], 6))),
            (Descending, None, Some((&[6, 5], 5))),
            (Descending, Some(5), None),
            (Descending, Some(3), Some((&[2, 1], 1))),
        ];
        let said = "events from 3 on";
        for damage in [Damage::Row, Damage::Cut, Damage::Events(0), Damage::Events(1), Damage::Events(3)] {
            let log = EventLog::new(7, EventRetention::IN_JOURNAL);
            log.resume(SIX);
            for (order, after, expected) in pages {
                let query = EventQuery {
                    epoch: None,
                    order,
                    after: after.map(at),
                    filter: EventFilter::ALL,
                    events_max: 100,
                    positions_max: 100,
                };
                let span = Span::of(&query, &SIX).unwrap();
                let case = format!("{damage:?} {order:?} {after:?}");
                match read_noting(&log, &mut DamagedInTheMiddle(damage), &query, SIX, span) {
                    Ok(EventRead::Page(page)) => {
                        let found: Vec<_> = page.events.iter().map(|it| it.id.position.get()).collect();
                        assert_eq!(Some((&*found, page.reached.get())), expected, "{case}");
                    }
                    Ok(EventRead::Expired(_)) => panic!("{case}: nothing has expired"),
                    Err(error) => {
                        assert_eq!((error.kind(), expected), (StoreErrorKind::Corrupt, None), "{case}");
                        assert!(error.to_string().contains(said), "{case}: {error}");
                    }
                }
            }
            // Two pages read nothing of the damaged batch.
            let [place] = &log.damage().take_new()[..] else { panic!("{damage:?}: one place is damaged") };
            assert!(log.damage().contacts() == 5 && place.to_string().contains(said), "{damage:?}: {place}");

            let mut journal = DamagedInTheMiddle(damage);
            let refused = check_all(|range, into| journal.read(range, into), &SIX).unwrap_err();
            assert_eq!(refused.kind(), StoreErrorKind::Corrupt, "{damage:?}");
            assert!(refused.to_string().contains(said), "{damage:?}: {refused}");
        }
    }
}
