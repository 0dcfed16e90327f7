//! Triggers, views and tables that another program has added to a data file.

mod common;

use common::*;
use petstore_domain::*;
use petstore_sqlite::{OpenError, SqliteJournal, backup};
use rusqlite::Connection;

/// A trigger that deletes all orders and keys at the next batch.
const SWEEP: &str =
    "CREATE TRIGGER sweep AFTER UPDATE ON meta BEGIN DELETE FROM orders; DELETE FROM keys; END";

fn orders(path: &std::path::Path) -> u64 {
    Connection::open(path).unwrap().query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).unwrap()
}

#[test]
fn an_unexpected_object_is_refused_with_the_statement_that_removes_it() {
    let room = Room::new();
    fill(&mut room.open());
    let before = orders(&room.database());
    for (made, statement) in [
        (SWEEP, "DROP TRIGGER \"sweep\";"),
        ("CREATE VIEW cheap AS SELECT * FROM pets", "DROP VIEW \"cheap\";"),
        ("CREATE TABLE notes (text)", "DROP TABLE \"notes\";"),
    ] {
        room.tool().execute_batch(made).unwrap();
        let refused = SqliteJournal::open(room.database(), 1).err().unwrap();
        assert!(matches!(refused, OpenError::UnexpectedSchema { .. }), "{refused}");
        let said = refused.to_string();
        assert!(said.starts_with(&*room.database().to_string_lossy()) && said.ends_with(statement), "{said}");
        room.tool().execute_batch(statement).unwrap();
        drop(room.open());
    }
    room.tool().execute_batch("CREATE INDEX mine ON pets (name); ANALYZE").unwrap();
    drop(room.open());
    assert_eq!(orders(&room.database()), before);
}

#[test]
fn a_file_of_an_older_schema_is_compared_with_that_schema_before_it_is_migrated() {
    let room = Room::new();
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/schema-1.db");
    std::fs::copy(fixture, room.database()).unwrap();
    room.tool().execute_batch(SWEEP).unwrap();
    assert!(matches!(SqliteJournal::open(room.database(), 1), Err(OpenError::UnexpectedSchema { .. })));
    let version: u32 = room.tool().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 1);
}

#[test]
fn a_trigger_that_is_added_to_an_open_file_never_runs() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    let before = orders(&room.database());
    assert!(before > 0);
    room.tool().execute_batch(SWEEP).unwrap();
    keep(&mut journal, 2, [Change::PetDeleted(PetId::FIRST)]).unwrap();
    assert_eq!(orders(&room.database()), before);
    // The trigger does not run during a backup either, which removes the epoch of the copy.
    let copy = room.path("copy.db");
    backup(&room.database(), &copy).unwrap();
    assert_eq!(orders(&copy), before);
}
