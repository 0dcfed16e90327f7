//! What a crash, a failed disk or another program leaves behind, and what is made of it.

mod common;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::{OpenError, SqliteJournal};
use rusqlite::Connection;

/// Bytes of a page.
const PAGE: usize = 512;

/// Puts the pages that the log has there, as a machine that stops leaves them: without the index of the log, which says
/// what of it counts.
fn after_a_crash(room: &Room, name: &str) -> std::path::PathBuf {
    let copy = room.path(name);
    fs::copy(room.database(), &copy).unwrap();
    fs::copy(room.path("petstore.db-wal"), room.path(&format!("{name}-wal"))).unwrap();
    copy
}

#[test]
fn what_was_refused_is_not_there_after_a_crash_though_its_commit_is_in_the_log() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    let reader = room.tool();
    let older = reader.unchecked_transaction().unwrap();
    let _count: u64 = older.query_row("SELECT count(*) FROM pets", [], |row| row.get(0)).unwrap();
    keep(&mut journal, 2, [Change::PetDeleted(PetId::FIRST)]).unwrap();

    // A transaction whose sync fails is in the log with its commit, and the index knows nothing of it.
    let log = room.path("petstore.db-wal");
    let known = fs::metadata(&log).unwrap().len();
    let copy = after_a_crash(&room, "elsewhere.db");
    let elsewhere = Connection::open(&copy).unwrap();
    elsewhere.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    elsewhere.execute_batch("UPDATE meta SET last_batch = 3, last_pet = 77").unwrap();
    let frames = fs::read(room.path("elsewhere.db-wal")).unwrap();
    drop(elsewhere);
    assert!(frames.len() as u64 > known);
    let mut log = OpenOptions::new().append(true).open(log).unwrap();
    log.write_all(&frames[usize::try_from(known).unwrap()..]).unwrap();
    let last = |name: &str| {
        let mut opened = SqliteJournal::open(after_a_crash(&room, name), EPOCH).unwrap();
        opened.load(&mut |_| Ok(())).unwrap().last_batch
    };
    assert_eq!(last("ghost.db"), BatchNumber(3), "so it would be found");

    append(&mut journal, 99, &[], IDS).unwrap_err();
    assert_eq!(journal.recover(), Ok(BatchNumber(2)), "it is told that nothing was written");
    assert_eq!(last("crash.db"), BatchNumber(2));
    drop(older);
    assert_eq!(journal.recover(), Ok(BatchNumber(2)));
}

/// Where the index begins by which records of answered requests expire.
fn place_of_an_index(room: &Room) -> u64 {
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'retries_by_expiry'";
    let first: u64 = room.tool().query_row(sql, [], |row| row.get(0)).unwrap();
    (first - 1) * PAGE as u64
}

#[test]
fn damage_that_is_met_by_a_write_is_damage_for_whoever_asks_again() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    drop(journal);
    let file = OpenOptions::new().write(true).open(room.database()).unwrap();
    file.write_all_at(&[0; PAGE], place_of_an_index(&room)).unwrap();
    drop(file);

    let mut journal = room.open();
    assert_eq!(rows(&mut journal), everything(), "the tables are whole");
    // What does not meet it is written.
    keep(&mut journal, 2, [Change::PetDeleted(PetId::FIRST)]).unwrap();
    let failed = journal.prune(time("2090-01-01T00:00:00Z"));
    assert!(matches!(&failed, Err(error) if error.kind() == StoreErrorKind::Corrupt), "{failed:?}");
    for _ in 0..2 {
        let found = journal.recover();
        assert!(
            matches!(&found, Err(error) if error.kind() == StoreErrorKind::Corrupt && error.message().starts_with("the data file: ")),
            "{found:?}"
        );
    }
}

#[test]
fn a_disk_that_reads_wrongly_once_is_forgiven() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    drop(journal);
    let at = place_of_an_index(&room);
    let sound = fs::read(room.database()).unwrap();
    let page = &sound[usize::try_from(at).unwrap()..][..PAGE];
    let file = OpenOptions::new().write(true).open(room.database()).unwrap();
    file.write_all_at(&[0; PAGE], at).unwrap();
    let mut journal = room.open();
    assert!(journal.prune(time("2090-01-01T00:00:00Z")).is_err());
    file.write_all_at(page, at).unwrap();
    assert_eq!(journal.recover(), Ok(BatchNumber(1)));
    journal.prune(time("2090-01-01T00:00:00Z")).unwrap();
}

#[test]
fn pages_that_have_changed_places_are_found_by_their_order() {
    let room = Room::new();
    let mut journal = room.open();
    let mut all = vec![Row::Category(category(1, "Dogs"))];
    all.extend((1..=100).map(|id| Row::Pet(pet(id, 1))));
    append(&mut journal, 1, &changes(&all), IDS).unwrap();
    drop(journal);
    let mut bytes = fs::read(room.database()).unwrap();
    let page_of = |bytes: &[u8], text: &str| {
        let is_it = |page: &[u8]| page[0] == 0x0D && page.windows(text.len()).any(|w| w == text.as_bytes());
        bytes.chunks(PAGE).position(is_it).unwrap()
    };
    let (one, other) = (page_of(&bytes, "Rex 30"), page_of(&bytes, "Rex 70"));
    assert_ne!(one, other);
    let saved = bytes[one * PAGE..][..PAGE].to_vec();
    bytes.copy_within(other * PAGE..(other + 1) * PAGE, one * PAGE);
    bytes[other * PAGE..][..PAGE].copy_from_slice(&saved);
    fs::write(room.database(), bytes).unwrap();
    let found = room.open().load(&mut |_| Ok(())).unwrap_err();
    assert!(
        found.kind() == StoreErrorKind::Corrupt
            && found.message().starts_with("pets row ")
            && found.message().contains("comes after row"),
        "{found:?}"
    );
}

#[test]
fn no_file_is_made_where_one_has_been_or_none_can_be() {
    let room = Room::new();
    let refusal = |name: &str| match SqliteJournal::open(room.path(name), EPOCH) {
        Err(error @ OpenError::File { .. }) => error.report(),
        other => panic!("{:?}", other.err()),
    };
    // What was acknowledged last is in the log of a file that was moved away after a crash.
    fs::write(room.path("moved.db-wal"), [0; 32]).unwrap();
    assert!(refusal("moved.db").ends_with(
        "moved.db cannot be opened: it does not exist, but its -wal does, which holds the last changes: bring the data file \
         back, or move the -wal away"
    ));
    assert!(room.path("moved.db-wal").exists() && !room.path("moved.db").exists());
    fs::write(room.path("moved.db"), []).unwrap();
    assert!(refusal("moved.db").contains("it is empty, but its -wal is not, which holds the last changes"));
    assert!(room.path("moved.db-wal").exists());
    std::os::unix::fs::symlink(room.path("nowhere"), room.path("link.db")).unwrap();
    assert!(refusal("link.db").contains("it is a symbolic link to a file that does not exist"));
    fs::create_dir(room.path("folder.db")).unwrap();
    assert!(refusal("folder.db").ends_with("it is not a regular file: name another path"));
    for name in ["moved.db.lock", "link.db.lock", "folder.db.lock"] {
        assert!(!room.path(name).exists(), "{name}");
    }
}
