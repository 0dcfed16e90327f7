//! Files that are removed, replaced or overwritten under the journal.

mod common;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, iter, thread};

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::{SqliteJournal, backup};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// Reads beside a writer: one of some hundreds meets the end of a batch at any moment of it.
const READS: usize = 2_000;

/// What somebody does to the files, and what is said then.
type Case = (fn(&Room), &'static str);

/// After these the data file itself is what it was.
const LOG_IS_LOST: [Case; 2] = [
    (|room| fs::remove_file(log(room)).unwrap(), "the data file's -wal has been removed"),
    (replace_log, "another file is in the place of the data file's -wal that was opened"),
];

const OVERWRITTEN: &str = "the data file has been overwritten";
const LOG_OVERWRITTEN: &str = "the data file's -wal has been overwritten";
const DATA_IS_LOST: [Case; 6] = [
    (|room| fs::remove_file(room.database()).unwrap(), "the data file has been removed"),
    (remove_all, "the data file has been removed"),
    (
        |room| fs::rename(copy(room), room.database()).unwrap(),
        "another file is in the place of the data file that was opened",
    ),
    (overwrite, OVERWRITTEN),
    (|room| fs::write(room.database(), []).unwrap(), OVERWRITTEN),
    (|room| fs::write(log(room), []).unwrap(), LOG_OVERWRITTEN),
];

fn log(room: &Room) -> PathBuf {
    room.path("petstore.db-wal")
}

fn copy(room: &Room) -> PathBuf {
    room.path("backup.db")
}

fn overwrite(room: &Room) {
    fs::copy(copy(room), room.database()).unwrap();
}

fn replace_log(room: &Room) {
    fs::write(room.path("other"), "somebody else's").unwrap();
    fs::rename(room.path("other"), log(room)).unwrap();
}

fn remove_all(room: &Room) {
    for name in ["petstore.db", "petstore.db-wal", "petstore.db-shm"] {
        fs::remove_file(room.path(name)).unwrap();
    }
}

/// A journal in use, the log of which has what the file has not, and a backup beside it.
fn in_use(room: &Room) -> SqliteJournal {
    let mut journal = room.open();
    fill(&mut journal);
    backup(&room.database(), &copy(room)).unwrap();
    keep(&mut journal, 2, [Change::PetDeleted(PetId::FIRST)]).unwrap();
    assert_eq!(journal.prune(Timestamp::EPOCH), Ok(0), "all is well");
    journal
}

/// A tool's lock, under which a write of the journal has failed: it has the file closed.
fn locked(room: &Room, journal: &mut SqliteJournal) -> Connection {
    let tool = room.tool();
    tool.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(journal.prune(Timestamp::EPOCH).is_err());
    tool
}

fn take_log_away(room: &Room) {
    for name in ["petstore.db-wal", "petstore.db-shm"] {
        fs::remove_file(room.path(name)).unwrap();
    }
}

/// The files as they are found.
fn found(room: &Room) -> [Option<Vec<u8>>; 2] {
    [room.database(), log(room)].map(|path| fs::read(path).ok())
}

/// Checks the error of a file that was lost. A file that is overwritten here is empty, at least for a moment: the thread that
/// reads it again may see that first.
#[track_caller]
fn check_lost(told: &StoreError, what: &str) {
    let lost = |what: &str| {
        StoreError::unavailable(format!(
            "{what} while it was in use: nothing more is written until a restart"
        ))
    };
    let is_cut = match what {
        OVERWRITTEN => *told == lost("the data file has been cut short"),
        LOG_OVERWRITTEN => *told == lost("the data file's -wal has been cut short"),
        _ => false,
    };
    assert!(*told == lost(what) || is_cut, "{told}, after {what}");
}

#[test]
fn files_that_are_not_those_that_were_opened_are_told_until_they_are_opened_anew() {
    for (act, what) in LOG_IS_LOST.into_iter().chain(DATA_IS_LOST) {
        let room = Room::new();
        let mut journal = in_use(&room);
        act(&room);
        let told = journal.prune(Timestamp::EPOCH).unwrap_err();
        check_lost(&told, what);
        for _ in 0..2 {
            assert_eq!(journal.recover(), Err(told.clone()));
        }
        assert!(keep(&mut journal, 3, [Change::OrderDeleted(OrderId::FIRST)]).is_err(), "{what}");
    }
}

#[test]
fn what_somebody_has_put_in_the_place_of_the_files_is_left_as_it_is() {
    for is_noticed in [false, true] {
        for (act, what) in DATA_IS_LOST {
            let room = Room::new();
            let mut journal = in_use(&room);
            act(&room);
            let before = found(&room);
            assert!(!is_noticed || journal.prune(Timestamp::EPOCH).is_err());
            drop(journal);
            assert!(found(&room) == before, "{what}; noticed before: {is_noticed}");
        }
    }
}

#[test]
fn a_log_that_has_lost_its_name_is_copied_into_the_file_and_the_other_one_is_left() {
    for is_noticed in [false, true] {
        for (act, what) in LOG_IS_LOST {
            let room = Room::new();
            let mut journal = in_use(&room);
            act(&room);
            let [_, before] = found(&room);
            assert!(!is_noticed || journal.prune(Timestamp::EPOCH).is_err());
            drop(journal);
            assert_eq!(found(&room)[1], before, "{what}; noticed before: {is_noticed}");
            assert_eq!(room.open().recover(), Ok(BatchNumber(2)), "{what}; noticed before: {is_noticed}");
        }
    }
}

#[test]
fn a_write_that_fails_leaves_what_somebody_has_put_there_as_it_is() {
    let room = Room::new();
    let mut journal = in_use(&room);
    overwrite(&room);
    let before = found(&room);
    assert!(append(&mut journal, 77, &[], IDS).is_err());
    check_lost(&journal.recover().unwrap_err(), OVERWRITTEN);
    drop(journal);
    assert!(found(&room) == before);
}

#[test]
fn a_tool_that_empties_the_log_overwrites_nothing() {
    let room = Room::new();
    let mut journal = in_use(&room);
    let busy = room.tool().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    assert_eq!((busy, fs::metadata(log(&room)).unwrap().len()), (Ok(false), 0));
    assert_eq!(journal.prune(Timestamp::EPOCH), Ok(0));
    keep(&mut journal, 3, [Change::OrderDeleted(OrderId::FIRST)]).unwrap();
    assert_eq!(journal.recover(), Ok(BatchNumber(3)));
    assert_eq!(journal.prune(Timestamp::EPOCH), Ok(0), "its log is another one from then on");
}

#[test]
fn who_reads_beside_the_journal_is_refused_files_that_are_others_and_leaves_them_as_they_are() {
    let refused =
        |read: Result<Header, StoreError>| read.is_err_and(|error| error.to_string().contains("restart"));
    for (act, what) in LOG_IS_LOST.into_iter().chain(DATA_IS_LOST) {
        let room = Room::new();
        let mut journal = in_use(&room);
        let open_files = journal.open_files();
        assert_eq!(open_files.read_snapshot(&mut |_| Ok(())).unwrap().last_batch, BatchNumber(2));
        act(&room);
        let before = found(&room);
        // What is in a log that was overwritten is looked at by the writer alone.
        let is_seen = !what.ends_with("-wal has been overwritten");
        if is_seen {
            assert!(refused(open_files.read_snapshot(&mut |_| panic!("{what}"))), "{what}");
        }
        assert!(found(&room) == before, "{what}");
        assert!(journal.prune(Timestamp::EPOCH).is_err());
        assert!(refused(open_files.read_snapshot(&mut |_| panic!("{what}"))), "{what}");
    }
}

#[test]
fn a_lock_that_somebody_has_keeps_nobody_from_reading() {
    let room = Room::new();
    let mut journal = in_use(&room);
    let tool = locked(&room, &mut journal);
    let open_files = journal.open_files();
    assert_eq!(open_files.check(), Ok(()));
    assert_eq!(open_files.read_snapshot(&mut |_| Ok(())).unwrap().last_batch, BatchNumber(2));
    drop(tool);
    assert_eq!(journal.recover(), Ok(BatchNumber(2)));
}

#[test]
fn a_file_whose_log_was_taken_away_while_the_journal_had_it_closed_is_not_read() {
    let room = Room::new();
    let mut journal = in_use(&room);
    let _tool = locked(&room, &mut journal);
    let open_files = journal.open_files();
    take_log_away(&room);
    // Nothing says that it was there, but that what is known to be on disk is missing.
    assert_eq!(open_files.check(), Ok(()));
    assert!(open_files.read_snapshot(&mut |row| panic!("{row:?}")).is_err());
}

#[test]
fn a_file_that_is_whole_and_older_than_what_was_acknowledged_is_not_read() {
    let room = Room::new();
    let mut journal = in_use(&room);
    // The file has all until then, the log what comes after it.
    let busy = room.tool().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    assert_eq!(busy, Ok(false));
    keep(&mut journal, 3, [Change::OrderDeleted(OrderId::FIRST)]).unwrap();
    let open_files = journal.open_files();
    let tool = locked(&room, &mut journal);
    tool.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    drop(tool);
    take_log_away(&room);
    assert_eq!(open_files.check(), Ok(()));
    let behind = StoreError::corrupt("batch 3 was on disk, and the file ends at 2");
    assert_eq!(open_files.read_snapshot(&mut |row| panic!("{row:?}")), Err(behind.clone()));
    assert_eq!(journal.recover(), Err(behind.clone()));
    assert_eq!(open_files.check(), Err(behind));
}

#[test]
fn what_is_written_while_somebody_begins_to_read_is_no_loss() {
    let room = Room::new();
    let mut journal = in_use(&room);
    let open_files = journal.open_files();
    let is_read = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 3.. {
                append(&mut journal, number, &[], IDS).unwrap();
                if is_read.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let read = || open_files.read_snapshot(&mut |_| Ok(()));
        let failed = iter::repeat_with(read).take(READS).find_map(Result::err);
        is_read.store(true, Ordering::Relaxed);
        assert_eq!(failed, None);
    });
}
