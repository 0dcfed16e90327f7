//! Logs that a crash has left. A torn end is dropped, and a log with damage before the last transaction is refused.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::{
    DamagedLog, LogPosition, OpenError, OpenOptions, SqliteJournal, backup, read_snapshot,
};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// The sizes of the log header and of a frame, in bytes.
const HEADER: usize = 32;
const FRAME: usize = 24 + 512;

/// Number of bytes that a disk writes as a whole.
const SECTOR: usize = 512;

/// Opens a file. If its log is damaged, the changes after the damage are dropped.
fn open_dropping(path: impl AsRef<Path>) -> Result<SqliteJournal, OpenError> {
    let options = OpenOptions { damaged_log: DamagedLog::Drop, ..OpenOptions::default() };
    SqliteJournal::open_with(path, EPOCH, options).map(|(journal, _)| journal)
}

/// The content of the files of a database at one moment.
#[derive(Clone, PartialEq)]
struct Files {
    data: Vec<u8>,
    log: Vec<u8>,
}

impl Files {
    fn of(room: &Room) -> Self {
        Self {
            data: fs::read(room.database()).unwrap(),
            log: fs::read(room.path("petstore.db-wal")).unwrap(),
        }
    }

    /// Writes the files to a path that no process has open.
    fn put(&self, room: &Room) -> PathBuf {
        let path = room.path("crash.db");
        for end in ["", "-wal", "-shm", ".lock"] {
            let _ = fs::remove_file(room.path(&format!("crash.db{end}")));
        }
        fs::write(&path, &self.data).unwrap();
        fs::write(room.path("crash.db-wal"), &self.log).unwrap();
        path
    }

    fn damaged(&self, byte: usize) -> Self {
        let mut damaged = self.clone();
        damaged.log[byte] ^= 0x10;
        damaged
    }
}

fn last(journal: &mut SqliteJournal) -> u64 {
    journal.load(&mut |_| Ok(())).unwrap().last_batch.0
}

/// Opens a journal and writes this many batches. Returns the end of each batch in the log.
fn in_use(room: &Room, batches: u64) -> (SqliteJournal, Vec<usize>) {
    let mut journal = room.open();
    let mut ends = vec![];
    for number in 1..=batches {
        let category = category(number, &format!("Cats {number}"));
        keep(&mut journal, number, [Change::Category(category)]).unwrap();
        ends.push(Files::of(room).log.len());
    }
    (journal, ends)
}

#[test]
fn open_snapshot_and_backup_refuse_a_log_that_is_damaged_before_its_last_transaction_and_leave_it_unchanged()
{
    let room = Room::new();
    let (_journal, ends) = in_use(&room, 6);
    let sound = Files::of(&room);
    let place = |byte: usize| {
        if byte < HEADER {
            LogPosition::Header
        } else {
            LogPosition::Frame(((byte - HEADER) / FRAME + 1) as u64)
        }
    };
    for byte in (0..ends[3]).step_by(101).chain(20..28) {
        let damaged = sound.damaged(byte);
        let path = damaged.put(&room);
        match SqliteJournal::open(&path, EPOCH) {
            Err(OpenError::LogDamaged { position: found, .. }) => {
                assert_eq!(found, place(byte), "byte {byte}");
            }
            other => panic!("byte {byte}: {:?}", other.err()),
        }
        let read = read_snapshot(&path, &mut |_| Ok(()));
        assert!(
            matches!(&read, Err(error) if error.kind() == StoreErrorKind::Corrupt),
            "byte {byte}: {read:?}"
        );
        let copied = backup(&path, &room.path("copy.db")).unwrap_err().to_string();
        assert!(copied.contains("crash.db-wal is damaged in its "), "byte {byte}: {copied}");
        let now = Files { data: fs::read(&path).unwrap(), log: fs::read(room.path("crash.db-wal")).unwrap() };
        assert!(now == damaged, "byte {byte}");
    }
}

#[test]
fn changes_behind_damage_are_dropped_on_demand_and_do_not_reappear() {
    let room = Room::new();
    let (_journal, ends) = in_use(&room, 6);
    let sound = Files::of(&room);
    for (batch, end) in (1..5).zip(&ends) {
        let path = sound.damaged(end + 100).put(&room);
        let mut opened = open_dropping(&path).unwrap();
        let frame = (end - HEADER) / FRAME + 1;
        assert_eq!((opened.dropped(), last(&mut opened)), (Some(LogPosition::Frame(frame as u64)), batch));
        let next = category(7, "Since");
        let changes = [Changes::from([Change::Category(next)])];
        append(&mut opened, batch + 1, &changes, IDS).unwrap();
        drop(opened);
        let mut again = SqliteJournal::open(&path, EPOCH).unwrap();
        assert_eq!((again.dropped(), last(&mut again)), (None, batch + 1));
    }
    let mut whole = open_dropping(sound.put(&room)).unwrap();
    assert_eq!((whole.dropped(), last(&mut whole)), (None, 6));
}

#[test]
fn changes_are_not_dropped_while_another_program_has_the_file_open() {
    let room = Room::new();
    let (_journal, ends) = in_use(&room, 3);
    let path = Files::of(&room).damaged(ends[0] + 100).put(&room);
    let tool = Connection::open(&path).unwrap();
    tool.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    let _count: u64 = tool.query_row("SELECT count(*) FROM categories", [], |row| row.get(0)).unwrap();
    let open = || open_dropping(&path);
    assert!(matches!(open(), Err(OpenError::Engine { .. })), "{:?}", open().err());
    drop(tool);
    assert_eq!(last(&mut open().unwrap()), 1);
}

#[test]
fn an_incomplete_last_transaction_is_cut() {
    let room = Room::new();
    let (_journal, ends) = in_use(&room, 3);
    let sound = Files::of(&room);
    for byte in [ends[1] + 30, ends[2] - 1] {
        assert_eq!(last(&mut SqliteJournal::open(sound.damaged(byte).put(&room), EPOCH).unwrap()), 2);
    }
    let mut shorter = sound.clone();
    shorter.log.truncate(ends[2] - 1);
    assert_eq!(last(&mut SqliteJournal::open(shorter.put(&room), EPOCH).unwrap()), 2);
}

/// The attribute of a data file that marks its last batch on disk.
const MARK: &str = "user.petstore.last_batch";

/// Sets the mark, as a killed server leaves it. Returns false on a file system without attributes, and on Windows.
fn leave_mark(path: &Path, mark: &str) -> bool {
    petstore_platform::mark(&fs::File::open(path).unwrap(), MARK, mark.as_bytes());
    self::mark(path).is_some()
}

fn mark(path: &Path) -> Option<String> {
    let mut value = [0_u8; 64];
    petstore_platform::mark_at(path, MARK, &mut value).map(|mark| String::from_utf8_lossy(mark).into_owned())
}

#[test]
fn the_mark_of_a_killed_server_is_removed_when_a_restored_backup_is_accepted() {
    for left in ["500".to_owned(), format!("{EPOCH:016x}:500")] {
        let room = Room::new();
        let path = room.database();
        let (journal, _) = in_use(&room, 3);
        backup(&path, &room.path("copy.db")).unwrap();
        drop(journal);
        fs::write(&path, fs::read(room.path("copy.db")).unwrap()).unwrap();
        if !leave_mark(&path, &left) {
            return;
        }
        let mut journal = SqliteJournal::open(&path, 7).unwrap();
        assert_eq!(mark(&path), Some(left), "the file is not accepted yet");
        journal.accept().unwrap();
        assert_eq!(mark(&path), None, "a server that is killed now can be started again");
        keep(&mut journal, 4, [Change::Category(category(9, "Dogs"))]).unwrap();
        assert_eq!(mark(&path).as_deref(), Some("0000000000000007:4"));
        drop(journal);
        assert_eq!(mark(&path), None);
    }
}

#[test]
fn a_file_is_not_judged_by_the_mark_of_another_epoch() {
    let room = Room::new();
    let path = room.database();
    drop(in_use(&room, 3));
    if !leave_mark(&path, "0000000000000001:500") {
        return;
    }
    let mut journal = SqliteJournal::open(&path, EPOCH).unwrap();
    assert_eq!((last(&mut journal), mark(&path)), (3, None));
    drop(journal);
    for left in ["500".to_owned(), format!("{EPOCH:016x}:500"), format!("{EPOCH:016x}:4")] {
        assert!(leave_mark(&path, &left));
        let refused = SqliteJournal::open(&path, EPOCH).err();
        assert!(matches!(refused, Some(OpenError::LogIncomplete { .. })), "{left}: {refused:?}");
    }
    assert!(leave_mark(&path, &format!("{EPOCH:016x}:3")));
    assert_eq!(last(&mut SqliteJournal::open(&path, EPOCH).unwrap()), 3);
}

/// Returns the log after a power cut, which leaves any subset of the unsynced sectors.
fn torn(before: &[u8], after: &[u8], random: &mut u64) -> Vec<u8> {
    let mut torn = before.to_vec();
    // The header of a restarted log is synced before the first frame.
    if before.get(..HEADER) != Some(&after[..HEADER]) {
        let header = torn.len().max(HEADER);
        torn.resize(header, 0);
        torn[..HEADER].copy_from_slice(&after[..HEADER]);
    }
    for begins in (0..after.len()).step_by(SECTOR) {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if *random >> 63 == 1 {
            let sector = begins..(begins + SECTOR).min(after.len());
            torn.resize(torn.len().max(sector.end), 0);
            torn[sector.clone()].copy_from_slice(&after[sector]);
        }
    }
    torn
}

#[test]
fn a_power_cut_is_not_damage_in_any_order_of_the_sectors() {
    let room = Room::new();
    let mut journal = room.open();
    let tool = room.tool();
    tool.execute_batch("PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 10; PRAGMA cache_spill = 10")
        .unwrap();
    let mut random = 7;
    for number in 1..=40 {
        let many = 1 + number * 7 % 30;
        let rows = (0..many)
            .map(|one| Row::Category(category(number * 100 + one, &format!("{number} {one}").repeat(9))));
        let changes = changes(&rows.collect::<Vec<_>>());
        match number % 9 {
            // The whole log is copied into the database, so the next batch restarts the log.
            4 => tool.query_row("PRAGMA wal_checkpoint(FULL)", [], |_| Ok(())).unwrap(),
            // An abandoned transaction leaves frames after the end of the log.
            2 | 6 => tool
                .execute_batch("BEGIN; UPDATE categories SET description = printf('%500c', 'x'); ROLLBACK")
                .unwrap(),
            _ => {}
        }
        let before = Files::of(&room);
        append(&mut journal, number, &changes, IDS).unwrap();
        let after = Files::of(&room);
        for _ in 0..8 {
            let cut = Files { log: torn(&before.log, &after.log, &mut random), data: before.data.clone() };
            let mut opened = SqliteJournal::open(cut.put(&room), EPOCH).unwrap();
            let found = last(&mut opened);
            assert!([number - 1, number].contains(&found), "{found} during batch {number}");
        }
    }
}

#[test]
fn a_file_that_was_used_without_a_checkpoint_and_lost_its_log_is_refused() {
    let room = Room::new();
    let (journal, _) = in_use(&room, 1);
    let files = Files::of(&room);
    let path = files.put(&room);
    fs::remove_file(room.path("crash.db-wal")).unwrap();
    let refused = SqliteJournal::open(&path, EPOCH).err().unwrap();
    assert!(matches!(refused, OpenError::LogMissing { .. }));
    let said = refused.to_string();
    assert!(
        said.contains(
            "crash.db-wal, which holds all changes since the file was created, is missing: bring that back"
        ),
        "{said}"
    );
    let read = read_snapshot(&path, &mut |_| Ok(())).unwrap_err().to_string();
    let copied = backup(&path, &room.path("copy.db")).unwrap_err().to_string();
    for refused in [read, copied] {
        assert!(
            refused.contains("which holds all changes since the file was created, is missing"),
            "{refused}"
        );
    }
    fs::write(room.path("crash.db-wal"), &files.log).unwrap();
    assert_eq!(last(&mut SqliteJournal::open(&path, EPOCH).unwrap()), 1, "after the log is back");
    drop(journal);
    fs::remove_file(room.database()).unwrap();
    drop(room.open());
    assert!(!room.path("petstore.db-wal").exists());
    let header = room.open().load(&mut |_| Ok(())).unwrap();
    assert_eq!(
        (header.last_batch.0, header.epoch),
        (0, EPOCH),
        "a store that was closed in order is a new store"
    );
}

/// Opens the database of a room, writes one batch, and ends the use normally.
fn use_once(room: &Room, number: u64) {
    let mut journal = room.open();
    keep(&mut journal, number, [Change::Category(category(number, &format!("Cats {number}")))]).unwrap();
}

#[test]
fn a_log_is_refused_beside_an_older_copy_of_its_file_or_beside_another_file() {
    let room = Room::new();
    use_once(&room, 1);
    let old = fs::read(room.database()).unwrap();
    use_once(&room, 2);
    let mut journal = room.open();
    keep(&mut journal, 3, [Change::Category(category(3, "Cats 3"))]).unwrap();
    let files = Files::of(&room);
    // The row of the second batch would be missing, and nothing else.
    let stale = Files { data: old.clone(), log: files.log.clone() }.put(&room);
    let log = room.path("crash.db-wal");
    let refused = |error: &OpenError| matches!(error, OpenError::LogOfOther { path, log: of } if *path == stale && *of == log);
    assert!(SqliteJournal::open(&stale, EPOCH).is_err_and(|error| refused(&error)));
    let read = read_snapshot(&stale, &mut |_| Ok(())).unwrap_err().to_string();
    assert!(read.contains("the -wal does not continue the data file"), "{read}");
    assert_eq!((fs::read(&stale).unwrap(), fs::read(&log).unwrap()), (old, files.log.clone()));
    assert_eq!(last(&mut SqliteJournal::open(files.put(&room), EPOCH).unwrap()), 3);

    let other = Room::new();
    let (of_other, _) = in_use(&other, 1);
    // Its tables are in its log alone.
    let first = Files::of(&other);
    assert_eq!(last(&mut SqliteJournal::open(first.put(&room), EPOCH).unwrap()), 1);
    drop(of_other);
    for data in [fs::read(other.database()).unwrap(), first.data] {
        let mixed = Files { data, log: files.log.clone() }.put(&room);
        let error = SqliteJournal::open(mixed, EPOCH).map(drop).unwrap_err();
        assert!(refused(&error), "{error:?}");
    }
}

#[test]
fn the_log_of_another_file_with_the_same_numbers_is_refused_by_the_mark() {
    let rooms = [Room::new(), Room::new()];
    let [own, other] = [EPOCH, EPOCH + 1].map(|epoch| {
        let room = &rooms[usize::from(epoch != EPOCH)];
        for number in [1, 2] {
            let mut journal = SqliteJournal::open(room.database(), epoch).unwrap();
            keep(&mut journal, number, [Change::Category(category(number, &format!("Cats {number}")))])
                .unwrap();
            if number == 2 {
                return Files::of(room);
            }
        }
        unreachable!("the second use returns")
    });
    let mixed = Files { data: own.data, log: other.log }.put(&rooms[0]);
    if leave_mark(&mixed, &format!("{EPOCH:016x}:2")) {
        let error = SqliteJournal::open(&mixed, EPOCH).map(drop).unwrap_err();
        assert!(matches!(error, OpenError::LogOfOther { .. }), "{error:?}");
    }
}

#[test]
fn an_emptied_data_file_is_not_taken_for_a_new_one() {
    let room = Room::new();
    use_once(&room, 1);
    let database = room.database();
    if !leave_mark(&database, &format!("{EPOCH:016x}:1")) {
        return;
    }
    // The attributes of the file stay.
    fs::write(&database, "").unwrap();
    let refused = SqliteJournal::open(&database, EPOCH).map(drop).unwrap_err().report();
    assert!(refused.contains("an attribute of it says that it had changes"), "{refused}");
}
