//! The content and the failures of a journal.

mod common;

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use rusqlite::Connection;

#[test]
fn the_engine_has_no_known_bug_that_loses_a_log() {
    // Versions 3.7.0 to 3.51.2 can corrupt a database if one connection writes while another one ends a checkpoint.
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

#[test]
fn every_kind_of_row_is_loaded_as_written() {
    let room = Room::new();
    let mut journal = room.open();
    let (header, none) = load(&mut journal).unwrap();
    let events = EventBounds::new(EPOCH);
    let empty = Header { last_batch: BatchNumber(0), last_ids: LastIds::default(), epoch: EPOCH, events };
    assert_eq!((header, none), (empty, Vec::new()));

    fill(&mut journal);
    assert_eq!(rows(&mut journal), everything());
    drop(journal);

    // A file that has an epoch keeps it.
    let mut journal = petstore_sqlite::SqliteJournal::open(room.database(), 1).unwrap();
    let header = Header { last_batch: BatchNumber(1), last_ids: IDS, epoch: EPOCH, events };
    assert_eq!(load(&mut journal).unwrap(), (header, everything()));
}

#[test]
fn a_repeated_write_changes_nothing() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    append(&mut journal, 2, &changes(&everything()), IDS).unwrap();
    assert_eq!(rows(&mut journal), everything());
}

#[test]
fn the_last_change_of_a_record_in_a_batch_counts() {
    let room = Room::new();
    let mut journal = room.open();
    let mut later = pet(1, 2);
    later.stock = 5;
    let batch = [
        Changes::from([Change::Category(category(1, "cats")), Change::Category(category(2, "dogs"))]),
        Changes::from([Change::Pet(pet(1, 1)), Change::Pet(pet(2, 1)), Change::Order(order(1, 1))]),
        Changes::from([Change::Pet(later.clone()), Change::OrderDeleted(OrderId::FIRST)]),
        // The category is deleted before its pet, and its name is used again: immediate foreign keys would refuse this order.
        Changes::from([
            Change::CategoryDeleted(CategoryId::FIRST),
            Change::PetDeleted(PetId::new(2).unwrap()),
        ]),
        Changes::from([Change::Category(category(3, "CATS"))]),
    ];
    append(&mut journal, 1, &batch, IDS).unwrap();
    let left = [Row::Category(category(2, "dogs")), Row::Category(category(3, "CATS")), Row::Pet(later)];
    assert_eq!(rows(&mut journal), left);
}

#[test]
fn records_may_swap_names_within_a_batch() {
    let room = Room::new();
    let mut journal = room.open();
    let accounts = [("a", "b"), ("b", "a")];
    keep(&mut journal, 1, [Change::Category(category(1, "a")), Change::Category(category(2, "b"))]).unwrap();
    keep(&mut journal, 2, [Change::Account(account(1, "a")), Change::Account(account(2, "b"))]).unwrap();
    for (number, (first, second)) in (3..).zip([accounts[1], accounts[0]]) {
        let batch = [
            Change::Category(category(1, first)),
            Change::Category(category(2, second)),
            Change::Account(account(1, first)),
            Change::Account(account(2, second)),
        ];
        keep(&mut journal, number, batch).unwrap();
        let kept = [Row::Category(category(1, first)), Row::Category(category(2, second))];
        assert_eq!(rows(&mut journal)[..2], kept);
    }
}

#[test]
fn a_batch_with_a_gap_or_a_repeated_number_is_refused() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    for number in [0, 1, 3] {
        let refused = keep(&mut journal, number, [Change::PetDeleted(PetId::FIRST)]);
        assert!(matches!(&refused, Err(error) if error.kind() == StoreErrorKind::Unavailable), "{refused:?}");
        assert_eq!(journal.recover(), Ok(BatchNumber(1)));
    }
    assert_eq!(rows(&mut journal), everything());
}

#[test]
fn after_a_failure_every_write_fails_until_the_recovery() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    let tool = room.tool();
    // Order 5 collides with order 4.
    tool.execute_batch("CREATE UNIQUE INDEX broken ON orders (iif(id = 5, 4, id))").unwrap();

    let batch = || [Change::PetDeleted(PetId::FIRST), Change::Order(order(5, 9))];
    let failed = keep(&mut journal, 2, batch()).unwrap_err();
    assert_eq!(failed, StoreError::unavailable("append: constraint failed (code 2067)"));
    assert_eq!(failed.message(), "append", "the driver's error is the source");
    tool.execute_batch("DROP INDEX broken").unwrap();
    let unrecovered = StoreError::unavailable("the journal must be recovered first");
    assert_eq!(keep(&mut journal, 2, batch()), Err(unrecovered.clone()));
    assert_eq!(journal.note_usage(&[usage(2)]), Err(unrecovered));

    assert_eq!(journal.recover(), Ok(BatchNumber(1)));
    assert_eq!(rows(&mut journal), everything());
    keep(&mut journal, 2, batch()).unwrap();
    assert_eq!(journal.recover(), Ok(BatchNumber(2)));
}

#[test]
fn recovery_refuses_a_file_that_has_lost_a_batch() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    room.tool().execute_batch("UPDATE meta SET last_batch = 0").unwrap();
    assert!(matches!(journal.recover(), Err(error) if error.kind() == StoreErrorKind::Corrupt));
}

#[test]
fn a_batch_in_doubt_counts_once_it_is_copied_into_the_data_file() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    let reader = room.tool();
    let older = reader.unchecked_transaction().unwrap();
    let last = |of: &Connection| of.query_row("SELECT last_batch FROM meta", [], |row| row.get::<_, u64>(0));
    assert_eq!(last(&older), Ok(1));
    // The batch is in the log, but was not acknowledged.
    room.tool().execute_batch("UPDATE meta SET last_batch = 2").unwrap();
    assert!(
        matches!(journal.recover(), Err(error) if error.kind() == StoreErrorKind::Unavailable),
        "the reader holds the copy back"
    );
    drop(older);
    assert_eq!(journal.recover(), Ok(BatchNumber(2)));
    keep(&mut journal, 3, [Change::PetDeleted(PetId::FIRST)]).unwrap();
}

#[test]
fn a_ban_and_the_time_of_its_lift_are_kept() {
    let room = Room::new();
    let mut journal = room.open();
    let since = "2030-02-03T04:05:06.007Z";
    let lifts = [None, Some(time(since)), Some(Timestamp::MIN), Some(Timestamp::MAX)];
    let keys: Vec<_> =
        (1..).zip(lifts.iter().flat_map(|lift| [(None, *lift), (Some(ban(since)), *lift)])).collect();
    let record = |(id, (ban, ban_lifted_at)): (u8, (Option<Ban>, Option<Timestamp>))| {
        Box::new(KeyRecord { ban, ban_lifted_at, ..key(id.into(), 1, &secret(id)) })
    };
    let records: Vec<_> = keys.into_iter().map(record).collect();
    let owner = Change::Account(account(1, "zoo"));
    let mut changes = Changes::from([owner]);
    records.iter().cloned().for_each(|record| changes.push(Change::Key(record)));
    append(&mut journal, 1, &[changes], IDS).unwrap();
    let kept: Vec<_> = rows(&mut journal).into_iter().filter(|row| matches!(row, Row::Key(_))).collect();
    assert_eq!(kept, records.into_iter().map(Row::Key).collect::<Vec<_>>());
}

#[test]
fn the_last_recorded_usage_counts() {
    let room = Room::new();
    let mut journal = room.open();
    let later = UsageCount { minute: Window::new(31_557_601, 1), ..usage(1) };
    journal.note_usage(&[usage(1), usage(2)]).unwrap();
    journal.note_usage(&[later]).unwrap();
    assert_eq!(rows(&mut journal), [Row::Usage(later), Row::Usage(usage(2))]);
}

#[test]
fn expired_records_are_deleted_in_bounded_portions() {
    let room = Room::new();
    let mut journal = room.open();
    let end = time("2030-01-03T00:00:00Z");
    let records: Vec<_> = (0..1_001)
        .map(|number| {
            let record =
                retry(&number.to_string(), IdempotencyScope::PlaceOrder, Outcome::InsufficientStock(0));
            Changes::from([Change::Idempotency(Box::new(record))])
        })
        .collect();
    append(&mut journal, 1, &records, IDS).unwrap();
    let mut lasting = retry("lasting", IdempotencyScope::PlaceOrder, Outcome::InsufficientStock(0));
    lasting.expires_at = Timestamp::from_millis(end.as_millis() + 1).unwrap();
    keep(&mut journal, 2, [Change::Idempotency(Box::new(lasting.clone()))]).unwrap();

    assert_eq!(journal.prune(Timestamp::from_millis(end.as_millis() - 1).unwrap()), Ok(0));
    assert_eq!([(); 3].map(|()| journal.prune(end).unwrap()), [1_000, 1, 0]);
    assert_eq!(rows(&mut journal), [Row::Idempotency(Box::new(lasting))]);
}

#[test]
fn a_bulk_load_is_atomic() {
    let room = Room::new();
    let mut journal = room.open();
    let bulk = BulkLoad {
        number: BatchNumber(1),
        last_ids: LastIds { pet: 9, ..LastIds::default() },
        new_epoch: None,
        event_epoch: 8,
    };
    let mut looks = 0;
    let mut rows = everything().into_iter().inspect(|_| {
        let seen = petstore_sqlite::read_snapshot(&room.database(), &mut |_| panic!("seen")).unwrap();
        assert_eq!(seen.last_batch, BatchNumber(0));
        looks += 1;
    });
    journal.bulk(&bulk, &mut rows).unwrap();
    assert_eq!(looks, everything().len());
    let (header, rows) = load(&mut journal).unwrap();
    assert_eq!((header.last_batch, header.last_ids, rows), (bulk.number, bulk.last_ids, everything()));
}

#[test]
fn a_failed_bulk_load_leaves_a_usable_journal() {
    let room = Room::new();
    let mut journal = room.open();
    let bulk = BulkLoad { number: BatchNumber(1), last_ids: IDS, new_epoch: None, event_epoch: 8 };
    for last in [Row::Pet(pet(1, 1)), Row::Pet(pet(2, 99))] {
        let mut loaded = [Row::Category(category(1, "cats")), Row::Pet(pet(1, 1)), last].into_iter();
        let ended = journal.bulk(&bulk, &mut loaded);
        assert!(matches!(&ended, Err(error) if error.kind() == StoreErrorKind::Unavailable), "{ended:?}");
        assert_eq!(journal.recover(), Ok(BatchNumber(0)));
        assert_eq!(rows(&mut journal), []);
    }
    fill(&mut journal);
}
