//! The event log of a store with a journal: an event is on disk if and only if its change is on disk, the positions
//! continue after a restart, and old events are dropped without a gap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use petstore_domain::*;
use petstore_memory::{EventRetention, MemoryStore, Step};
use petstore_ports::{
    EventBounds, EventQuery, EventRead, EventReader, Housekeeping, Resettable, SortDirection, StoreErrorKind,
    run,
};
use petstore_sqlite::SqliteJournal;
use petstore_tests::{Disk, Fault, run_case};

use crate::shop::*;
use crate::stepped_store::{Call, SteppedStore, poll, ready};

fn query(after: Option<Position>) -> EventQuery {
    EventQuery {
        epoch: None,
        order: SortDirection::Ascending,
        after,
        filter: EventFilter::ALL,
        events_max: 100,
        positions_max: 10_000,
    }
}

fn bounds(store: &MemoryStore) -> EventBounds {
    ready(EventReader::bounds(store))
}

fn kinds(stepped: &SteppedStore) -> Vec<EventKind> {
    stepped.events().iter().map(|event| event.happening.kind()).collect()
}

#[test]
fn events_go_on_after_a_power_cut_under_the_next_position() {
    let stepped = SteppedStore::on(&Disk::new());
    stepped.done(create_category("Dogs"));
    stepped.done(create_pet(1));
    let before = stepped.events();
    let kinds_before = [EventKind::CategoryCreated, EventKind::PetCreated];
    assert_eq!(kinds(&stepped), kinds_before);
    let again = SteppedStore::on(&stepped.disk.after_power_cut());
    assert_eq!(again.events(), before);
    assert_eq!(bounds(&again.store), bounds(&stepped.store));
    again.done(set_stock(1, 5));
    // A page that begins with events from the journal has no events from memory. Those are on the next page.
    let events = again.events();
    assert_eq!(events[..2], before);
    let last = events.last().unwrap();
    assert_eq!((last.id.epoch, last.id.position.get()), (before[0].id.epoch, 3));
    assert_eq!(SteppedStore::on(&again.disk.after_power_cut()).events(), events);
}

#[test]
fn the_power_may_fail_at_each_call_and_an_event_is_there_if_and_only_if_its_change_is() {
    for fault in [Fault::Before, Fault::After] {
        for number in 1.. {
            let stepped = SteppedStore::on(&Disk::new());
            stepped.disk.fail_call(number, fault);
            for round in 0..6 {
                let name = ["Dogs", "Cats", "Birds", "Fish", "Mice", "Owls"][round];
                let answer = stepped.finish(stepped.call(create_category(name)));
                assert!(
                    answer.is_ok()
                        || answer.as_ref().is_err_and(|it| it.kind() == StoreErrorKind::Unavailable)
                );
                let shown = stepped.snapshot();
                let created: Vec<_> = stepped
                    .events()
                    .into_iter()
                    .map(|event| match event.happening {
                        Happening::CategoryCreated(category) => category,
                        other => panic!("only categories were created: {other:?}"),
                    })
                    .collect();
                let there: Vec<_> = shown.categories.iter().map(|record| record.category.clone()).collect();
                assert_eq!(created, there, "{fault:?} at call {number}");
                assert_eq!(stepped.after_power_cut(), shown, "{fault:?} at call {number}");
            }
            if stepped.disk.calls() < number {
                break;
            }
        }
    }
}

#[test]
fn a_reset_and_an_import_begin_an_epoch_whose_ids_were_never_issued() {
    let stepped = SteppedStore::on(&Disk::new());
    stepped.done(create_category("Dogs"));
    let first = bounds(&stepped.store);
    stepped.store.reset(Arc::new([]), 0xBE61).unwrap();
    let second = bounds(&stepped.store);
    assert_eq!((second.epoch, second.last), (0xBE61, Position::START));
    stepped.store.import().unwrap().finish().unwrap();
    let third = bounds(&stepped.store);
    assert_eq!(third.last, Position::START);
    assert!(![first.epoch, second.epoch].contains(&third.epoch), "an import begins a new epoch");
    for old in [first, second] {
        let query = EventQuery { epoch: Some(old.epoch), ..query(Some(Position::START)) };
        assert_eq!(ready(EventReader::read(&stepped.store, query)), EventRead::Expired(third));
    }
    stepped.done(create_category("Cats"));
    let opened = SteppedStore::on(&stepped.disk.after_power_cut());
    assert_eq!(opened.events(), stepped.events());
    assert_eq!(opened.events()[0].id.epoch, third.epoch);
    assert_eq!(bounds(&opened.store).epoch, third.epoch);
}

#[test]
fn a_bulk_load_that_fails_keeps_the_epoch_of_the_log() {
    for fault in [Fault::Before, Fault::After] {
        let stepped = SteppedStore::on(&Disk::new());
        stepped.done(create_category("Dogs"));
        let before = stepped.snapshot();
        stepped.disk.fail_call(stepped.disk.calls() + 1, fault);
        let reset = stepped.store.reset(Arc::new([]), 0xBE61);
        let epoch = bounds(&stepped.store).epoch;
        assert_eq!(epoch == 0xBE61, reset.is_ok(), "{fault:?}");
        if reset.is_err() {
            assert_eq!(stepped.snapshot(), before);
        }
        assert_eq!(stepped.after_power_cut(), stepped.snapshot(), "{fault:?}");
    }
}

#[test]
fn events_are_dropped_by_age_and_by_bytes_and_a_reader_at_the_edge_is_told() {
    let stepped = SteppedStore::on(&Disk::new());
    let age = Duration::from_mins(1);
    stepped.store.set_event_retention(EventRetention { age, bytes: u64::MAX });
    for number in 0..20 {
        // Each second has one batch.
        let create = create_category(&format!("Category {number}"));
        let call: Call<'_, _> = Box::pin(run(&stepped.store, create, at(number)));
        stepped.finish(call).unwrap().unwrap();
    }
    let prune = |now| {
        let mut housekeeping: Call<'_, _> = Box::pin(stepped.store.drop_expired(now));
        assert!(poll(&mut housekeeping).is_pending());
        while stepped.writer.step() == Step::Worked {}
        assert!(poll(&mut housekeeping).is_ready());
    };
    let positions = || stepped.events().iter().map(|event| event.id.position.get()).collect::<Vec<_>>();
    prune(at(60));
    assert_eq!(positions(), (1..=20).collect::<Vec<_>>());
    // The number of expired batches exceeds what one step drops.
    prune(at(70));
    assert_eq!(positions(), (11..=20).collect::<Vec<_>>());
    let now = bounds(&stepped.store);
    assert_eq!((now.pruned.get(), now.last.get(), now.oldest_at), (10, 20, Some(at(10))));
    let read = |after| ready(EventReader::read(&stepped.store, query(Position::new(after))));
    assert_eq!(read(9), EventRead::Expired(now));
    assert!(matches!(read(10), EventRead::Page(page) if page.events.len() == 10));

    stepped.store.set_event_retention(EventRetention { age, bytes: 100 });
    prune(at(70));
    let kept = positions();
    assert!((1..6).contains(&kept.len()) && kept.last() == Some(&20), "{kept:?}");
    assert_eq!(stepped.after_power_cut(), stepped.snapshot());
    prune(at(1_000));
    assert_eq!(positions(), [0_u64; 0]);
    stepped.done(create_category("Last"));
    assert_eq!(positions(), [21]);
}

#[test]
fn events_that_the_journal_dropped_in_doubt_are_expired_and_the_next_step_settles_that() {
    for fault in [Fault::Before, Fault::After] {
        let stepped = SteppedStore::on(&Disk::new());
        for name in ["Dogs", "Cats"] {
            stepped.done(create_category(name));
        }
        // The first call of housekeeping drops idempotency records, and the second, which fails here, drops events.
        stepped.disk.fail_call(stepped.disk.calls() + 2, fault);
        let late = at(0).plus(EventRetention::AGE).plus(Duration::from_secs(1));
        assert!(stepped.finish(Box::pin(stepped.store.drop_expired(late))).is_err());
        let kept = if fault == Fault::After { 0 } else { 2 };
        assert_eq!(stepped.after_power_cut().events.len(), kept, "{fault:?}");
        while stepped.writer.step() == Step::Worked {}
        stepped.finish(Box::pin(stepped.store.drop_expired(late))).unwrap();
        let now = bounds(&stepped.store);
        assert_eq!((now.pruned.get(), now.last.get()), (2, 2), "{fault:?}");
        assert_eq!(stepped.events(), stepped.after_power_cut().events);
    }
}

#[test]
fn a_reader_at_the_edge_of_what_is_dropped_under_load_gets_expired_and_never_a_gap() {
    let folder = std::env::temp_dir().join(format!("petstore-edge-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let journal = SqliteJournal::open(folder.join("petstore.db"), 1).unwrap();
    let store = Arc::new(MemoryStore::open(Box::new(journal)).unwrap().store);
    let bytes = 2_000;
    store.set_event_retention(EventRetention { age: EventRetention::AGE, bytes });
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            run_case(async {
                for number in 0..600 {
                    let name = format!("Category {number}");
                    run(&*store, create_category(&name), at(0)).await.unwrap().unwrap();
                    if number % 5 == 0 {
                        store.drop_expired(at(0)).await.unwrap();
                    }
                }
            });
            is_done.store(true, Ordering::SeqCst);
        });
        for order in [SortDirection::Ascending, SortDirection::Descending] {
            let (store, is_done) = (Arc::clone(&store), &is_done);
            scope.spawn(move || {
                run_case(async {
                    let mut pages = 0;
                    while !is_done.load(Ordering::SeqCst) || pages == 0 {
                        let from = EventReader::bounds(&*store).await.unwrap();
                        let after = (order == SortDirection::Ascending).then_some(from.pruned);
                        let read = EventQuery { order, events_max: 3, ..query(after) };
                        if let EventRead::Page(page) = EventReader::read(&*store, read).await.unwrap() {
                            check_dense(&page.events, order, after);
                            pages += 1;
                        }
                    }
                });
            });
        }
    });
    let end = bounds(&store);
    assert!(end.pruned > Position::START && end.last.get() == 600, "{end:?}");
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Panics unless the events have consecutive positions, beginning with the one that follows `after`.
fn check_dense(events: &[Event], order: SortDirection, after: Option<Position>) {
    let positions: Vec<u64> = events.iter().map(|event| event.id.position.get()).collect();
    if let (Some(after), Some(first)) = (after, positions.first()) {
        assert_eq!(*first, after.get() + 1, "the page begins after its position");
    }
    for pair in positions.windows(2) {
        let step = if order == SortDirection::Ascending { pair[1] - pair[0] } else { pair[0] - pair[1] };
        assert_eq!(step, 1, "{positions:?}");
    }
}

#[test]
fn older_events_are_read_from_the_file_by_a_store_that_was_opened_again() {
    let folder = std::env::temp_dir().join(format!("petstore-older-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let open = || {
        let journal = SqliteJournal::open(folder.join("petstore.db"), 1).unwrap();
        MemoryStore::open(Box::new(journal)).unwrap().store
    };
    let walk = |store: &MemoryStore, order| {
        let store: &dyn EventReader = store;
        let (mut events, mut after) = (Vec::new(), None);
        let seen = std::sync::Mutex::new(Vec::new());
        run_case(async {
            loop {
                let read = EventQuery { order, events_max: 7, positions_max: 30, ..query(after) };
                let EventRead::Page(page) = store.read(read).await.unwrap() else {
                    panic!("nothing is dropped")
                };
                let is_last = match order {
                    SortDirection::Ascending => page.reached == page.bounds.last,
                    SortDirection::Descending => page.reached == page.bounds.pruned.next(),
                };
                events.extend(page.events);
                after = Some(page.reached);
                if is_last {
                    break;
                }
            }
            *seen.lock().unwrap() = events;
        });
        seen.into_inner().unwrap()
    };
    let create = |store: &MemoryStore, from: u64| {
        let store: &dyn petstore_ports::Transactor = store;
        run_case(async {
            for number in from..from + 50 {
                run(store, create_category(&format!("Category {number}")), at(0)).await.unwrap().unwrap();
            }
        });
    };
    let store = open();
    create(&store, 0);
    let before = walk(&store, SortDirection::Ascending);
    drop(store);
    let store = open();
    assert_eq!(walk(&store, SortDirection::Ascending), before);
    create(&store, 50);
    let all = walk(&store, SortDirection::Ascending);
    assert_eq!((all.len(), &all[..50]), (100, &before[..]));
    let mut down = walk(&store, SortDirection::Descending);
    down.reverse();
    assert_eq!(down, all);
    store.close();
    let refused = run_case_read(&store);
    assert!(refused.contains("the store is closed"), "{refused}");
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}

/// The reason why reading the oldest events fails.
fn run_case_read(store: &MemoryStore) -> String {
    let store: &dyn EventReader = store;
    let told = std::sync::Mutex::new(String::new());
    run_case(async {
        *told.lock().unwrap() = store.read(query(None)).await.unwrap_err().to_string();
    });
    told.into_inner().unwrap()
}
