//! Events that the ring no longer holds. They are read from the journal, on a separate thread.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use petstore_domain::{EventFilter, Position};
use petstore_event_codec::{BodyError, read};
use petstore_ports::{
    EventBatch, EventBatchReader, EventBounds, EventQuery, EventRange, EventRead, PageOrder, Reply,
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
                return Reply::now(read_page(&self.log, &mut **reader, &query, bounds, span));
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
    let range = EventRange { after: bounds.pruned, last: bounds.last, order: PageOrder::Ascending };
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
        sender.send(read_page(log, &mut *reader, &query, bounds, span));
    }
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
                let is_cut = page.end_before(batch.first..=batch.last);
                damage = (!is_cut).then(|| damaged(batch.first, &error));
                ControlFlow::Break(())
            }
        });
        let found = match (read, sound) {
            // A row cannot be read, or is missing. The page ends after the last batch that was read.
            (Err(error), Some((first, last))) if error.kind() == StoreErrorKind::Corrupt => {
                page.end_after(first, last);
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

    /// A journal of one batch. The batch has three positions, and its body has this many events.
    struct OneBatch(usize);

    const BOUNDS: EventBounds =
        EventBounds { epoch: 7, pruned: Position::START, last: at(3), oldest_at: Some(Timestamp::EPOCH) };

    const fn at(number: u64) -> Position {
        match Position::new(number) {
            Some(position) => position,
            None => Position::MAX,
        }
    }

    impl EventBatchReader for OneBatch {
        fn read(
            &mut self,
            _range: &EventRange,
            into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
        ) -> Result<EventBounds, StoreError> {
            let item = InventoryItem { pet_id: PetId::FIRST, quantity: 1, status: PetStatus::Available };
            let happening = Happening::InventoryUpdated { item, previous: Previous::none(&item) };
            let mut body = Body::new();
            body.push(Timestamp::EPOCH, &vec![happening; self.0]);
            let _ = into(EventBatch {
                first: at(1),
                last: at(3),
                latest: Timestamp::EPOCH,
                body: body.as_bytes(),
            });
            Ok(BOUNDS)
        }
    }

    #[test]
    fn a_row_with_another_number_of_events_than_positions_is_corrupt() {
        let log = EventLog::new(7, EventRetention::IN_JOURNAL);
        log.resume(BOUNDS);
        for order in [PageOrder::Ascending, PageOrder::Descending] {
            let query = EventQuery {
                epoch: None,
                order,
                after: None,
                filter: EventFilter::ALL,
                events_max: 100,
                positions_max: 100,
            };
            let span = Span::of(&query, &BOUNDS).unwrap();
            let page = |events| read_page(&log, &mut OneBatch(events), &query, BOUNDS, span);
            let Ok(EventRead::Page(whole)) = page(3) else { panic!("a whole row is read") };
            assert_eq!(whole.events.len(), 3);
            for wrong in [0, 2, 4] {
                let error = page(wrong).unwrap_err();
                assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{wrong}");
                assert!(error.to_string().contains("events from 1 on"), "{error}");
            }
        }
    }

    /// A journal of three batches of two positions each. The second batch is damaged: its body, or its row.
    struct DamagedInTheMiddle {
        is_row: bool,
    }

    impl EventBatchReader for DamagedInTheMiddle {
        fn read(
            &mut self,
            range: &EventRange,
            into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
        ) -> Result<EventBounds, StoreError> {
            let item = InventoryItem { pet_id: PetId::FIRST, quantity: 1, status: PetStatus::Available };
            let happening = Happening::InventoryUpdated { item, previous: Previous::none(&item) };
            let mut sound = Body::new();
            sound.push(Timestamp::EPOCH, &[happening.clone(), happening]);
            // The first event of the damaged body can be read.
            let damaged = &sound.as_bytes()[..sound.as_bytes().len() - 1];
            let mut firsts = vec![1, 3, 5];
            if range.order == PageOrder::Descending {
                firsts.reverse();
            }
            for first in firsts {
                let body = if first == 3 { damaged } else { sound.as_bytes() };
                let is_asked = first < range.last.get() + 1 && first + 1 > range.after.get();
                if is_asked && first == 3 && self.is_row {
                    return Err(StoreError::corrupt("events from 3 on: the row is damaged"));
                }
                let batch =
                    EventBatch { first: at(first), last: at(first + 1), latest: Timestamp::EPOCH, body };
                if is_asked && into(batch).is_break() {
                    break;
                }
            }
            Ok(SIX)
        }
    }

    const SIX: EventBounds = EventBounds { last: at(6), ..BOUNDS };

    #[test]
    fn events_outside_a_damaged_batch_are_read() {
        let log = EventLog::new(7, EventRetention::IN_JOURNAL);
        log.resume(SIX);
        let page = |is_row, order, after: Option<u64>| {
            let query = EventQuery {
                epoch: None,
                order,
                after: after.map(at),
                filter: EventFilter::ALL,
                events_max: 100,
                positions_max: 100,
            };
            let span = Span::of(&query, &SIX).unwrap();
            match read_page(&log, &mut DamagedInTheMiddle { is_row }, &query, SIX, span) {
                Ok(EventRead::Page(page)) => {
                    let found = page.events.iter().map(|event| event.id.position.get()).collect::<Vec<_>>();
                    Ok((found, page.reached.get()))
                }
                Ok(EventRead::Expired(_)) => panic!("nothing has expired"),
                Err(error) => Err(error.to_string()),
            }
        };
        let said = "events from 3 on";
        for is_row in [false, true] {
            let page = |order, after| page(is_row, order, after);
            assert_eq!(page(PageOrder::Ascending, None), Ok((vec![1, 2], 2)));
            assert!(page(PageOrder::Ascending, Some(2)).unwrap_err().contains(said));
            assert!(page(PageOrder::Ascending, Some(3)).unwrap_err().contains(said));
            assert_eq!(page(PageOrder::Ascending, Some(4)), Ok((vec![5, 6], 6)));
            assert_eq!(page(PageOrder::Descending, None), Ok((vec![6, 5], 5)));
            assert!(page(PageOrder::Descending, Some(5)).unwrap_err().contains(said));
            assert_eq!(page(PageOrder::Descending, Some(3)), Ok((vec![2, 1], 1)));

            let mut journal = DamagedInTheMiddle { is_row };
            let refused = check_all(|range, into| journal.read(range, into), &SIX).unwrap_err();
            assert_eq!(refused.kind(), StoreErrorKind::Corrupt);
            assert!(refused.to_string().contains(said), "{refused}");
        }
    }
}
