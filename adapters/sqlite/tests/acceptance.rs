//! Older files: their migration is undone unless their content is accepted.

mod common;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::{NameCollisions, OpenOptions, SqliteJournal};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

#[test]
fn the_events_of_a_file_are_read_before_it_is_accepted() {
    let room = Room::new();
    std::fs::copy(fixtures().join("schema-6.db"), room.database()).unwrap();
    room.tool()
        .execute_batch(
            "UPDATE meta SET epoch = '0000000000000005', last_event = 2, event_bytes = 3;
             INSERT INTO event_batches (first, last, at, body) VALUES (1, 2, 0, x'010203')",
        )
        .unwrap();
    let before = std::fs::read(room.database()).unwrap();
    let options = OpenOptions { name_collisions: NameCollisions::Rename, ..OpenOptions::default() };
    let mut journal = SqliteJournal::open_with(room.database(), 1, options).unwrap().0;
    let last = load(&mut journal).unwrap().0.events.last;
    let mut bodies = Vec::new();
    let range = EventRange { after: Position::START, last, order: SortDirection::Ascending };
    let bounds = journal.read_events(&range, &mut |batch| {
        bodies.push(batch.body.to_vec());
        ControlFlow::Continue(())
    });
    assert_eq!((bounds.unwrap().last, bodies), (last, vec![vec![1, 2, 3]]));
    drop(journal);
    assert!(
        std::fs::read(room.database()).unwrap() == before,
        "a file whose events are refused is unchanged"
    );
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
