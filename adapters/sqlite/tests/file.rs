//! The file: its locks, its permissions and its content.

mod common;

use std::path::{Path, PathBuf};

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::{BackupError, Copied, OpenError, SqliteJournal, backup, read_snapshot};
use petstore_test_servers::system::has_mode;

fn snapshot(path: &Path) -> Result<(Header, Vec<Row>), StoreError> {
    let mut rows = Vec::new();
    let header = read_snapshot(path, &mut |row| {
        rows.push(row);
        Ok(())
    })?;
    Ok((header, rows))
}

#[test]
fn a_second_journal_on_a_file_is_refused_and_names_the_lock_and_its_holder() {
    let room = Room::new();
    let journal = room.open();
    let refused = SqliteJournal::open(room.database(), 1).err().unwrap().to_string();
    let lock = room.path("petstore.db.lock");
    assert!(refused.contains(&*room.database().to_string_lossy()), "{refused}");
    assert!(refused.contains(&*lock.to_string_lossy()), "{refused}");
    assert!(refused.contains(&format!("process {} holds", std::process::id())), "{refused}");
    if let Some(link) = room.link(&room.database(), "link.db") {
        assert!(matches!(SqliteJournal::open(&link, 1), Err(OpenError::InUse { .. })), "by another name");
    }
    // The lock file has no process id.
    std::fs::write(&lock, "").unwrap();
    let refused = SqliteJournal::open(room.database(), 1).err().unwrap().to_string();
    assert!(refused.contains("another process holds"), "{refused}");
    drop(journal);
    room.open();
}

#[test]
fn files_are_private_to_their_owner_and_the_log_is_removed_at_the_end() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    for name in ["petstore.db", "petstore.db-wal", "petstore.db-shm", "petstore.db.lock"] {
        assert!(has_mode(room.path(name), 0o600), "{name}");
    }
    drop(journal);
    assert!(!room.path("petstore.db-wal").exists());
}

#[test]
fn any_tool_reads_the_file_while_it_is_written() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    let tool = room.tool();
    let line = "SELECT group_concat(name || ' is ' || status, ', ') FROM (SELECT * FROM pets LIMIT 3)";
    let read = || tool.query_row(line, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(read(), "Rex 1 is available, Rex 2 is pending, Rex 3 is sold");
    keep(&mut journal, 2, [Change::PetDeleted(PetId::FIRST)]).unwrap();
    assert!(read().starts_with("Rex 2 is pending"));
    let order =
        "SELECT outcome ->> '$.order.id' FROM retries WHERE scope = 'place_order' ORDER BY id LIMIT 1";
    assert_eq!(tool.query_row(order, [], |row| row.get(0)), Ok(4));
}

#[test]
fn the_file_contains_no_secret() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    let found =
        |text: &str| bytes_of(&room.database()).windows(text.len()).any(|part| part == text.as_bytes());
    for seed in [1, 2] {
        let secret = secret(seed);
        assert!(found(secret.display_prefix().as_str()));
        assert!(!found(&secret.reveal()[KeyPrefix::LEN..]), "the rest of key {seed}");
    }
}

#[test]
fn the_tables_refuse_invalid_rows() {
    let room = Room::new();
    fill(&mut room.open());
    let tool = room.tool();
    tool.pragma_update(None, "foreign_keys", true).unwrap();
    for nonsense in [
        "UPDATE pets SET stock = 0 WHERE status = 'available'",
        "UPDATE pets SET stock = 1 WHERE status = 'sold'",
        "UPDATE pets SET open_orders = 1 WHERE status = 'sold'",
        "UPDATE pets SET open_orders = 0 WHERE status = 'pending'",
        "UPDATE pets SET status = 'lost'",
        "UPDATE pets SET category_id = 77",
        "UPDATE pets SET name = ''",
        "UPDATE pets SET version = 0",
        "UPDATE pets SET stock = 'many'",
        "UPDATE pets SET id = 0 WHERE id = 1",
        "DELETE FROM categories WHERE id = 2",
        "UPDATE categories SET folded_name = 'same'",
        "UPDATE categories SET pets = -1",
        "UPDATE orders SET quantity = 10001",
        "UPDATE orders SET quantity = 0",
        "UPDATE orders SET complete = 2",
        "UPDATE orders SET ship_date = 'tomorrow'",
        "UPDATE accounts SET plan = 'enterprise' WHERE id = 1",
        "UPDATE accounts SET plan = 'free' WHERE id = 4",
        "UPDATE accounts SET minute_limit = 0 WHERE id = 4",
        "UPDATE accounts SET name = 'same'",
        "DELETE FROM accounts WHERE id = 1",
        "UPDATE keys SET digest = x'00'",
        "UPDATE keys SET digest = zeroblob(32)",
        "UPDATE keys SET scopes = ''",
        "UPDATE keys SET ban_until = NULL WHERE id = 2",
        "UPDATE keys SET replaced_until = 'soon'",
        "UPDATE retries SET outcome = '{'",
        "UPDATE retries SET fingerprint = x'00'",
        "UPDATE retries SET scope = 'place_order', idempotency_key = 'same'",
        "UPDATE usage SET minute_used = -1",
        "UPDATE meta SET last_pet = 9007199254740992",
        "UPDATE meta SET last_event = -1",
        "UPDATE meta SET event_epoch = 'ABCDEF0123456789'",
        "UPDATE meta SET event_bytes = -1",
        "INSERT INTO meta VALUES (2, '0123456789abcdef', 0, 0, 0, 0, 0, 0, 1, '0123456789abcdef', 0, 0, 1)",
        "INSERT INTO event_batches VALUES (0, 1, 0, x'01')",
        "INSERT INTO event_batches VALUES (2, 1, 0, x'01')",
        "INSERT INTO event_batches VALUES (1, 9007199254740992, 0, x'01')",
        "INSERT INTO event_batches VALUES (1, 1, 0, x'')",
    ] {
        let refused = tool.execute_batch(nonsense).unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(rusqlite::ErrorCode::ConstraintViolation), "{nonsense}");
    }
    let sound: String = tool.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[test]
fn an_invalid_value_is_reported_with_its_table_and_row() {
    for (edit, said) in [
        ("UPDATE pets SET status = 'lost' WHERE id = 9", "pets row 9: status is an unknown word"),
        ("UPDATE pets SET stock = 0 WHERE id = 1", "pets row 1: status does not fit stock and open_orders"),
        (
            "UPDATE pets SET name = char(7) WHERE id = 2",
            "pets row 2: name must not contain control characters",
        ),
        ("UPDATE pets SET version = 0 WHERE id = 3", "pets row 3: version is less than 1"),
        ("UPDATE pets SET id = -5 WHERE id = 3", "pets row -5: id has another type or range"),
        (
            "UPDATE categories SET folded_name = 'x' WHERE id = 2",
            "categories row 2: folded_name is another name",
        ),
        ("UPDATE orders SET quantity = 0 WHERE id = 6", "orders row 6: quantity must be between 1 and 10000"),
        ("UPDATE orders SET complete = 2 WHERE id = 6", "orders row 6: complete must be 0 or 1"),
        ("UPDATE orders SET ship_date = '2030' WHERE id = 6", "orders row 6: ship_date must be an RFC 3339"),
        (
            "UPDATE accounts SET day_limit = NULL WHERE id = 4",
            "accounts row 4: plan is not a plan, or its limits",
        ),
        ("UPDATE keys SET prefix = 'pot_00000000' WHERE id = 1", "keys row 1: prefix not an API key"),
        ("UPDATE keys SET digest = x'00' WHERE id = 1", "keys row 1: digest has another type or range"),
        ("UPDATE keys SET ban_since = NULL WHERE id = 2", "keys row 2: ban is not whole"),
        (
            "UPDATE keys SET replaced_until = '2030' WHERE id = 1",
            "keys row 1: replaced_until must be an RFC 3339",
        ),
        (
            "UPDATE retries SET scope = 'adjust_stock:0' WHERE id = 7",
            "retries row 7: scope is not a kind of request",
        ),
        (
            "UPDATE retries SET outcome = '{\"secret\":1}' WHERE id = 2",
            "retries row 2: outcome is not a known outcome",
        ),
        (
            "UPDATE retries SET idempotency_key = '\"q\"' WHERE id = 2",
            "retries row 2: idempotency_key is not",
        ),
        ("UPDATE usage SET day_used = -1", "usage row 1: day_used has another type or range"),
        ("UPDATE meta SET last_pet = -1", "meta row 1: last_pet has another type or range"),
        ("UPDATE meta SET last_event = -1", "meta row 1: last_event has another type or range"),
        ("UPDATE meta SET event_epoch = 'none'", "meta row 1: event_epoch invalid digit"),
        (
            "INSERT INTO event_batches VALUES (-1, 1, 0, x'01')",
            "event_batches row -1: first has another type or range",
        ),
        ("INSERT INTO event_batches VALUES (2, 1, 0, x'01')", "event_batches row 2: last is before first"),
        ("INSERT INTO event_batches VALUES (1, 1, 9223372036854775807, x'01')", "event_batches row 1: at "),
        (
            "INSERT INTO event_batches VALUES (1, 2, 0, x'01')",
            "event_batches row 1: it ends with event 2, and the last event is 0",
        ),
        ("DELETE FROM meta", "meta has no row"),
    ] {
        let room = Room::new();
        fill(&mut room.open());
        let tool = room.tool();
        tool.pragma_update(None, "ignore_check_constraints", true).unwrap();
        tool.execute_batch(edit).unwrap();
        let Err(error) = snapshot(&room.database()) else { panic!("{edit}") };
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{edit}");
        let text = error.reason();
        assert!(text.starts_with(said), "{edit}: {text}");
    }
}

#[test]
fn an_error_of_the_sink_ends_the_load() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    let full = StoreError::busy("full");
    assert_eq!(journal.load(&mut |_| Err(full.clone())), Err(full.clone()));
    assert_eq!(read_snapshot(&room.database(), &mut |_| Err(full.clone())), Err(full));
    assert_eq!(rows(&mut journal), everything());
}

#[test]
fn a_file_that_is_not_a_journal_of_this_program_is_refused_with_its_path() {
    let room = Room::new();
    let newer = format!(
        "has schema version 99, and this program reads version {}: open it with the version that wrote it, or a newer one",
        newest()
    );
    for (edit, expected) in [
        ("PRAGMA user_version = 99", &*newer),
        ("PRAGMA application_id = 1", "is not the data file of a petstore"),
        ("PRAGMA user_version = 0", "is not the data file of a petstore"),
    ] {
        drop(room.open());
        room.tool().execute_batch(edit).unwrap();
        let refused = SqliteJournal::open(room.database(), 1).err().unwrap().to_string();
        assert_eq!(refused, format!("{} {expected}", room.database().display()));
        let unread = snapshot(&room.database()).unwrap_err().to_string();
        let beside = expected.replace("is not the data file", "is not that");
        assert!(unread.ends_with(&format!("the data file {beside}")), "{unread}");
        std::fs::remove_file(room.database()).unwrap();
    }
    std::fs::write(room.database(), "a diary, and not a database: ".repeat(100)).unwrap();
    let refused = SqliteJournal::open(room.database(), 1).err().unwrap();
    assert!(matches!(refused, OpenError::NotAJournal { .. }), "{refused}");
    assert!(std::fs::read(room.database()).unwrap().starts_with(b"a diary"));
    assert!(matches!(SqliteJournal::open(room.path("no/where.db"), 1), Err(OpenError::File { .. })));
    assert_eq!(
        snapshot(&room.path("nothing.db")).unwrap_err().report(),
        "the store is unavailable: the data file cannot be used: unable to open database file (code 14)"
    );
    assert!(!room.path("nothing.db").exists());
}

#[test]
fn a_file_whose_creation_was_interrupted_is_created_again() {
    for begun in ["", "PRAGMA page_size = 512; PRAGMA journal_mode = wal"] {
        let room = Room::new();
        std::fs::write(room.database(), "").unwrap();
        room.tool().execute_batch(begun).unwrap();
        let mut journal = room.open();
        fill(&mut journal);
        assert_eq!(load(&mut journal).unwrap().0.epoch, EPOCH);
    }
}

#[test]
fn a_file_is_read_in_use_and_at_rest() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    let events = EventBounds::new(EPOCH);
    let header = Header { last_batch: BatchNumber(1), last_ids: IDS, epoch: EPOCH, events };
    assert_eq!(snapshot(&room.database()), Ok((header, everything())));
    keep(&mut journal, 2, [Change::PetDeleted(PetId::FIRST)]).unwrap();
    drop(journal);
    let before = std::fs::read(room.database()).unwrap();
    assert_eq!(snapshot(&room.database()).unwrap().0.last_batch, BatchNumber(2));
    assert_eq!(std::fs::read(room.database()).unwrap(), before);
    assert!(!room.path("petstore.db-wal").exists() && !room.path("petstore.db-shm").exists());
    assert_eq!(rows(&mut room.open()).len(), everything().len() - 1);
}

#[test]
fn a_snapshot_does_not_contain_later_writes() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    let mut seen = Vec::new();
    let header = read_snapshot(&room.database(), &mut |row| {
        if seen.is_empty() {
            keep(&mut journal, 2, [Change::PetDeleted(PetId::FIRST)])?;
        }
        seen.push(row);
        Ok(())
    });
    assert_eq!((header.unwrap().last_batch.0, seen), (1, everything()));
}

#[test]
fn a_backup_is_an_independent_journal() {
    let room = Room::new();
    let mut journal = room.open();
    fill(&mut journal);
    let copy = room.path("copy.db");
    let made = backup(&room.database(), &copy).unwrap();
    let count = |sort: fn(&&Row) -> bool| everything().iter().filter(sort).count() as u64;
    let (pets, orders) = (count(|row| matches!(row, Row::Pet(_))), count(|row| matches!(row, Row::Order(_))));
    assert_eq!(made, Copied { pets, orders, bytes: copy.metadata().unwrap().len() });
    keep(&mut journal, 2, [Change::PetDeleted(PetId::FIRST)]).unwrap();

    assert!(has_mode(&copy, 0o600));
    let refused = backup(&room.database(), &copy).unwrap_err().to_string();
    assert!(
        refused.ends_with("copy.db exists already, and a backup overwrites no file: name another file"),
        "{refused}"
    );
    // Each restored copy gets its own epoch and keeps it.
    for epoch in [1, 2] {
        let restored = room.path(&format!("restored-{epoch}.db"));
        std::fs::copy(&copy, &restored).unwrap();
        let events = EventBounds::new(epoch);
        let header = Header { last_batch: BatchNumber(1), last_ids: IDS, epoch, events };
        for epoch_if_new in [epoch, 3] {
            let mut journal = SqliteJournal::open(&restored, epoch_if_new).unwrap();
            assert_eq!(load(&mut journal).unwrap(), (header, everything_at(7)));
            journal.accept().unwrap();
        }
    }

    let missing = room.path("missing.db");
    let refused = backup(&missing, &room.path("other.db")).unwrap_err();
    assert!(matches!(refused, BackupError::Source(OpenError::Engine { .. })), "{refused:?}");
    assert!(!missing.exists() && !room.path("other.db").exists());
}

/// The schema version of a new file.
fn newest() -> u32 {
    let room = Room::new();
    drop(room.open());
    version(&room)
}

fn version(room: &Room) -> u32 {
    room.tool().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

#[test]
fn a_file_of_an_older_schema_is_backed_up_unchanged_and_readable_after_its_migration() {
    let room = Room::new();
    std::fs::copy(fixtures().join("schema-1.db"), room.database()).unwrap();
    let before = std::fs::read(room.database()).unwrap();
    let refused = snapshot(&room.database()).unwrap_err().to_string();
    let said = format!(
        "has schema version 1, and this program reads version {}: a server that starts on it migrates it",
        newest()
    );
    assert!(refused.contains(&said), "{refused}");
    let copy = room.path("copy.db");
    backup(&room.database(), &copy).unwrap();
    assert_eq!(std::fs::read(room.database()).unwrap(), before);
    for path in [room.database(), copy] {
        SqliteJournal::open(&path, 1).unwrap().accept().unwrap();
        assert_eq!(snapshot(&path).unwrap().1, everything_at(1), "{}", path.display());
    }
}

#[test]
fn every_released_schema_opens() {
    for version in 1.. {
        let fixture = fixtures().join(format!("schema-{version}.db"));
        if !fixture.exists() {
            let room = Room::new();
            fill(&mut room.open());
            if version > self::version(&room) {
                return;
            }
            backup(&room.database(), &fixture).unwrap();
            panic!("{} was missing; this program has made it, to be committed", fixture.display());
        }
        let room = Room::new();
        std::fs::copy(&fixture, room.database()).unwrap();
        let header = Header {
            last_batch: BatchNumber(1),
            last_ids: IDS,
            epoch: EPOCH,
            events: EventBounds::new(EPOCH),
        };
        let mut rows = everything_at(version);
        for row in &mut rows {
            if let Row::Webhooks(record) = row {
                for webhook in &mut record.webhooks {
                    // The program that made the file did not record it.
                    webhook.narrowed_at = None;
                }
            }
        }
        assert_eq!(load(&mut room.open()).unwrap(), (header, rows), "schema {version}");
    }
}
