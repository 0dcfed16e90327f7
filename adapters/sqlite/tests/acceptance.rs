//! Older files: their migration is undone unless their content is accepted.

mod common;

use std::path::{Path, PathBuf};

use common::*;
use petstore_ports::*;
use petstore_sqlite::{NameCollisions, OpenOptions, SqliteJournal};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

#[test]
fn a_file_that_is_not_accepted_stays_as_it_was() {
    let version =
        |room: &Room| room.tool().query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0)).unwrap();
    let newest = {
        let room = Room::new();
        drop(room.open());
        version(&room)
    };
    for name in ["schema-1.db", "schema-6.db", "schema-7.db", "old-accounts.db"] {
        let room = Room::new();
        std::fs::copy(fixtures().join(name), room.database()).unwrap();
        let before = std::fs::read(room.database()).unwrap();
        let options = OpenOptions { name_collisions: NameCollisions::Rename, ..OpenOptions::default() };
        let open = || SqliteJournal::open_with(room.database(), 1, options).unwrap().0;
        let mut journal = open();
        let found = load(&mut journal).unwrap();
        drop(journal);
        assert!(std::fs::read(room.database()).unwrap() == before, "{name}");
        for companion in ["petstore.db-wal", "petstore.db-journal"] {
            assert!(!room.path(companion).exists(), "{name}: {companion}");
        }
        // The first write accepts the file, too.
        for write in [false, true] {
            std::fs::write(room.database(), &before).unwrap();
            let mut journal = open();
            load(&mut journal).unwrap();
            if write {
                journal.prune(time("2000-01-01T00:00:00Z")).unwrap();
            } else {
                journal.accept().unwrap();
            }
            drop(journal);
            assert_eq!(version(&room), newest, "{name}");
            assert_eq!(load(&mut open()).unwrap(), found, "{name}");
        }
    }
}
