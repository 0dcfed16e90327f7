//! Tests of the schema check.

use petstore_test_servers::skips::skip_on_this_system;
use petstore_test_servers::system::is_unix;

use super::fault::NAMED_MAX;
use super::*;

/// Returns the faults of a database of this version after these statements.
fn after(version: u32, statements: &str) -> Vec<String> {
    let connection = schema::made_by_steps(version).unwrap();
    connection.execute_batch(statements).unwrap();
    faults(&connection, version).unwrap().into_iter().map(|fault| reason(&[fault])).collect()
}

#[test]
fn the_schema_of_each_version_is_accepted() {
    for version in 0..=schema::VERSION {
        assert_eq!(after(version, ""), [""; 0], "{version}");
    }
}

#[test]
fn harmless_objects_are_accepted() {
    for harmless in [
        "ANALYZE",
        "CREATE INDEX mine ON pets (name COLLATE nocase, status DESC)",
        "DROP INDEX pets_by_category; CREATE INDEX pets_by_category ON pets (category_id, id)",
        "DROP INDEX pets_by_category",
    ] {
        assert_eq!(after(schema::VERSION, harmless), [""; 0], "{harmless}");
    }
}

#[test]
fn each_statement_that_is_printed_removes_what_it_names() {
    for (made, statement) in [
        (
            "CREATE TRIGGER sweep AFTER INSERT ON pets BEGIN DELETE FROM orders; END",
            "DROP TRIGGER \"sweep\";",
        ),
        ("CREATE VIEW \"a \"\"view\" AS SELECT 1", "DROP VIEW \"a \"\"view\";"),
        ("CREATE TABLE notes (a UNIQUE); CREATE INDEX of_notes ON notes (a)", "DROP TABLE \"notes\";"),
        ("CREATE UNIQUE INDEX one ON pets (name)", "DROP INDEX \"one\";"),
        ("CREATE INDEX some ON pets (name) WHERE json_extract(name, '$') IS NULL", "DROP INDEX \"some\";"),
        ("CREATE INDEX lower ON pets (lower(name))", "DROP INDEX \"lower\";"),
        ("ALTER TABLE pets ADD COLUMN note TEXT", "ALTER TABLE \"pets\" DROP COLUMN \"note\";"),
    ] {
        let connection = schema::made_by_steps(schema::VERSION).unwrap();
        connection.execute_batch(made).unwrap();
        let found = faults(&connection, schema::VERSION).unwrap();
        let [fault] = &found[..] else { panic!("{made}: {found:?}") };
        assert_eq!(fault.statement.as_deref(), Some(statement), "{made}");
        connection.execute_batch(statement).unwrap();
        assert_eq!(faults(&connection, schema::VERSION).unwrap(), [], "{made}");
    }
}

#[test]
fn shadow_tables_are_removed_with_their_virtual_table() {
    let virtual_table = "CREATE TABLE words_data (a); CREATE TABLE words2 (a); PRAGMA writable_schema = on;
         INSERT INTO sqlite_schema VALUES ('table', 'words', 'words', 0, 'CREATE VIRTUAL TABLE words USING fts5(a)')";
    let found = after(schema::VERSION, virtual_table);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("\"words\"") && found[1].contains("\"words2\""), "{found:?}");
}

#[test]
fn a_table_with_another_definition_or_a_missing_table_is_reported() {
    let cascade =
        "DROP TABLE usage; CREATE TABLE usage (account_id INTEGER PRIMARY KEY, minute_number INTEGER,
         minute_used INTEGER, day_number INTEGER, day_used INTEGER)";
    let other = "another definition of the table usage; restore a backup";
    assert_eq!(after(schema::VERSION, cascade), [other]);
    let renamed = "the table pets has no column stock; restore a backup";
    assert_eq!(after(schema::VERSION, "ALTER TABLE pets RENAME COLUMN stock TO stok"), [renamed]);
    let missing = "the table usage is missing; restore a backup";
    assert_eq!(after(schema::VERSION, "DROP TABLE usage"), [missing]);
}

#[test]
fn a_refusal_names_a_bounded_number_of_objects_without_control_characters() {
    let connection = schema::made_by_steps(schema::VERSION).unwrap();
    for number in 0..NAMED_MAX + 2 {
        connection.execute_batch(&format!("CREATE VIEW \"\x1b[2J{number}\" AS SELECT 1")).unwrap();
    }
    let refused = check(&connection, Path::new("shop.db"), schema::VERSION).unwrap_err().to_string();
    assert!(refused.starts_with("shop.db has an unexpected schema"), "{refused}");
    assert!(
        refused.contains(", and 2 more; remove names with control characters in a shell: sqlite3 FILE ")
            && !refused.contains('\x1b'),
        "{refused}"
    );
    assert_eq!(refused.matches("DROP VIEW").count(), NAMED_MAX);
}

#[test]
fn the_shell_command_for_a_name_with_control_characters_prints_the_statement() {
    if !is_unix() {
        return skip_on_this_system("the command is for a POSIX shell");
    }
    let names = ["a\x1b[2J\nb", "it's 100% \u{9b}\\033 \"quoted\"\u{7f}"];
    let connection = schema::made_by_steps(schema::VERSION).unwrap();
    for name in names {
        connection.execute_batch(&format!("CREATE VIEW {} AS SELECT 1", quote(name))).unwrap();
    }
    let refused = reason(&faults(&connection, schema::VERSION).unwrap());
    assert!(!refused.contains(char::is_control), "{refused}");
    let command = refused.split_once("sqlite3 FILE \"$(").unwrap().1.strip_suffix(")\"").unwrap();
    let printed = std::process::Command::new("sh").args(["-c", command]).output().unwrap();
    connection.execute_batch(std::str::from_utf8(&printed.stdout).unwrap()).unwrap();
    assert_eq!(faults(&connection, schema::VERSION).unwrap(), []);
}

/// Replaces the definition of a table.
fn redefined(table: &str, from: &str, to: &str) -> Vec<String> {
    let connection = schema::made_by_steps(schema::VERSION).unwrap();
    let sql = "UPDATE sqlite_schema SET sql = replace(sql, ?2, ?3) WHERE name = ?1";
    connection.pragma_update(None, "writable_schema", true).unwrap();
    assert_eq!(connection.execute(sql, [table, from, to]).unwrap(), 1, "{table}");
    faults(&connection, schema::VERSION).unwrap().into_iter().map(|fault| reason(&[fault])).collect()
}

#[test]
fn a_changed_added_or_missing_check_is_refused_and_a_former_one_is_accepted() {
    let other = ["other CHECKs in the table pets; restore a backup"];
    assert_eq!(redefined("pets", "CHECK (stock >= 0)", "CHECK (stock >= 5)"), other);
    assert_eq!(redefined("pets", "CHECK (stock >= 0)", "CHECK (stock >= 0) CHECK (version < 9)"), other);
    assert_eq!(redefined("pets", "CHECK (stock >= 0)", ""), other);
    assert_eq!(redefined("pets", "CHECK (stock >= 0)", "check(stock>=0) -- as before"), [""; 0]);
    let words = "status = 'available' OR status = 'pending' OR status = 'sold'";
    assert_eq!(redefined("pets", words, "status IN ('available', 'pending', 'sold')"), [""; 0]);
    assert_eq!(redefined("pets", words, "status IN ('available', 'pending')"), other);
}
