use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use petstore_domain::{
    AccountId, EventFilter, EventKind, EventKinds, Happening, InventoryItem, KeyBan, KeyId, KeyLabel, Pet,
    PetId, PetName, PetStatus, Position, Previous,
};
use petstore_ports::EventPage;

use super::*;

/// An event with this number: the change of a stock, or, for every tenth number, the deletion of a pet.
fn happening(number: u64) -> Happening {
    let pet_id = PetId::new(number).unwrap();
    if number.is_multiple_of(10) {
        let name = PetName::parse("Rex").unwrap();
        let category_id = petstore_domain::CategoryId::FIRST;
        return Happening::PetDeleted(Pet::new(pet_id, name, category_id, PetStatus::Sold));
    }
    let item = InventoryItem { pet_id, quantity: number, status: PetStatus::Available };
    Happening::InventoryUpdated { item, previous: Previous::none(&item) }
}

fn log_of(bytes: u64) -> Arc<EventLog> {
    EventLog::new(7, EventRetention { bytes, ..EventRetention::IN_MEMORY })
}

fn at(number: u64) -> Timestamp {
    Timestamp::from_millis(number.cast_signed()).unwrap()
}

/// Adds one event for each position, each in a separate batch. The number and the time of an event are those of its
/// position.
fn append(log: &EventLog, positions: std::ops::RangeInclusive<u64>) {
    for number in positions {
        append_one(log, at(number), happening(number));
    }
}

fn append_one(log: &EventLog, at: Timestamp, happening: Happening) {
    let mut body = Body::new();
    body.push(at, std::slice::from_ref(&happening));
    let appended = log.append_encoded(Encoded::of(&body, at), &[happening]);
    log.wake(&appended);
}

fn position(number: u64) -> Position {
    Position::new(number).unwrap()
}

fn query(order: SortDirection, after: Option<u64>, events_max: usize) -> EventQuery {
    EventQuery {
        epoch: Some(7),
        order,
        after: after.map(position),
        filter: EventFilter::ALL,
        events_max,
        positions_max: 10_000,
    }
}

fn read(log: &EventLog, query: &EventQuery) -> Result<EventPage, &'static str> {
    match log.read(query).unwrap() {
        FromRing::Read(EventRead::Page(page)) => Ok(page),
        FromRing::Read(EventRead::Expired(_)) => Err("expired"),
        FromRing::Older(..) => Err("older"),
    }
}

/// Reads page after page to the end of the log, and returns the positions of the events.
fn walk(log: &EventLog, mut query: EventQuery) -> Vec<u64> {
    let mut seen = Vec::new();
    loop {
        let page = read(log, &query).unwrap();
        for event in &page.events {
            assert_eq!(event.happening, happening(event.id.position.get()));
            assert_eq!(event.at, at(event.id.position.get()));
            seen.push(event.id.position.get());
        }
        let is_last = match query.order {
            SortDirection::Ascending => page.reached == page.bounds.last,
            SortDirection::Descending => page.reached <= page.bounds.pruned.next(),
        };
        if is_last {
            return seen;
        }
        assert_ne!(query.after, Some(page.reached), "a page moves on");
        query.after = Some(page.reached);
    }
}

#[test]
fn pages_of_any_size_walk_over_each_event_once_in_both_directions() {
    let log = log_of(16 << 20);
    assert_eq!(walk(&log, query(SortDirection::Ascending, None, 3)), []);
    assert_eq!(walk(&log, query(SortDirection::Descending, None, 3)), []);
    append(&log, 1..=2_000);
    for size in [1, 7, 100, 5_000] {
        let up: Vec<u64> = (1..=2_000).collect();
        let down: Vec<u64> = (1..=2_000).rev().collect();
        assert_eq!(walk(&log, query(SortDirection::Ascending, None, size)), up);
        assert_eq!(walk(&log, query(SortDirection::Descending, None, size)), down);
    }
    assert_eq!(walk(&log, query(SortDirection::Ascending, Some(1_999), 100)), [2_000]);
    assert_eq!(walk(&log, query(SortDirection::Descending, Some(3), 100)), [2, 1]);
}

#[test]
fn a_filter_that_few_events_pass_looks_at_a_bounded_number_of_positions() {
    let log = log_of(16 << 20);
    append(&log, 1..=1_000);
    let mut kinds = EventKinds::default();
    kinds.add(EventKind::PetDeleted);
    let filter = EventFilter { kinds, account: None };
    for order in [SortDirection::Ascending, SortDirection::Descending] {
        let query = EventQuery { filter, positions_max: 35, ..query(order, None, 100) };
        let page = read(&log, &query).unwrap();
        let reached = if order == SortDirection::Ascending { 35 } else { 966 };
        assert_eq!(page.reached, position(reached));
        let mut seen = walk(&log, query);
        seen.sort_unstable();
        assert_eq!(seen, (1..=100).map(|n| n * 10).collect::<Vec<_>>());
    }
}

#[test]
fn the_oldest_events_go_first_and_a_reader_that_needs_them_is_told() {
    let log = log_of(64 * 1024);
    append(&log, 1..=20_000);
    let bounds = log.bounds();
    assert!(bounds.pruned > position(10_000) && bounds.last == position(20_000), "{bounds:?}");
    assert_eq!(bounds.oldest_at, Some(at(bounds.pruned.next().get())));
    assert!(log.ring.lock().bytes <= 64 * 1024);
    let kept: Vec<u64> = (bounds.pruned.next().get()..=20_000).collect();
    assert_eq!(walk(&log, query(SortDirection::Ascending, None, 1_000)), kept);
    assert_eq!(walk(&log, query(SortDirection::Ascending, Some(bounds.pruned.get()), 1_000)), kept);
    let before = bounds.pruned.get() - 1;
    assert_eq!(read(&log, &query(SortDirection::Ascending, Some(before), 1)), Err("expired"));
    assert_eq!(read(&log, &query(SortDirection::Ascending, Some(20_001), 1)), Err("expired"));
    assert_eq!(read(&log, &query(SortDirection::Descending, Some(20_002), 1)), Err("expired"));

    log.set_retention(EventRetention { age: Duration::from_secs(1), bytes: 64 * 1024 });
    let dropped = log.prune(at(20_000));
    // Events are also dropped within a chunk. The events with exactly this time stay.
    let kept = log.bounds();
    assert_eq!((kept.pruned, kept.oldest_at), (position(18_999), Some(at(19_000))));
    assert_eq!(dropped, 18_999 - bounds.pruned.get());
    assert_eq!(walk(&log, query(SortDirection::Ascending, None, 100)), (19_000..=20_000).collect::<Vec<_>>());
    assert_eq!(log.prune(at(20_000)), 0);
    assert_eq!(log.prune(at(21_001)), 20_000 - bounds.pruned.get() - dropped);
    assert_eq!(log.bounds().pruned, position(20_000));
    append(&log, 20_001..=20_001);
    assert_eq!(walk(&log, query(SortDirection::Ascending, Some(20_000), 10)), [20_001]);
}

#[test]
fn a_new_epoch_begins_at_the_first_position_and_refuses_readers_of_the_old_one() {
    let log = log_of(1 << 20);
    append(&log, 1..=10);
    log.restart(8);
    assert_eq!(read(&log, &query(SortDirection::Ascending, Some(10), 1)), Err("expired"));
    append(&log, 1..=1);
    let query = EventQuery { epoch: None, ..query(SortDirection::Ascending, None, 10) };
    assert_eq!(read(&log, &query).unwrap().events[0].id, log.bounds().id(position(1)));
    assert_eq!(log.bounds().epoch, 8);
}

#[test]
fn a_log_that_a_journal_keeps_goes_on_after_the_last_event_and_reads_older_ones_there() {
    let log = log_of(1 << 20);
    let kept =
        EventBounds { epoch: 7, pruned: position(100), last: position(1_000), oldest_at: Some(at(101)) };
    log.resume(kept);
    assert_eq!(log.bounds(), kept);
    append(&log, 1_001..=1_010);
    let ascending = |after| query(SortDirection::Ascending, after, 1_000);
    assert_eq!(read(&log, &ascending(Some(99))), Err("expired"));
    for after in [None, Some(100), Some(999)] {
        assert_eq!(read(&log, &ascending(after)), Err("older"), "{after:?}");
    }
    assert_eq!(walk(&log, ascending(Some(1_000))), (1_001..=1_010).collect::<Vec<_>>());
    // A page that begins with the newest event needs no older events if the ring fills it.
    let page = read(&log, &query(SortDirection::Descending, None, 10)).unwrap();
    assert_eq!((page.events.len(), page.reached), (10, position(1_001)));
    for (after, size) in [(None, 11), (Some(1_001), 1)] {
        assert_eq!(read(&log, &query(SortDirection::Descending, after, size)), Err("older"), "{after:?}");
    }

    let pruned = EventBounds { pruned: position(1_005), oldest_at: Some(at(1_006)), ..log.bounds() };
    log.set_pruned(&pruned);
    assert_eq!(read(&log, &ascending(Some(1_004))), Err("expired"));
    assert_eq!(walk(&log, ascending(None)), (1_006..=1_010).collect::<Vec<_>>());
    assert_eq!(log.bounds(), pruned);
    log.restart_next();
    let bounds = log.bounds();
    assert_eq!((bounds.pruned, bounds.last, bounds.oldest_at), (Position::START, Position::START, None));
    assert_ne!(bounds.epoch, 7);
}

#[test]
fn the_events_of_a_batch_are_one_body_for_the_journal_and_the_same_events_by_decision() {
    use petstore_domain::{Category, CategoryId, CategoryName, CategoryRecord, Change, Version, View};
    let create = |id| {
        let (id, name) = (CategoryId::new(id).unwrap(), CategoryName::parse("Dogs").unwrap());
        let category = Category::new(id, name);
        let record = CategoryRecord { category, version: Version::FIRST, pets: 0 };
        let mut before = View::default();
        before.load_category(id, None);
        let changes = Changes::from([Change::Category(record)]);
        let happenings = petstore_domain::happenings(&before, changes.as_slice());
        changes.with_events(happenings, at(id.get()))
    };
    let without = Changes::none().with_events(Vec::new(), at(99));
    let mut batch = EncodedBatch::default();
    batch.encode(std::slice::from_ref(&without));
    assert_eq!(batch.as_batch(position(10)), None);
    let decided = [create(1), without, create(3)];
    batch.encode(&decided);
    let kept = batch.as_batch(position(10)).unwrap();
    assert_eq!((kept.first, kept.last, kept.latest), (position(11), position(12), at(3)));

    let log = log_of(1 << 20);
    log.resume(EventBounds { last: position(10), ..EventBounds::new(7) });
    let mut appended = Appended::default();
    for (decision, changes) in batch.decisions().zip(&decided) {
        appended.extend(log.append_encoded(decision, changes.happenings()));
    }
    assert_eq!(appended.end, Some(LogEnd { epoch: 7, last: position(12) }));
    assert!(appended.summary.has_one_for(&EventFilter::ALL));
    let of_ring = read(&log, &query(SortDirection::Ascending, Some(10), 10)).unwrap().events;
    let mut of_journal = Vec::new();
    petstore_event_codec::read(
        kept.body,
        kept.first..=kept.last,
        &EventFilter::ALL,
        &mut |at, time, happening| {
            of_journal.push((at, time, happening));
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    let of_ring: Vec<_> =
        of_ring.into_iter().map(|event| (event.id.position, event.at, event.happening)).collect();
    assert_eq!(of_ring, of_journal);
    assert_eq!(
        of_ring.iter().map(|(position, at, _)| (position.get(), at.as_millis())).collect::<Vec<_>>(),
        [(11, 1), (12, 3)]
    );
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn readers_that_wait_are_woken_by_an_event_and_by_a_new_epoch_and_leave_nothing_behind() {
    let log = log_of(1 << 20);
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let mut context = Context::from_waker(&waker);

    let mut gone = Box::pin(log.changed(log.end(), EventFilter::ALL));
    assert!(gone.as_mut().poll(&mut context).is_pending());
    drop(gone);
    assert!(log.waiters_is_empty());

    let mut waiting = Box::pin(log.changed(log.end(), EventFilter::ALL));
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    append(&log, 1..=1);
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Ready(LogEnd { epoch: 7, last: position(1) }));

    let mut waiting = Box::pin(log.changed(log.end(), EventFilter::ALL));
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    log.restart(8);
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Ready(LogEnd { epoch: 8, last: Position::START }));
    assert_eq!(count.0.load(Ordering::SeqCst), 2);
}

fn filter_of(kind: EventKind, account: Option<u64>) -> EventFilter {
    let mut kinds = EventKinds::ANY;
    kinds.add(kind);
    EventFilter { kinds, account: account.map(|number| AccountId::new(number).unwrap()) }
}

fn ban_of(account: u64) -> Happening {
    let (label, until) = (KeyLabel::parse("").unwrap(), Timestamp::EPOCH);
    Happening::KeyBanned(KeyBan {
        key: KeyId::FIRST,
        account: AccountId::new(account).unwrap(),
        label,
        until,
    })
}

#[test]
fn a_commit_wakes_only_the_readers_that_its_events_pass() {
    let log = log_of(1 << 20);
    let filters = [
        filter_of(EventKind::PetDeleted, None),
        filter_of(EventKind::KeyBanned, Some(1)),
        filter_of(EventKind::KeyBanned, Some(2)),
        EventFilter { account: AccountId::new(2).ok(), ..EventFilter::ALL },
    ];
    let mut readers: Vec<_> = filters
        .map(|filter| {
            let count = Arc::new(Count(AtomicUsize::new(0)));
            let mut waiting = Box::pin(log.changed(log.end(), filter));
            let waker = Waker::from(Arc::clone(&count));
            assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            (waiting, count)
        })
        .into();
    let mut woken = || {
        let poll = |(waiting, count): &mut (std::pin::Pin<Box<Changed>>, Arc<Count>)| {
            let is_ready = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
            (count.0.load(Ordering::SeqCst), is_ready)
        };
        readers.iter_mut().map(poll).collect::<Vec<_>>()
    };
    append_one(&log, at(1), ban_of(1));
    // `woken` polls a reader with another waker, so each wake-up is counted once.
    assert_eq!(woken(), [(0, false), (1, true), (0, false), (0, false)]);
    append(&log, 2..=9);
    assert_eq!(woken(), [(0, false), (1, true), (0, false), (0, true)]);
    append(&log, 10..=10);
    assert_eq!(woken(), [(0, true), (1, true), (0, false), (0, true)]);
    assert_eq!(log.end(), LogEnd { epoch: 7, last: position(10) });
}

#[test]
fn a_reader_that_comes_late_does_not_wait_for_an_event_that_is_there() {
    let log = log_of(1 << 20);
    let begin = log.end();
    append(&log, 1..=10);
    let mut context = Context::from_waker(Waker::noop());
    let mut poll = |known, filter| Box::pin(log.changed(known, filter)).as_mut().poll(&mut context);
    let deletions = filter_of(EventKind::PetDeleted, None);
    assert_eq!(poll(begin, deletions), Poll::Ready(log.end()));
    assert_eq!(poll(LogEnd { last: position(9), ..begin }, deletions), Poll::Ready(log.end()));
    assert_eq!(poll(begin, filter_of(EventKind::OrderPlaced, None)), Poll::Pending);
    let earlier_log = LogEnd { epoch: 6, last: position(10) };
    assert_eq!(poll(earlier_log, filter_of(EventKind::OrderPlaced, None)), Poll::Ready(log.end()));
    assert!(log.waiters_is_empty());
}

#[test]
fn a_place_moves_over_kinds_that_do_not_pass_without_a_read() {
    let log = log_of(1 << 20);
    log.resume(EventBounds { last: position(5), ..EventBounds::new(7) });
    let quiet = |after, filter: EventFilter| {
        log.quiet_until(LogEnd { epoch: 7, last: position(after) }, &filter).get()
    };
    append(&log, 6..=29);
    let (orders, deletions) =
        (filter_of(EventKind::OrderPlaced, None), filter_of(EventKind::PetDeleted, None));
    assert_eq!((quiet(5, orders), quiet(17, orders)), (29, 29));
    // The kinds of the events before `resume` are unknown.
    assert_eq!(quiet(4, orders), 4);
    assert_eq!((quiet(5, deletions), quiet(19, deletions), quiet(20, deletions)), (5, 19, 29));
    assert_eq!(quiet(20, EventFilter::ALL), 20);
    let earlier_log = LogEnd { epoch: 6, last: position(7) };
    assert_eq!(log.quiet_until(earlier_log, &orders), position(7));
}

#[test]
fn a_page_decodes_only_chunks_with_kinds_that_pass() {
    let log = log_of(1 << 20);
    let stock = |number| {
        let item = InventoryItem { pet_id: PetId::FIRST, quantity: number, status: PetStatus::Available };
        Happening::InventoryUpdated { item, previous: Previous::none(&item) }
    };
    for number in 1..=5_000 {
        append_one(&log, at(number), if number == 2_500 { ban_of(1) } else { stock(number) });
    }
    let ring = log.ring.lock();
    let span = Span { after: Position::START, last: position(5_000) };
    assert!(ring.chunks(span, &EventFilter::ALL).len() > 10);
    assert_eq!(ring.chunks(span, &filter_of(EventKind::KeyBanned, Some(1))).len(), 1);
    drop(ring);
    let banned = EventQuery {
        filter: filter_of(EventKind::KeyBanned, Some(1)),
        ..query(SortDirection::Ascending, None, 10)
    };
    let page = read(&log, &banned).unwrap();
    assert_eq!((page.events.len(), page.reached), (1, position(5_000)));
    assert_eq!(page.events[0].id.position, position(2_500));
}
