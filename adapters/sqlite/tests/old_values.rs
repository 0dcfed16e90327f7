//! Files of older versions with values that are no longer valid.
//!
//! `old-values.db` was made by the server of commit ba9a590: ship dates in the year 0000, names without a visible character
//! of a pet, a category and an account, categories with equal names, and idempotency records of all of these.

mod common;

use std::path::Path;

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::{
    DamagedLog, NameCollisions, OpenError, OpenOptions, RepairedValues, SqliteJournal, backup, read_snapshot,
};

const RENAME: OpenOptions =
    OpenOptions { damaged_log: DamagedLog::Refuse, name_collisions: NameCollisions::Rename };

fn old_file(room: &Room) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/old-values.db");
    std::fs::copy(fixture, room.database()).unwrap();
}

/// A file of schema version 3, in which account names were compared byte by byte, and a label might be U+200B alone.
fn old_accounts(room: &Room) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/old-accounts.db");
    std::fs::copy(fixture, room.database()).unwrap();
}

fn name_of_account(row: Row) -> Option<String> {
    match row {
        Row::Account(account) => Some(account.name.as_str().to_owned()),
        _ => None,
    }
}

const FOLDED: &str =
    "SELECT group_concat(folded_name, ', ') FROM (SELECT folded_name FROM accounts ORDER BY id)";

fn text(room: &Room, sql: &str) -> String {
    room.tool().query_row(sql, [], |row| row.get(0)).unwrap()
}

const CATEGORIES: &str = "SELECT group_concat(id || ' ' || name || ' ' || version, ', ') FROM categories";

#[test]
fn categories_with_equal_names_are_reported_with_their_ids_and_the_file_stays_as_it_was() {
    let room = Room::new();
    old_file(&room);
    let before = std::fs::read(room.database()).unwrap();
    let refused = SqliteJournal::open(room.database(), 1).err().unwrap();
    let OpenError::NameCollisions { categories, .. } = &refused else { panic!("{refused}") };
    let pairs: Vec<_> = categories.iter().map(|(id, of)| (id.get(), of.get())).collect();
    assert_eq!(pairs, [(2, 1), (4, 3)]);
    let said = "has categories whose names read the same: 2 has the name of 1, 4 has the name of 3";
    assert!(refused.to_string().ends_with(said), "{refused}");
    assert_eq!(std::fs::read(room.database()).unwrap(), before);
    assert!(!room.path("petstore.db-wal").exists());
}

#[test]
fn accounts_with_equal_names_are_reported_with_their_ids_and_the_file_stays_as_it_was() {
    let room = Room::new();
    old_accounts(&room);
    let before = std::fs::read(room.database()).unwrap();
    let refused = SqliteJournal::open(room.database(), 1).err().unwrap().to_string();
    let said = "has accounts whose names read the same: 3 has the name of 2, 5 has the name of 4";
    assert!(refused.ends_with(said), "{refused}");
    assert_eq!(std::fs::read(room.database()).unwrap(), before);
    assert!(!room.path("petstore.db-wal").exists());
}

#[test]
fn the_younger_of_two_accounts_with_equal_names_gets_its_id_behind_its_name() {
    let room = Room::new();
    old_accounts(&room);
    let (mut journal, repaired) = SqliteJournal::open_with(room.database(), 1, RENAME).unwrap();
    let renamed: Vec<_> =
        repaired.renamed_accounts.iter().map(|one| (one.id.get(), one.of.get(), one.to.as_str())).collect();
    assert_eq!(renamed, [(3, 2, "Cafe\u{301} (3)"), (5, 4, "ZOO (5-2)")]);
    assert_eq!(
        RepairedValues { renamed_accounts: vec![], ..repaired },
        RepairedValues { labels: 1, ..RepairedValues::default() }
    );
    let names: Vec<_> = load(&mut journal).unwrap().1.into_iter().filter_map(name_of_account).collect();
    journal.accept().unwrap();
    assert_eq!(names, ["default", "Café", "Cafe\u{301} (3)", "Zoo", "ZOO (5-2)", "zoo (5)", "park"]);
    drop(journal);
    assert_eq!(text(&room, "SELECT group_concat(label, '|') FROM keys"), "initial|||||||");
    assert_eq!(text(&room, FOLDED), "default, café, café (3), zoo, zoo (5-2), zoo (5), park");
    let (_, again) = SqliteJournal::open_with(room.database(), 1, OpenOptions::default()).unwrap();
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn an_account_whose_folded_name_is_another_is_damage() {
    let room = Room::new();
    fill(&mut room.open());
    room.tool().execute_batch("UPDATE accounts SET folded_name = 'other' WHERE id = 1").unwrap();
    let mut journal = room.open();
    let refused = load(&mut journal).unwrap_err().to_string();
    assert!(refused.contains("accounts row 1: folded_name is another name"), "{refused}");
}

#[test]
fn every_invalid_value_is_repaired_and_counted() {
    let room = Room::new();
    old_file(&room);
    let (mut journal, repaired) = SqliteJournal::open_with(room.database(), 1, RENAME).unwrap();
    let RepairedValues { dates, pets, categories, accounts, labels, answers, renamed, renamed_accounts } =
        &repaired;
    assert_eq!((*dates, *pets, *categories, *accounts, *labels, *answers), (1, 1, 1, 1, 0, 3));
    let renamed: Vec<_> = renamed.iter().map(|one| (one.id.get(), one.of.get(), one.to.as_str())).collect();
    assert_eq!(renamed, [(2, 1, "Cafe\u{301} (2)"), (4, 3, "STRASSE (4)")]);
    assert_eq!(renamed_accounts, &[]);

    let (header, rows) = load(&mut journal).unwrap();
    assert_eq!(header.last_ids.category, 7);
    for row in rows {
        match row {
            Row::Pet(pet) if pet.pet.id.get() == 1 => {
                assert_eq!((pet.pet.name.as_str(), pet.version.get()), ("pet 1", 3));
            }
            Row::Order(order) if order.order.id.get() == 1 => {
                assert_eq!((order.order.ship_date, order.version.get()), (Some(Timestamp::MIN), 2));
            }
            Row::Order(order) => assert_eq!(order.version, Version::FIRST, "it was sound"),
            Row::Account(account) => assert!(!account.name.as_str().contains('\u{200b}')),
            Row::Idempotency(retry) => match retry.outcome {
                Outcome::Pet(pet) if pet.value.id.get() == 1 => assert_eq!(pet.value.name.as_str(), "pet 1"),
                Outcome::Category(one) if one.value.id.get() == 5 => {
                    assert_eq!(one.value.name.as_str(), "category 5");
                }
                Outcome::Order(one) if one.value.id.get() == 1 => {
                    assert_eq!(one.value.ship_date, Some(Timestamp::MIN));
                }
                _ => {}
            },
            _ => {}
        }
    }
    journal.accept().unwrap();
    drop(journal);
    let expected = "1 Café 1, 2 Cafe\u{301} (2) 2, 3 Straße 1, 4 STRASSE (4) 2, 5 category 5 (5) 2, 6 Category 5 1, 7 ΑΣ 1";
    assert_eq!(text(&room, CATEGORIES), expected);
    let names = "SELECT group_concat(id || ' ' || name, ', ') FROM (SELECT * FROM accounts ORDER BY id)";
    assert_eq!(text(&room, names), "1 default, 2 account-2");
    assert_eq!(text(&room, FOLDED), "default, account-2");

    let (_, again) = SqliteJournal::open_with(room.database(), 1, OpenOptions::default()).unwrap();
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn a_newer_folding_rule_is_refused_and_an_older_one_is_migrated() {
    let room = Room::new();
    fill(&mut room.open());
    let read = || read_snapshot(&room.database(), &mut |_| Ok(()));

    room.tool().execute_batch("UPDATE meta SET folding = 99").unwrap();
    let refused = SqliteJournal::open(room.database(), 1).err().unwrap().to_string();
    let said = "has names that are compared by rule 99, and this program knows rule 1: \
                open it with the version that wrote it, or a newer one";
    assert!(refused.ends_with(said), "{refused}");
    let copied = backup(&room.database(), &room.path("copy.db")).unwrap_err();
    for refused in [read().unwrap_err().to_string(), copied.to_string()] {
        assert!(refused.ends_with(said), "{refused}");
    }

    let old = "UPDATE meta SET folding = 0; UPDATE categories SET folded_name = 'größe ς' WHERE id = 2";
    room.tool().execute_batch(old).unwrap();
    let refused = read().unwrap_err().to_string();
    assert!(
        refused.contains("this program knows rule 1: a server that starts on it migrates it"),
        "{refused}"
    );
    drop(room.open());
    assert_eq!(text(&room, "SELECT folded_name FROM categories WHERE id = 2"), "größe ς", "not accepted");
    room.open().accept().unwrap();
    assert_eq!(text(&room, "SELECT folded_name FROM categories WHERE id = 2"), "grösse σ");
    assert!(read().is_ok());
}
