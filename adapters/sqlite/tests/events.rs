//! The event log in the file: events are written with their batch, read while the journal is written, and dropped,
//! oldest first.

mod common;

use std::ops::ControlFlow;

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::{SqliteJournal, backup};

/// The bytes of each body.
const BODY: [u8; 40] = [1; 40];

fn position(number: u64) -> Position {
    Position::new(number).unwrap()
}

fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis(secs * 1_000).unwrap()
}

/// Appends a batch that changes a category and has the events from `first` to `last`, at `first` seconds.
fn append_events(journal: &mut SqliteJournal, number: u64, first: u64, last: u64) -> Result<(), StoreError> {
    let changes = [Changes::from([Change::Category(category(1, "cats"))])];
    let events = EventBatch {
        first: position(first),
        last: position(last),
        latest: at(first.cast_signed()),
        body: &BODY,
    };
    let number = BatchNumber(number);
    journal.append(&Batch { number, changes: &changes, last_ids: IDS, events: Some(events) })
}

/// Appends `batches` batches of two events each.
fn fill_log(journal: &mut SqliteJournal, batches: u64) {
    for number in 1..=batches {
        append_events(journal, number, 2 * number - 1, 2 * number).unwrap();
    }
}

fn read(
    journal: &SqliteJournal,
    after: u64,
    last: u64,
    order: SortDirection,
) -> (EventBounds, Vec<(u64, u64)>) {
    try_read(journal, after, last, order).unwrap()
}

fn try_read(
    journal: &SqliteJournal,
    after: u64,
    last: u64,
    order: SortDirection,
) -> Result<(EventBounds, Vec<(u64, u64)>), StoreError> {
    let mut found = Vec::new();
    let range = EventRange { after: position(after), last: position(last), order };
    let bounds = journal.event_reader().read(&range, &mut |batch| {
        assert_eq!((batch.body, batch.latest), (&BODY[..], at(batch.first.get().cast_signed())));
        found.push((batch.first.get(), batch.last.get()));
        ControlFlow::Continue(())
    })?;
    Ok((bounds, found))
}

fn bounds(epoch: u64, pruned: u64, last: u64) -> EventBounds {
    let oldest_at = (pruned < last).then(|| at(pruned.cast_signed() + 1));
    EventBounds { epoch, pruned: position(pruned), last: position(last), oldest_at }
}

const UP: SortDirection = SortDirection::Ascending;
const DOWN: SortDirection = SortDirection::Descending;

#[test]
fn events_are_kept_with_their_batch_and_read_in_both_directions() {
    let room = Room::new();
    let mut journal = room.open();
    assert_eq!(read(&journal, 0, 0, UP), (bounds(EPOCH, 0, 0), vec![]));
    fill_log(&mut journal, 3);
    keep(&mut journal, 4, [Change::Category(category(2, "dogs"))]).unwrap();
    let log = bounds(EPOCH, 0, 6);
    assert_eq!(read(&journal, 0, 6, UP), (log, vec![(1, 2), (3, 4), (5, 6)]));
    // The first and the last batch may contain events outside the range.
    assert_eq!(read(&journal, 1, 3, UP), (log, vec![(1, 2), (3, 4)]));
    assert_eq!(read(&journal, 2, 5, DOWN), (log, vec![(5, 6), (3, 4)]));
    assert_eq!(read(&journal, 5, 6, DOWN), (log, vec![(5, 6)]));
    assert_eq!(read(&journal, 6, 6, UP), (log, vec![]));
    let mut seen = 0;
    let range = EventRange { after: position(0), last: position(6), order: UP };
    let stopped = journal.event_reader().read(&range, &mut |_| {
        seen += 1;
        ControlFlow::Break(())
    });
    assert_eq!((stopped, seen), (Ok(log), 1));
    drop(journal);
    let mut journal = room.open();
    assert_eq!(load(&mut journal).unwrap().0.events, log);
    assert_eq!(append_events(&mut journal, 5, 7, 7), Ok(()));
    assert_eq!(read(&journal, 5, 7, UP).1, [(5, 6), (7, 7)]);
}

#[test]
fn events_that_do_not_follow_the_last_one_are_refused_with_their_batch() {
    let room = Room::new();
    let mut journal = room.open();
    fill_log(&mut journal, 2);
    for first in [1, 4, 6] {
        let refused = append_events(&mut journal, 3, first, first + 1).unwrap_err();
        assert_eq!(
            refused.report(),
            "the store is unavailable: append: the batch does not follow the last one",
            "{first}"
        );
        assert_eq!(journal.recover(), Ok(BatchNumber(2)));
        assert_eq!(read(&journal, 0, 4, UP), (bounds(EPOCH, 0, 4), vec![(1, 2), (3, 4)]), "{first}");
    }
    append_events(&mut journal, 3, 5, 6).unwrap();
}

#[test]
fn a_portion_of_dropped_events_is_bounded_by_their_bytes_too() {
    const BATCHES: u64 = 20;
    let room = Room::new();
    let mut journal = room.open();
    let body = vec![1; 100 * 1024];
    for number in 1..=BATCHES {
        let changes = [Changes::from([Change::Category(category(1, "cats"))])];
        let events =
            EventBatch { first: position(number), last: position(number), latest: at(0), body: &body };
        let number = BatchNumber(number);
        journal.append(&Batch { number, changes: &changes, last_ids: IDS, events: Some(events) }).unwrap();
    }
    let nothing = EventLimits { not_before: Timestamp::MAX, bytes_max: u64::MAX };
    let mut steps = Vec::new();
    loop {
        let EventsPruned { bounds, has_more } = journal.prune_events(&nothing).unwrap();
        steps.push(bounds.pruned.get());
        if !has_more {
            break;
        }
    }
    // Half a MiB each.
    assert_eq!(steps, [6, 12, 18, 20]);
}

#[test]
fn old_events_are_dropped_by_age_and_by_bytes_in_bounded_portions() {
    let room = Room::new();
    let mut journal = room.open();
    fill_log(&mut journal, 2_010);
    let all = u64::MAX;
    let nothing = EventLimits { not_before: Timestamp::MIN, bytes_max: all };
    let kept = |pruned, has_more| Ok(EventsPruned { bounds: bounds(EPOCH, pruned, 4_020), has_more });
    assert_eq!(journal.prune_events(&nothing), kept(0, false));
    // The batch with exactly this time stays.
    let by_age = EventLimits { not_before: at(21), bytes_max: all };
    assert_eq!(journal.prune_events(&by_age), kept(20, false));
    assert_eq!(read(&journal, 19, 24, UP), (bounds(EPOCH, 20, 4_020), vec![]), "dropped events are no gap");
    assert_eq!(read(&journal, 20, 24, UP).1, [(21, 22), (23, 24)]);
    let by_bytes = EventLimits { not_before: Timestamp::MIN, bytes_max: 3 * BODY.len() as u64 };
    assert_eq!(journal.prune_events(&by_bytes), kept(2_020, true));
    assert_eq!(journal.prune_events(&by_bytes), kept(4_014, false));
    let empty = EventLimits { not_before: Timestamp::MAX, bytes_max: all };
    assert_eq!(journal.prune_events(&empty), kept(4_020, false));
    drop(journal);
    let mut journal = room.open();
    assert_eq!(
        load(&mut journal).unwrap().0.events,
        bounds(EPOCH, 4_020, 4_020),
        "positions are not used again"
    );
    append_events(&mut journal, 2_011, 4_021, 4_021).unwrap();
    assert_eq!(
        journal.prune_events(&by_bytes),
        Ok(EventsPruned { bounds: bounds(EPOCH, 4_020, 4_021), has_more: false })
    );
}

#[test]
fn a_bulk_load_begins_a_new_epoch_of_the_log() {
    for new_epoch in [None, Some(77)] {
        let room = Room::new();
        let mut journal = room.open();
        fill_log(&mut journal, 2);
        let bulk = BulkLoad { number: BatchNumber(3), last_ids: IDS, new_epoch, event_epoch: 99 };
        journal.bulk(&bulk, &mut std::iter::empty()).unwrap();
        assert_eq!(read(&journal, 0, 0, UP), (bounds(99, 0, 0), vec![]));
        append_events(&mut journal, 4, 1, 3).unwrap();
        drop(journal);
        let mut journal = room.open();
        let header = load(&mut journal).unwrap().0;
        assert_eq!((header.epoch, header.events), (new_epoch.unwrap_or(EPOCH), bounds(99, 0, 3)));
    }
}

#[test]
fn a_backup_has_no_events_and_begins_a_new_epoch_when_it_is_opened() {
    let room = Room::new();
    let mut journal = room.open();
    append_events(&mut journal, 1, 1, 1).unwrap();
    let small = backup(&room.database(), &room.path("small.db")).unwrap();
    for number in 2..=500 {
        append_events(&mut journal, number, number, number).unwrap();
    }
    let copy = room.path("copy.db");
    let made = backup(&room.database(), &copy).unwrap();
    assert_eq!(made.bytes, small.bytes, "the copy has no unused pages");
    let parts = std::fs::read_dir(room.path("")).unwrap();
    assert!(parts.flatten().all(|entry| !entry.file_name().to_string_lossy().contains(".part")));
    for epoch in [5, 6] {
        let restored = room.path(&format!("restored-{epoch}.db"));
        std::fs::copy(&copy, &restored).unwrap();
        for epoch_if_new in [epoch, 7] {
            let mut journal = SqliteJournal::open(&restored, epoch_if_new).unwrap();
            assert_eq!(load(&mut journal).unwrap().0.events, bounds(epoch, 0, 0));
            journal.accept().unwrap();
        }
        let mut journal = SqliteJournal::open(&restored, 8).unwrap();
        append_events(&mut journal, 501, 1, 2).unwrap();
        assert_eq!(load(&mut journal).unwrap().0.events, bounds(epoch, 0, 2));
    }
    assert_eq!(load(&mut journal).unwrap().0.events, bounds(EPOCH, 0, 500), "the original goes on");
}

#[test]
fn a_file_whose_events_are_in_a_newer_form_is_refused_and_left_as_it_was() {
    let room = Room::new();
    fill_log(&mut room.open(), 1);
    room.tool().execute_batch("UPDATE meta SET event_version = 250").unwrap();
    let before = std::fs::read(room.database()).unwrap();
    let refused = SqliteJournal::open(room.database(), 1).err().unwrap().to_string();
    let said = format!(
        "has events in form 250, and this program knows form {}: open it with the version that wrote it, or a newer one",
        petstore_event_codec::VERSION
    );
    assert!(refused.ends_with(&said), "{refused}");
    assert_eq!(std::fs::read(room.database()).unwrap(), before);
}

#[test]
fn missing_events_are_damage_and_never_a_gap() {
    let room = Room::new();
    let mut journal = room.open();
    fill_log(&mut journal, 4);
    room.tool().execute_batch("DELETE FROM event_batches WHERE first = 5").unwrap();
    for order in [UP, DOWN] {
        let damaged = try_read(&journal, 0, 8, order).unwrap_err();
        assert_eq!(damaged.kind(), StoreErrorKind::Corrupt);
        assert!(damaged.to_string().contains("event_batches: event"), "{damaged}");
        assert_eq!(try_read(&journal, 3, 6, order).unwrap_err().kind(), StoreErrorKind::Corrupt, "{order:?}");
    }
    assert_eq!(read(&journal, 0, 4, UP).1, [(1, 2), (3, 4)]);
    room.tool().execute_batch("DELETE FROM event_batches WHERE first = 7").unwrap();
    let damaged = load(&mut journal).unwrap_err().to_string();
    assert!(
        damaged.contains("event_batches row 3: it ends with event 4, and the last event is 8"),
        "{damaged}"
    );
}

#[test]
fn sound_batches_are_passed_before_a_damaged_row_is_reported() {
    for damage in [
        "DELETE FROM event_batches WHERE first = 5",
        "UPDATE event_batches SET at = 9223372036854775807 WHERE first = 5",
    ] {
        let room = Room::new();
        let mut journal = room.open();
        fill_log(&mut journal, 4);
        room.tool().execute_batch(damage).unwrap();
        for (order, sound) in [(UP, vec![1, 3]), (DOWN, vec![7])] {
            let mut passed = Vec::new();
            let range = EventRange { after: position(0), last: position(8), order };
            let read = journal.event_reader().read(&range, &mut |batch| {
                passed.push(batch.first.get());
                ControlFlow::Continue(())
            });
            assert_eq!(read.unwrap_err().kind(), StoreErrorKind::Corrupt, "{damage}");
            assert_eq!(passed, sound, "{damage}");
        }
    }
}

#[test]
fn a_page_leaves_no_read_transaction_behind() {
    let room = Room::new();
    let mut journal = room.open();
    fill_log(&mut journal, 3);
    let mut reader = journal.event_reader();
    let range = EventRange { after: position(0), last: position(6), order: UP };
    reader.read(&range, &mut |_| ControlFlow::Continue(())).unwrap();
    let busy: bool = room.tool().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert!(!busy, "the log can be emptied");
    append_events(&mut journal, 4, 7, 8).unwrap();
    let bounds = reader.read(&range, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(bounds.last, position(8));
}

#[test]
fn events_are_read_while_the_journal_has_failed_and_after_its_recovery() {
    let room = Room::new();
    let mut journal = room.open();
    fill_log(&mut journal, 2);
    assert!(append_events(&mut journal, 9, 5, 6).is_err());
    assert_eq!(read(&journal, 0, 4, UP).1, [(1, 2), (3, 4)]);
    assert_eq!(journal.recover(), Ok(BatchNumber(2)));
    append_events(&mut journal, 3, 5, 6).unwrap();
    assert_eq!(read(&journal, 4, 6, UP).1, [(5, 6)]);
}

#[test]
fn a_damaged_time_of_the_oldest_row_hides_no_other_event_and_the_row_is_dropped_with_the_next_one() {
    let room = Room::new();
    let mut journal = room.open();
    fill_log(&mut journal, 3);
    let tool = room.tool();
    tool.execute("UPDATE event_batches SET at = 9223372036854775807 WHERE first = 1", []).unwrap();
    let log = EventBounds { oldest_at: Some(at(3)), ..bounds(EPOCH, 0, 6) };
    assert_eq!(read(&journal, 2, 6, UP), (log, vec![(3, 4), (5, 6)]));
    assert_eq!(read(&journal, 2, 6, DOWN), (log, vec![(5, 6), (3, 4)]));
    let refused = try_read(&journal, 0, 6, UP).unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Corrupt);
    assert!(refused.to_string().contains("event_batches row 1: at "), "{refused}");

    let mut prune = |secs| {
        let limits = EventLimits { not_before: at(secs), bytes_max: u64::MAX };
        journal.prune_events(&limits).unwrap().bounds
    };
    assert_eq!(prune(3), log, "the next row is kept");
    assert_eq!(prune(4), bounds(EPOCH, 4, 6));
}
