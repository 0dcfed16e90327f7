//! Files that are hurt in place while the journal has them open.

mod common;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::SqliteJournal;

/// Calls of the housekeeping in which a wound must be noticed: the thread that looks needs a moment.
const CALLS: usize = 200_000;

/// Batches between two acts of another program.
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
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x04], at).unwrap();
}

fn cut(path: &Path, length: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
}

/// Overwrites a file in place, as `cp` does.
fn put(path: &Path, bytes: &[u8]) {
    cut(path, 0);
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, 0).unwrap();
}

fn empty_log(room: &Room) {
    let done = room.tool().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    assert_eq!(done, Ok(false));
}

/// A journal in use, with some batches in its log.
fn in_use(room: &Room) -> SqliteJournal {
    let mut journal = room.open();
    fill(&mut journal);
    for number in 2..=9 {
        let change = Change::Category(category(number + 10, &format!("Cats {number}")));
        keep(&mut journal, number, [change]).unwrap();
    }
    assert_eq!(journal.prune(Timestamp::EPOCH), Ok(0));
    journal
}

/// Calls for looks until one has found the files sound.
fn is_looked_at(journal: &mut SqliteJournal) {
    let scrubs = journal.open_files().scrubs();
    while journal.open_files().scrubs() == scrubs {
        assert_eq!(journal.prune(Timestamp::EPOCH), Ok(0));
        std::thread::yield_now();
    }
}

/// Calls for looks until one finds something.
fn found(journal: &mut SqliteJournal) -> Option<StoreError> {
    (0..CALLS).find_map(|_| journal.prune(Timestamp::EPOCH).err())
}

fn is_noticed(what: &str, hurt: impl FnOnce(&Room)) {
    let room = Room::new();
    let mut journal = in_use(&room);
    hurt(&room);
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
        "all is left as it is"
    );
}

#[test]
fn a_byte_of_the_log_that_has_changed_is_noticed_wherever_it_is() {
    // In the header: the magic, and a salt.
    for at in [2, 18] {
        is_noticed(LOG_OVERWRITTEN, |room| flip(&log(room), at));
    }
    // In the first frame, in one in the midst, in the last.
    for (part, at) in [(0, 32 + 6), (0, 32 + 200), (4, 32 + 18), (4, 32 + 300), (8, 24 + 511)] {
        is_noticed(LOG_OVERWRITTEN, |room| {
            let frames = (length(&log(room)) - 32) / 536;
            flip(&log(room), frames.saturating_sub(1) * part / 8 * 536 + at + u64::from(part == 8) * 32);
        });
    }
}

#[test]
fn a_log_that_is_shorter_than_what_was_written_is_noticed() {
    is_noticed(LOG_CUT, |room| cut(&log(room), length(&log(room)) - 1));
    is_noticed(LOG_CUT, |room| cut(&log(room), length(&log(room)) / 2));
}

#[test]
fn an_older_copy_of_the_log_in_its_place_is_noticed() {
    // Of the same beginning: it ends too early.
    let room = Room::new();
    let mut journal = in_use(&room);
    let older = fs::read(log(&room)).unwrap();
    keep(&mut journal, 10, [Change::PetDeleted(PetId::FIRST)]).unwrap();
    put(&log(&room), &older);
    assert!(found(&mut journal).is_some_and(|found| found.to_string().contains(LOG_CUT)));

    // Of an earlier beginning, whole and long enough.
    let room = Room::new();
    let mut journal = in_use(&room);
    is_looked_at(&mut journal);
    let older = fs::read(log(&room)).unwrap();
    empty_log(&room);
    keep(&mut journal, 10, [Change::PetDeleted(PetId::FIRST)]).unwrap();
    is_looked_at(&mut journal);
    put(&log(&room), &older);
    assert!(found(&mut journal).is_some_and(|found| found.to_string().contains(LOG_OVERWRITTEN)));
}

#[test]
fn a_data_file_that_is_shorter_than_what_was_written_is_noticed() {
    // The log has some of its pages, but not those.
    is_noticed(DATA_CUT, |room| cut(&room.database(), 512 * 3));
    // The log is empty, and each page is in the data file alone.
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
fn what_the_journal_and_others_may_do_is_never_taken_for_damage() {
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
            assert_eq!(journal.prune(Timestamp::EPOCH), Ok(0), "round {round}");
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
        is_looked_at(&mut journal);
    }
}
