//! Data files and logs after a crash, a disk failure or a change by another program.

mod common;

use std::fs::{self, OpenOptions};
use std::io::Write;

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::{OpenError, SqliteJournal};
use petstore_test_servers::system::write_all_at;
use rusqlite::Connection;

/// The page size in bytes.
const PAGE: usize = 512;

/// Copies the data file and the log. The index of the log is lost in a crash, so it is not copied.
fn after_a_crash(room: &Room, name: &str) -> std::path::PathBuf {
    let copy = room.path(name);
    fs::copy(room.database(), &copy).unwrap();
    fs::copy(room.path("petstore.db-wal"), room.path(&format!("{name}-wal"))).unwrap();
    copy
}

#[test]
fn a_failed_commit_that_is_in_the_log_does_not_reappear_after_a_crash() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    let reader = room.tool();
    let older = reader.unchecked_transaction().unwrap();
    let _count: u64 = older.query_row("SELECT count(*) FROM pets", [], |row| row.get(0)).unwrap();
    keep(&mut journal, 2, [Change::PetDeleted(PetId::FIRST)]).unwrap();

    // A transaction whose sync failed is in the log with its commit mark, but not in the index of the log.
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
    assert_eq!(last("ghost.db"), BatchNumber(3), "without a recovery the failed commit counts");

    append(&mut journal, 99, &[], IDS).unwrap_err();
    assert_eq!(journal.recover(), Ok(BatchNumber(2)), "the failed batch does not count");
    assert_eq!(last("crash.db"), BatchNumber(2));
    drop(older);
    assert_eq!(journal.recover(), Ok(BatchNumber(2)));
}

/// Returns the offset of the root page of an index.
fn offset_of_an_index(room: &Room) -> u64 {
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'retries_by_expiry'";
    let first: u64 = room.tool().query_row(sql, [], |row| row.get(0)).unwrap();
    (first - 1) * PAGE as u64
}

#[test]
fn damage_that_a_write_finds_is_reported_by_each_recovery() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    drop(journal);
    let file = OpenOptions::new().write(true).open(room.database()).unwrap();
    write_all_at(&file, &[0; PAGE], offset_of_an_index(&room)).unwrap();
    drop(file);

    let mut journal = room.open();
    assert_eq!(rows(&mut journal), everything(), "the tables are whole");
    // A write that does not touch the damaged page succeeds.
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
fn a_single_wrong_read_of_the_disk_is_recovered_from() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    drop(journal);
    let at = offset_of_an_index(&room);
    let sound = fs::read(room.database()).unwrap();
    let page = &sound[usize::try_from(at).unwrap()..][..PAGE];
    let file = OpenOptions::new().write(true).open(room.database()).unwrap();
    write_all_at(&file, &[0; PAGE], at).unwrap();
    let mut journal = room.open();
    assert!(journal.prune(time("2090-01-01T00:00:00Z")).is_err());
    write_all_at(&file, page, at).unwrap();
    assert_eq!(journal.recover(), Ok(BatchNumber(1)));
    journal.prune(time("2090-01-01T00:00:00Z")).unwrap();
}

#[test]
fn swapped_pages_are_found_by_the_order_of_their_rows() {
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
fn no_file_is_created_beside_a_log_or_at_an_unusable_path() {
    let room = Room::new();
    let refusal = |name: &str| match SqliteJournal::open(room.path(name), EPOCH) {
        Err(error @ OpenError::File { .. }) => error.report(),
        other => panic!("{:?}", other.err()),
    };
    // The data file was moved away after a crash, and the log holds the last changes.
    fs::write(room.path("moved.db-wal"), [0; 32]).unwrap();
    assert!(refusal("moved.db").ends_with(
        "moved.db cannot be opened: it does not exist, but its -wal does, which holds the last changes: bring the data file \
         back, or move the -wal away"
    ));
    assert!(room.path("moved.db-wal").exists() && !room.path("moved.db").exists());
    fs::write(room.path("moved.db"), []).unwrap();
    assert!(refusal("moved.db").contains("it is empty, but its -wal is not, which holds the last changes"));
    assert!(room.path("moved.db-wal").exists());
    if room.link(&room.path("nowhere"), "link.db").is_some() {
        assert!(refusal("link.db").contains("it is a symbolic link to a file that does not exist"));
    }
    fs::create_dir(room.path("folder.db")).unwrap();
    assert!(refusal("folder.db").ends_with("it is not a regular file: name another path"));
    for name in ["moved.db.lock", "link.db.lock", "folder.db.lock"] {
        assert!(!room.path(name).exists(), "{name}");
    }
}
