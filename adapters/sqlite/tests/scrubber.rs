//! Files that are changed in place while the journal has them open.

mod common;

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::SqliteJournal;
use petstore_test_servers::system::{read_exact_at, write_all_at};

/// Number of checks within which the scrubber, a separate thread, must find the damage.
const CALLS: usize = 200_000;

/// Number of batches between two actions of another program.
const BATCHES: usize = 40;

const LOG_OVERWRITTEN: &str = "the data file's -wal has been overwritten";
const LOG_CUT: &str = "the data file's -wal has been cut short";
const DATA_OVERWRITTEN: &str = "the data file has been overwritten";
const DATA_CUT: &str = "the data file has been cut short";

fn log(room: &Room) -> PathBuf {
    room.path("petstore.db-wal")
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

fn flip(path: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    read_exact_at(&file, &mut byte, at).unwrap();
    write_all_at(&file, &[byte[0] ^ 0x04], at).unwrap();
}

fn cut(path: &Path, length: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
}

/// Replaces the content of a file in place.
///
/// The length changes last: a scrub that runs in between must not find an empty file, which is another kind of damage.
fn put(path: &Path, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    write_all_at(&file, bytes, 0).unwrap();
    cut(path, bytes.len() as u64);
}

fn empty_log(room: &Room) {
    let done = room.tool().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    assert_eq!(done, Ok(false));
}

/// Opens a journal with some batches in its log.
fn in_use(room: &Room) -> SqliteJournal {
    let mut journal = room.open();
    fill(&mut journal);
    for number in 2..=9 {
        let change = Change::Category(category(number + 10, &format!("Cats {number}")));
        keep(&mut journal, number, [change]).unwrap();
    }
    assert_eq!(journal.check(), Ok(()));
    journal
}

/// Requests scrubs until one has found no damage.
fn scrub(journal: &mut SqliteJournal) {
    let scrubs = journal.open_files().scrubs();
    while journal.open_files().scrubs() == scrubs {
        assert_eq!(journal.check(), Ok(()));
        std::thread::yield_now();
    }
}

/// Requests scrubs until one finds damage.
fn found(journal: &mut SqliteJournal) -> Option<StoreError> {
    (0..CALLS).find_map(|_| journal.check().err())
}

fn is_noticed(what: &str, change: impl FnOnce(&Room)) {
    let room = Room::new();
    let mut journal = in_use(&room);
    change(&room);
    let told = format!("{what} while it was in use: nothing more is written until a restart");
    let told = StoreError::unavailable(told);
    assert_eq!(found(&mut journal), Some(told.clone()));
    assert_eq!(keep(&mut journal, 10, [Change::PetDeleted(PetId::FIRST)]), Err(told.clone()));
    assert_eq!(journal.recover(), Err(told.clone()));
    let open_files = journal.open_files();
    assert_eq!(open_files.read_snapshot(&mut |row| panic!("{row:?}")), Err(told.clone()));
    let files = [room.database(), log(&room)].map(|path| fs::read(path).unwrap());
    drop(journal);
    assert!(
        [room.database(), log(&room)].map(|path| fs::read(path).unwrap()) == files,
        "the files are left unchanged"
    );
}

#[test]
fn a_changed_byte_of_the_log_is_noticed_at_any_offset() {
    // The magic number and the salt in the header are changed.
    for at in [2, 18] {
        is_noticed(LOG_OVERWRITTEN, |room| flip(&log(room), at));
    }
    // The first frame, a frame in the middle, and the last frame are changed.
    for (part, at) in [(0, 32 + 6), (0, 32 + 200), (4, 32 + 18), (4, 32 + 300), (8, 24 + 511)] {
        is_noticed(LOG_OVERWRITTEN, |room| {
            let frames = (length(&log(room)) - 32) / 536;
            flip(&log(room), frames.saturating_sub(1) * part / 8 * 536 + at + u64::from(part == 8) * 32);
        });
    }
}

#[test]
fn a_truncated_log_is_noticed() {
    is_noticed(LOG_CUT, |room| cut(&log(room), length(&log(room)) - 1));
    is_noticed(LOG_CUT, |room| cut(&log(room), length(&log(room)) / 2));
}

#[test]
fn an_older_copy_of_the_log_is_noticed() {
    // The log is replaced by one of the same generation, which ends too early.
    let room = Room::new();
    let mut journal = in_use(&room);
    let older = fs::read(log(&room)).unwrap();
    keep(&mut journal, 10, [Change::PetDeleted(PetId::FIRST)]).unwrap();
    put(&log(&room), &older);
    assert!(found(&mut journal).is_some_and(|found| found.to_string().contains(LOG_CUT)));

    // The log is replaced by one of an earlier generation, which is complete and long enough.
    let room = Room::new();
    let mut journal = in_use(&room);
    scrub(&mut journal);
    let older = fs::read(log(&room)).unwrap();
    empty_log(&room);
    keep(&mut journal, 10, [Change::PetDeleted(PetId::FIRST)]).unwrap();
    scrub(&mut journal);
    put(&log(&room), &older);
    assert!(found(&mut journal).is_some_and(|found| found.to_string().contains(LOG_OVERWRITTEN)));
}

#[test]
fn a_truncated_data_file_is_noticed() {
    // The log contains some pages, but not those that the data file now lacks.
    is_noticed(DATA_CUT, |room| cut(&room.database(), 512 * 3));
    // The log is empty, so all pages are in the data file only.
    is_noticed(DATA_CUT, |room| {
        empty_log(room);
        cut(&room.database(), length(&room.database()) - 1);
    });
}

#[test]
fn a_data_file_with_another_header_is_noticed() {
    for at in [3, 17, 18, 20, 22, 44, 52, 56, 60, 64, 70, 80] {
        is_noticed(DATA_OVERWRITTEN, |room| flip(&room.database(), at));
    }
}

#[test]
fn legitimate_writes_of_the_journal_and_of_tools_are_not_damage() {
    let room = Room::new();
    let mut journal = in_use(&room);
    let tool = room.tool();
    tool.execute_batch("PRAGMA cache_size = 10; PRAGMA cache_spill = 10").unwrap();
    let mut number = 9;
    for round in 0..60 {
        for _ in 0..BATCHES {
            number += 1;
            let rows: Vec<_> = (0..number % 40).map(|one| Row::Pet(pet(1_000 + one * number, 2))).collect();
            append(&mut journal, number, &changes(&rows), LastIds { pet: 1_000_000, ..IDS }).unwrap();
            assert_eq!(journal.check(), Ok(()), "round {round}");
        }
        let act = [
            "PRAGMA wal_checkpoint(PASSIVE)",
            "PRAGMA wal_checkpoint(RESTART)",
            "PRAGMA wal_checkpoint(TRUNCATE)",
            "BEGIN; UPDATE pets SET version = version + 1; ROLLBACK",
            "VACUUM",
            "DELETE FROM orders",
        ][round % 6];
        tool.execute_batch(act).unwrap();
        scrub(&mut journal);
    }
}
