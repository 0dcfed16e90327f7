//! Copies that are written from rows.

mod common;

use std::fs;
use std::io::Read;

use common::*;
use petstore_ports::*;
use petstore_sqlite::{BackupError, SqliteJournal, copy_of, keep_copy};
use petstore_test_servers::system::is_unix;

/// Checks that a copy that is open has no name. Windows keeps the name of a removed file, in Wine always, until it is closed.
#[track_caller]
fn check_nameless(room: &Room) {
    let names = names(room);
    assert!(names.is_empty() || !is_unix() && names == ["petstore.db.copy.part"], "{names:?}");
}

fn names(room: &Room) -> Vec<String> {
    let entries = fs::read_dir(room.path("")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn header() -> Header {
    Header { last_batch: BatchNumber(7), last_ids: IDS, epoch: 0, events: EventBounds::new(0) }
}

#[test]
fn a_copy_of_rows_is_a_journal_with_these_rows_and_leaves_no_temporary_file() {
    let room = Room::new();
    let (mut file, copied) = copy_of(&room.database(), &header(), everything().into_iter()).unwrap();
    assert_eq!((copied.pets, copied.orders), (4, 2));
    check_nameless(&room);
    let target = room.path("copy.db");
    keep_copy(&room.database(), &target, &mut file, copied.bytes).unwrap();
    drop(file);
    assert_eq!(names(&room), ["copy.db"]);
    assert_eq!(fs::metadata(&target).unwrap().len(), copied.bytes);
    let mut journal = SqliteJournal::open(&target, EPOCH).unwrap();
    let (found, rows) = load(&mut journal).unwrap();
    assert_eq!(
        (found, rows),
        (Header { epoch: EPOCH, events: EventBounds::new(EPOCH), ..header() }, everything_at(7))
    );
    keep(&mut journal, 8, []).unwrap();
}

#[test]
fn an_incomplete_copy_is_removed_and_an_existing_target_is_kept() {
    let room = Room::new();
    let (mut file, copied) = copy_of(&room.database(), &header(), everything().into_iter()).unwrap();
    let target = room.path("copy.db");
    let half = keep_copy(&room.database(), &target, &mut file.by_ref().take(1_000), copied.bytes);
    assert!(matches!(half, Err(BackupError::Target { .. })), "{half:?}");
    check_nameless(&room);
    fs::write(&target, "somebody's").unwrap();
    let taken = keep_copy(&room.database(), &target, &mut file, copied.bytes);
    assert!(matches!(taken, Err(BackupError::Exists { .. })), "{taken:?}");
    assert_eq!(fs::read(&target).unwrap(), b"somebody's");
    drop(file);
    assert_eq!(names(&room), ["copy.db"]);
}

#[test]
fn inconsistent_rows_are_not_copied() {
    let room = Room::new();
    let rows = [Row::Pet(pet(1, 9))];
    let refused = copy_of(&room.database(), &header(), rows.into_iter()).map(drop).unwrap_err();
    assert_eq!(refused.report(), "the store is unavailable: the copy: constraint failed (code 787)");
    assert_eq!(names(&room), [""; 0]);
}
