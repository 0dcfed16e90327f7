//! Objects in a data file that no migration makes: triggers, views, tables, and changed tables.
//!
//! They can change or destroy data with the next write, or refuse it. The file's schema is held against what the steps up to
//! its version leave in an empty file. SQLite's own objects (`sqlite_…`) are left alone, and so are plain indexes, which
//! somebody may have made for queries of their own. Tables are compared by their structure: a CHECK can change no data.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use crate::{OpenError, schema};

/// Objects that a refusal names at most.
const NAMED_MAX: usize = 5;

/// An entry of the schema.
#[derive(Debug, PartialEq, Eq)]
struct Object {
    kind: String,
    name: String,
    table: String,
    /// Its definition as words, whatever stood between them.
    words: Vec<String>,
}

/// An object that is not as it should be.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    what: String,
    /// What puts it right; none where a backup is what helps.
    statement: Option<String>,
}

/// Refuses a file whose schema is not that of its version.
pub(crate) fn check(connection: &Connection, path: &Path, version: u32) -> Result<(), OpenError> {
    let found = faults(connection, version).map_err(OpenError::engine(path))?;
    if found.is_empty() {
        Ok(())
    } else {
        Err(OpenError::UnexpectedSchema { path: path.into(), reason: reason(&found) })
    }
}

/// The objects, and the statements that remove them.
fn reason(faults: &[Fault]) -> String {
    let (named, others) = faults.split_at(faults.len().min(NAMED_MAX));
    let more = (!others.is_empty()).then(|| format!("and {} more", others.len()));
    let whats = named.iter().map(|fault| fault.what.clone()).chain(more).collect::<Vec<_>>().join(", ");
    let statements: Vec<_> = named.iter().filter_map(|fault| fault.statement.as_deref()).collect();
    let removed = match statements.as_slice() {
        [] => String::new(),
        statements => format!("; remove them with an SQLite tool: {}", statements.join(" ")),
    };
    let is_lost = named.iter().any(|fault| fault.statement.is_none());
    format!("{whats}{removed}{}", if is_lost { "; restore a backup" } else { "" })
}

/// Each object that is not as it should be, in an order in which they can be removed.
fn faults(connection: &Connection, version: u32) -> rusqlite::Result<Vec<Fault>> {
    let made = schema::made_by_steps(version)?;
    let expected: BTreeMap<_, _> = objects(&made)?.into_iter().map(|object| (key(&object), object)).collect();
    let found = objects(connection)?;
    let mut faults = Vec::new();
    for object in &found {
        let known = expected.get(&key(object));
        if known.is_some_and(|known| known.words == object.words) {
            continue;
        }
        match object.kind.as_str() {
            "table" if known.is_some() => faults.extend(changed(connection, &made, object)?),
            // They go with the virtual table that they belong to.
            "table" if is_shadow(object, &found) => {}
            // It goes with its table.
            "index" if !expected.contains_key(&("table".to_owned(), object.table.clone())) => {}
            "index" if is_plain(connection, &object.name)? => {}
            _ => faults.push(removal(object)),
        }
    }
    let is_missing =
        |object: &&Object| object.kind == "table" && !found.iter().any(|one| key(one) == key(object));
    let missing = expected.values().filter(is_missing);
    faults.extend(
        missing.map(|table| Fault { what: format!("the table {} is missing", table.name), statement: None }),
    );
    Ok(faults)
}

fn key(object: &Object) -> (String, String) {
    (object.kind.clone(), object.name.clone())
}

/// All that somebody has made. Triggers come first: those of a table go with it.
fn objects(connection: &Connection) -> rusqlite::Result<Vec<Object>> {
    let sql =
        "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*'
         ORDER BY CASE type WHEN 'trigger' THEN 1 WHEN 'view' THEN 2 WHEN 'index' THEN 3 ELSE 4 END, name";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        let definition: String = row.get(3)?;
        Ok(Object { kind: row.get(0)?, name: row.get(1)?, table: row.get(2)?, words: words(&definition) })
    })?;
    rows.collect()
}

/// The words of a definition: what is quoted, names and numbers, and signs, without comments.
fn words(definition: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = definition.trim_start();
    while let Some(first) = rest.chars().next() {
        let (length, is_word) = match first {
            '-' if rest.starts_with("--") => (rest.find('\n').unwrap_or(rest.len()), false),
            '/' if rest.starts_with("/*") => (rest.find("*/").map_or(rest.len(), |end| end + 2), false),
            '\'' | '"' | '`' => (quoted(rest, first), true),
            '[' => (rest.find(']').map_or(rest.len(), |end| end + 1), true),
            _ if is_of_name(first) => (rest.find(|next| !is_of_name(next)).unwrap_or(rest.len()), true),
            _ => (first.len_utf8(), true),
        };
        if is_word {
            words.push(rest[..length].to_owned());
        }
        rest = rest[length..].trim_start();
    }
    words
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_' || sign == '$'
}

/// Bytes up to the end of what is quoted; a quotation mark in it is doubled, and so it is two words here.
fn quoted(text: &str, mark: char) -> usize {
    text[1..].find(mark).map_or(text.len(), |end| end + 2)
}

/// Says how a table differs from the one of its name that is expected, if it does.
fn changed(found: &Connection, made: &Connection, table: &Object) -> rusqlite::Result<Option<Fault>> {
    let name = &table.name;
    let known = columns(made, name)?;
    let present = columns(found, name)?;
    // A column that was renamed is missing, and a further one: to drop that would drop the data.
    if let Some(missing) = known.iter().find(|column| !present.contains(column)) {
        let what = format!("the table {name} has no column {missing}");
        return Ok(Some(Fault { what, statement: None }));
    }
    let added: Vec<_> = present.into_iter().filter(|column| !known.contains(column)).collect();
    if !added.is_empty() {
        let drop = |column| format!("ALTER TABLE {} DROP COLUMN {};", quote(name), quote(column));
        let statement = added.iter().map(|column| drop(column)).collect::<Vec<_>>().join(" ");
        let what = format!("further columns of the table {name}");
        return Ok(Some(Fault { what, statement: Some(statement) }));
    }
    // Such a clause replaces or leaves out rows without an error. No table of ours has one.
    let has_clause = table.words.iter().any(|word| word.eq_ignore_ascii_case("conflict"));
    let is_changed = has_clause || structure(found, name)? != structure(made, name)?;
    let what = format!("another definition of the table {name}");
    Ok(is_changed.then_some(Fault { what, statement: None }))
}

/// What a table is, but for its checks: a line for each column, reference and unique constraint.
fn structure(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT concat_ws(' ', 'table', type, wr, strict)
             FROM pragma_table_list WHERE schema = 'main' AND name = ?1
         UNION ALL SELECT concat_ws(' ', 'column', quote(name), type, \"notnull\", quote(dflt_value), pk, hidden)
             FROM pragma_table_xinfo(?1)
         UNION ALL SELECT concat_ws(' ', 'reference', quote(\"table\"), quote(\"from\"), quote(\"to\"), on_update, on_delete)
             FROM pragma_foreign_key_list(?1)
         UNION ALL SELECT concat_ws(' ', 'unique', origin, partial,
             (SELECT group_concat(concat_ws(' ', quote(name), coll)) FROM pragma_index_xinfo(list.name) WHERE key))
             FROM pragma_index_list(?1) AS list WHERE origin <> 'c'
         ORDER BY 1";
    connection.prepare(sql)?.query_map([table], |row| row.get(0))?.collect()
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_xinfo(?1)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

/// Whether a table belongs to a virtual one, by whose name it begins. Its engine may not be known here.
fn is_shadow(table: &Object, found: &[Object]) -> bool {
    let is_virtual = |one: &Object| one.words.get(1).is_some_and(|word| word.eq_ignore_ascii_case("virtual"));
    let begins = |one: &Object| table.name.strip_prefix(&one.name).is_some_and(|rest| rest.starts_with('_'));
    found.iter().any(|one| one.kind == "table" && is_virtual(one) && begins(one))
}

/// Whether an index can neither refuse a row nor fail: it is of whole columns and of all rows, compares as SQLite does, and
/// is not unique.
fn is_plain(connection: &Connection, index: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema AS entry, pragma_index_list(entry.tbl_name) AS list
         WHERE entry.type = 'index' AND entry.name = ?1 AND list.name = ?1 AND NOT list.\"unique\" AND NOT list.partial
         AND NOT EXISTS (SELECT 1 FROM pragma_index_xinfo(?1)
             WHERE cid < -1 OR (key AND upper(coll) NOT IN ('BINARY', 'NOCASE', 'RTRIM')))";
    connection.query_row(sql, [index], |row| row.get::<_, i64>(0)).map(|count| count > 0)
}

/// What an object is, and the statement that removes it.
fn removal(object: &Object) -> Fault {
    let Object { kind, name, .. } = object;
    Fault {
        what: format!("the {kind} {}", shown(name)),
        statement: Some(format!("DROP {} {};", kind.to_uppercase(), quote(name))),
    }
}

/// A name as a statement has it.
fn quote(name: &str) -> String {
    format!("\"{}\"", shown(&name.replace('"', "\"\"")))
}

/// A name that may be printed: it is another's text.
fn shown(name: &str) -> String {
    name.chars().map(|sign| if sign.is_control() { char::REPLACEMENT_CHARACTER } else { sign }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults of a file of this version after these statements.
    fn after(version: u32, statements: &str) -> Vec<String> {
        let connection = schema::made_by_steps(version).unwrap();
        connection.execute_batch(statements).unwrap();
        faults(&connection, version).unwrap().into_iter().map(|fault| reason(&[fault])).collect()
    }

    #[test]
    fn what_the_steps_leave_is_expected_of_each_version() {
        for version in 0..=schema::VERSION {
            assert_eq!(after(version, ""), [""; 0], "{version}");
        }
    }

    #[test]
    fn what_harms_nothing_is_left_alone() {
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
            (
                "CREATE INDEX some ON pets (name) WHERE json_extract(name, '$') IS NULL",
                "DROP INDEX \"some\";",
            ),
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
    fn what_belongs_to_a_virtual_table_goes_with_it() {
        let virtual_table = "CREATE TABLE words_data (a); CREATE TABLE words2 (a); PRAGMA writable_schema = on;
             INSERT INTO sqlite_schema VALUES ('table', 'words', 'words', 0, 'CREATE VIRTUAL TABLE words USING fts5(a)')";
        let found = after(schema::VERSION, virtual_table);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("\"words\"") && found[1].contains("\"words2\""), "{found:?}");
    }

    #[test]
    fn a_table_that_was_made_otherwise_or_is_missing_is_told() {
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
    fn a_refusal_names_some_objects_and_none_of_their_control_characters() {
        let connection = schema::made_by_steps(schema::VERSION).unwrap();
        for number in 0..NAMED_MAX + 2 {
            connection.execute_batch(&format!("CREATE VIEW \"\x1b[2J{number}\" AS SELECT 1")).unwrap();
        }
        let refused = check(&connection, Path::new("shop.db"), schema::VERSION).unwrap_err().to_string();
        assert!(refused.starts_with("shop.db has an unexpected schema"), "{refused}");
        assert!(
            refused.contains(", and 2 more; remove them with an SQLite tool: DROP VIEW")
                && !refused.contains('\x1b'),
            "{refused}"
        );
        assert_eq!(refused.matches("DROP VIEW").count(), NAMED_MAX);
    }

    #[test]
    fn definitions_are_compared_by_their_words() {
        let words_of = |text| words(text).join(" ");
        assert_eq!(
            words_of("CREATE TABLE a(b INT,-- c\n\td /* e\n */ TEXT)"),
            "CREATE TABLE a ( b INT , d TEXT )"
        );
        assert_eq!(words_of("'-- a' \"/*\" [b c] 'd''e'"), "'-- a' \"/*\" [b c] 'd' 'e'");
        for open in ["'a", "\"", "[", "/* a", "-- a", "é", "a\u{301}'"] {
            words(open);
        }
    }
}
