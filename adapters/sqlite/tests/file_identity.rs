//! Files that are removed, replaced or overwritten while the journal has them open.

mod common;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, iter, thread};

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::{SqliteJournal, backup};
use petstore_test_servers::system::is_unix;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// Number of reads while the journal is written. It is so high that a read coincides with every phase of a commit.
const READS: usize = 2_000;

/// A change to the files, and the expected error.
type Case = (fn(&Room) -> io::Result<()>, &'static str);

/// Changes that leave the data file intact.
const LOG_IS_LOST: [Case; 2] = [
    (|room| fs::remove_file(log(room)), "the data file's -wal has been removed"),
    (replace_log, "another file is in the place of the data file's -wal that was opened"),
];

const OVERWRITTEN: &str = "the data file has been overwritten";
const LOG_OVERWRITTEN: &str = "the data file's -wal has been overwritten";
const DATA_IS_LOST: [Case; 6] = [
    (|room| fs::remove_file(room.database()), "the data file has been removed"),
    (remove_all, "the data file has been removed"),
    (
        |room| fs::rename(copy(room), room.database()),
        "another file is in the place of the data file that was opened",
    ),
    (overwrite, OVERWRITTEN),
    (|room| fs::write(room.database(), []), OVERWRITTEN),
    (|room| fs::write(log(room), []), LOG_OVERWRITTEN),
];

/// Changes the files of a journal. Returns false on Windows for a change that it refuses: it neither removes nor replaces a file
/// that the journal has open, and the journal goes on.
#[must_use]
fn is_changed(room: &Room, journal: &mut SqliteJournal, (act, what): Case) -> bool {
    let done = act(room);
    let is_in_place = [OVERWRITTEN, LOG_OVERWRITTEN].contains(&what);
    assert_eq!(done.is_ok(), is_unix() || is_in_place, "{what}: {done:?}");
    if done.is_err() {
        assert_eq!(journal.check(), Ok(()), "{what}");
        keep(journal, 3, [Change::OrderDeleted(OrderId::FIRST)]).unwrap();
    }
    done.is_ok()
}

fn log(room: &Room) -> PathBuf {
    room.path("petstore.db-wal")
}

fn copy(room: &Room) -> PathBuf {
    room.path("backup.db")
}

fn overwrite(room: &Room) -> io::Result<()> {
    fs::copy(copy(room), room.database()).map(drop)
}

fn replace_log(room: &Room) -> io::Result<()> {
    fs::write(room.path("other"), "somebody else's").unwrap();
    fs::rename(room.path("other"), log(room))
}

fn remove_all(room: &Room) -> io::Result<()> {
    ["petstore.db", "petstore.db-wal", "petstore.db-shm"]
        .into_iter()
        .try_for_each(|name| fs::remove_file(room.path(name)))
}

/// Opens a journal whose log contains changes that the data file lacks. A backup of the journal is in the same folder.
fn in_use(room: &Room) -> SqliteJournal {
    let mut journal = room.open();
    fill(&mut journal);
    backup(&room.database(), &copy(room)).unwrap();
    keep(&mut journal, 2, [Change::PetDeleted(PetId::FIRST)]).unwrap();
    assert_eq!(journal.check(), Ok(()), "the files are intact");
    journal
}

/// Takes a lock with a tool and lets a write of the journal fail, so that the journal has the file closed.
fn locked(room: &Room, journal: &mut SqliteJournal) -> Connection {
    let tool = room.tool();
    tool.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(journal.prune(Timestamp::EPOCH).is_err());
    tool
}

fn remove_log(room: &Room) -> io::Result<()> {
    ["petstore.db-wal", "petstore.db-shm"].into_iter().try_for_each(|name| fs::remove_file(room.path(name)))
}

/// Returns the content of the files.
fn found(room: &Room) -> [Option<Vec<u8>>; 2] {
    [room.database(), log(room)].map(|path| fs::read(path).ok())
}

/// Checks the error after a change. A file that this test overwrites is empty for a moment, and the scrubber may find
/// that first.
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
fn a_changed_file_is_reported_until_the_journal_is_opened_again() {
    for case in LOG_IS_LOST.into_iter().chain(DATA_IS_LOST) {
        let room = Room::new();
        let mut journal = in_use(&room);
        if !is_changed(&room, &mut journal, case) {
            continue;
        }
        let what = case.1;
        let told = journal.check().unwrap_err();
        check_lost(&told, what);
        for _ in 0..2 {
            assert_eq!(journal.recover(), Err(told.clone()));
        }
        let kept = keep(&mut journal, 3, [Change::OrderDeleted(OrderId::FIRST)]);
        assert_eq!(kept, Err(told), "{what}");
    }
}

#[test]
fn a_file_that_has_replaced_another_is_left_unchanged() {
    for is_noticed in [false, true] {
        for case in DATA_IS_LOST {
            let room = Room::new();
            let mut journal = in_use(&room);
            if !is_changed(&room, &mut journal, case) {
                continue;
            }
            let what = case.1;
            let before = found(&room);
            if is_noticed {
                check_lost(&journal.check().unwrap_err(), what);
            }
            drop(journal);
            assert!(found(&room) == before, "{what}; noticed before: {is_noticed}");
        }
    }
}

#[test]
fn a_log_that_has_lost_its_path_is_copied_into_the_data_file_and_its_replacement_is_left_unchanged() {
    for is_noticed in [false, true] {
        for case in LOG_IS_LOST {
            let room = Room::new();
            let mut journal = in_use(&room);
            if !is_changed(&room, &mut journal, case) {
                continue;
            }
            let what = case.1;
            let [_, before] = found(&room);
            if is_noticed {
                check_lost(&journal.check().unwrap_err(), what);
            }
            drop(journal);
            assert_eq!(found(&room)[1], before, "{what}; noticed before: {is_noticed}");
            assert_eq!(room.open().recover(), Ok(BatchNumber(2)), "{what}; noticed before: {is_noticed}");
        }
    }
}

#[test]
fn a_failed_write_leaves_a_replaced_file_unchanged() {
    let room = Room::new();
    let mut journal = in_use(&room);
    overwrite(&room).unwrap();
    let before = found(&room);
    assert!(append(&mut journal, 77, &[], IDS).is_err());
    check_lost(&journal.recover().unwrap_err(), OVERWRITTEN);
    drop(journal);
    assert!(found(&room) == before);
}

#[test]
fn a_tool_that_empties_the_log_is_no_damage() {
    let room = Room::new();
    let mut journal = in_use(&room);
    let busy = room.tool().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    assert_eq!((busy, fs::metadata(log(&room)).unwrap().len()), (Ok(false), 0));
    assert_eq!(journal.check(), Ok(()));
    keep(&mut journal, 3, [Change::OrderDeleted(OrderId::FIRST)]).unwrap();
    assert_eq!(journal.recover(), Ok(BatchNumber(3)));
    assert_eq!(journal.check(), Ok(()), "the recovery has opened another log");
}

#[test]
fn a_read_beside_the_journal_refuses_changed_files_and_leaves_them_unchanged() {
    let refused =
        |read: Result<Header, StoreError>| read.is_err_and(|error| error.to_string().contains("restart"));
    for case in LOG_IS_LOST.into_iter().chain(DATA_IS_LOST) {
        let room = Room::new();
        let mut journal = in_use(&room);
        let open_files = journal.open_files();
        assert_eq!(open_files.read_snapshot(&mut |_| Ok(())).unwrap().last_batch, BatchNumber(2));
        if !is_changed(&room, &mut journal, case) {
            continue;
        }
        let what = case.1;
        let before = found(&room);
        // The content of the log is checked only by the writer.
        let is_seen = !what.ends_with("-wal has been overwritten");
        if is_seen {
            assert!(refused(open_files.read_snapshot(&mut |_| panic!("{what}"))), "{what}");
        }
        assert!(found(&room) == before, "{what}");
        check_lost(&journal.check().unwrap_err(), what);
        assert!(refused(open_files.read_snapshot(&mut |_| panic!("{what}"))), "{what}");
    }
}

#[test]
fn a_lock_of_another_program_does_not_prevent_reads() {
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
fn a_file_is_not_read_if_its_log_was_removed_while_the_journal_had_it_closed() {
    let room = Room::new();
    let mut journal = in_use(&room);
    let _tool = locked(&room, &mut journal);
    let open_files = journal.open_files();
    let removed = remove_log(&room);
    assert_eq!(removed.is_ok(), is_unix(), "Windows removes no file that the tool has open: {removed:?}");
    if removed.is_err() {
        return;
    }
    // The loss of the log is found only because a batch is missing.
    assert_eq!(open_files.check(), Ok(()));
    let lost = open_files.read_snapshot(&mut |row| panic!("{row:?}")).unwrap_err();
    assert_eq!(lost.report(), "the store is damaged: the data file: it has been cut short");
}

#[test]
fn a_file_that_lacks_an_acknowledged_batch_is_not_read() {
    let room = Room::new();
    let mut journal = in_use(&room);
    // The data file gets the batches so far, and the log will get the later ones.
    let busy = room.tool().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    assert_eq!(busy, Ok(false));
    keep(&mut journal, 3, [Change::OrderDeleted(OrderId::FIRST)]).unwrap();
    let open_files = journal.open_files();
    let tool = locked(&room, &mut journal);
    tool.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    drop(tool);
    remove_log(&room).unwrap();
    assert_eq!(open_files.check(), Ok(()));
    let behind = StoreError::corrupt("batch 3 was on disk, and the file ends at 2");
    assert_eq!(open_files.read_snapshot(&mut |row| panic!("{row:?}")), Err(behind.clone()));
    assert_eq!(journal.recover(), Err(behind.clone()));
    assert_eq!(open_files.check(), Err(behind));
}

#[test]
fn a_write_at_the_begin_of_a_read_is_not_a_lost_batch() {
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
