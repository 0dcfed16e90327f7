//! The check for objects that no migration creates: triggers, views, tables, and changed tables.
//!
//! Such an object can change, destroy or refuse data at the next write. The schema of the file is compared with the schema
//! that the migration steps up to its version create in an empty database. SQLite's own objects (`sqlite_…`) are ignored, and
//! so are plain indexes, which users may add for their own queries. Tables are compared by their structure and their CHECKs.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use crate::{OpenError, schema};

/// The number of objects that a refusal names.
const NAMED_MAX: usize = 5;

/// CHECKs that files from before the first release may have, each with the CHECK that replaced it.
const FORMER_CHECKS: [(&str, &str); 3] = [
    (
        "( status IN ( 'available' , 'pending' , 'sold' ) )",
        "( status = 'available' OR status = 'pending' OR status = 'sold' )",
    ),
    (
        "( plan IN ( 'free' , 'pro' , 'business' , 'enterprise' ) )",
        "( plan = 'free' OR plan = 'pro' OR plan = 'business' OR plan = 'enterprise' )",
    ),
    (
        "( scopes IN ( 'read' , 'write' , 'read,write' ) )",
        "( scopes = 'read' OR scopes = 'write' OR scopes = 'read,write' )",
    ),
];

/// An entry of the schema.
#[derive(Debug, PartialEq, Eq)]
struct Object {
    kind: String,
    name: String,
    table: String,
    /// The words of the object's definition, without white space and comments.
    words: Vec<String>,
}

/// A difference from the expected schema.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    what: String,
    /// The statement that removes the difference; none if only a backup helps.
    statement: Option<String>,
}

/// Refuses a file whose schema is not that of its schema version.
pub(crate) fn check(connection: &Connection, path: &Path, version: u32) -> Result<(), OpenError> {
    let found = faults(connection, version).map_err(OpenError::engine(path))?;
    if found.is_empty() {
        Ok(())
    } else {
        Err(OpenError::UnexpectedSchema { path: path.into(), reason: reason(&found) })
    }
}

/// Describes faults, with the statements that remove them.
fn reason(faults: &[Fault]) -> String {
    let (named, others) = faults.split_at(faults.len().min(NAMED_MAX));
    let more = (!others.is_empty()).then(|| format!("and {} more", others.len()));
    let whats = named.iter().map(|fault| fault.what.clone()).chain(more).collect::<Vec<_>>().join(", ");
    let statements = || named.iter().filter_map(|fault| fault.statement.as_deref());
    let is_plain = |statement: &&str| !statement.contains(char::is_control);
    let plain: Vec<_> = statements().filter(is_plain).collect();
    let for_shell: Vec<_> = statements().filter(|statement| !is_plain(statement)).map(shell_text).collect();
    let mut reason = whats;
    if !plain.is_empty() {
        reason.push_str("; remove them with an SQLite tool: ");
        reason.push_str(&plain.join(" "));
    }
    if !for_shell.is_empty() {
        let text = for_shell.join(" ");
        reason.push_str("; remove names with control characters in a shell: sqlite3 FILE \"$(printf '");
        reason.push_str(&text);
        reason.push_str("')\"");
    }
    if named.iter().any(|fault| fault.statement.is_none()) {
        reason.push_str("; restore a backup");
    }
    reason
}

/// Encodes a text for `printf '…'` in a shell, without control characters.
fn shell_text(text: &str) -> String {
    let mut encoded = String::new();
    for sign in text.chars() {
        match sign {
            '\'' => encoded.push_str("'\\''"),
            '\\' => encoded.push_str("\\\\"),
            '%' => encoded.push_str("%%"),
            control if control.is_control() => {
                let mut bytes = [0; 4];
                let bytes = control.encode_utf8(&mut bytes).bytes();
                encoded.extend(bytes.map(|byte| format!("\\{byte:03o}")));
            }
            other => encoded.push(other),
        }
    }
    encoded
}

/// Finds all differences, in an order in which the objects can be removed one after the other.
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
            "table" if let Some(known) = known => faults.extend(changed(connection, &made, object, known)?),
            // A shadow table is removed with its virtual table.
            "table" if is_shadow(object, &found) => {}
            // An index is removed with its table.
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

/// Reads all objects except SQLite's own. Triggers come first, because removing a table also removes its triggers.
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

/// Splits a definition into quoted texts, names, numbers and other characters, without comments.
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

/// Returns the length of a quoted text in bytes. A text with a doubled quotation mark counts as two words.
fn quoted(text: &str, mark: char) -> usize {
    text[1..].find(mark).map_or(text.len(), |end| end + 2)
}

/// Describes how a table differs from the expected one, if it does.
fn changed(
    found: &Connection,
    made: &Connection,
    table: &Object,
    expected: &Object,
) -> rusqlite::Result<Option<Fault>> {
    let name = &table.name;
    let known = columns(made, name)?;
    let present = columns(found, name)?;
    // A renamed column is both missing and added. Dropping it would drop its data.
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
    // An ON CONFLICT clause replaces or skips rows without an error. No table of ours has one.
    let has_clause = table.words.iter().any(|word| word.eq_ignore_ascii_case("conflict"));
    let is_changed = has_clause || structure(found, name)? != structure(made, name)?;
    if is_changed {
        return Ok(Some(Fault { what: format!("another definition of the table {name}"), statement: None }));
    }
    let has_other_checks = checks(&table.words) != checks(&expected.words);
    let what = format!("other CHECKs in the table {name}");
    Ok(has_other_checks.then_some(Fault { what, statement: None }))
}

/// Returns the CHECKs of a definition, sorted, in their current form.
fn checks(words: &[String]) -> Vec<String> {
    let begins = |at: &usize| words[*at].eq_ignore_ascii_case("check");
    let mut checks: Vec<_> = (0..words.len())
        .filter(begins)
        .map(|at| {
            let check = in_parentheses(&words[at + 1..]).join(" ");
            let current = FORMER_CHECKS.iter().find(|(former, _)| *former == check);
            current.map_or(check, |(_, current)| (*current).to_owned())
        })
        .collect();
    checks.sort_unstable();
    checks
}

/// Returns the words from the first one, an opening parenthesis, to the parenthesis that closes it.
fn in_parentheses(words: &[String]) -> &[String] {
    let mut depth = 0_usize;
    let end = words.iter().position(|word| {
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    &words[..end.map_or(words.len(), |end| end + 1)]
}

/// Describes the structure of a table except its CHECKs: a line for each column, foreign key and unique constraint.
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

/// Returns true if a table is the shadow table of a virtual table, judged by the beginning of its name. SQLite itself
/// knows this only if the module of the virtual table is loaded.
fn is_shadow(table: &Object, found: &[Object]) -> bool {
    let is_virtual = |one: &Object| one.words.get(1).is_some_and(|word| word.eq_ignore_ascii_case("virtual"));
    let begins = |one: &Object| table.name.strip_prefix(&one.name).is_some_and(|rest| rest.starts_with('_'));
    found.iter().any(|one| one.kind == "table" && is_virtual(one) && begins(one))
}

/// Returns true if an index can neither refuse a row nor fail: it is not unique, covers whole columns and all rows, and
/// uses a built-in collation.
fn is_plain(connection: &Connection, index: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema AS entry, pragma_index_list(entry.tbl_name) AS list
         WHERE entry.type = 'index' AND entry.name = ?1 AND list.name = ?1 AND NOT list.\"unique\" AND NOT list.partial
         AND NOT EXISTS (SELECT 1 FROM pragma_index_xinfo(?1)
             WHERE cid < -1 OR (key AND upper(coll) NOT IN ('BINARY', 'NOCASE', 'RTRIM')))";
    connection.query_row(sql, [index], |row| row.get::<_, i64>(0)).map(|count| count > 0)
}

/// Returns the fault of an unexpected object, with the statement that removes it.
fn removal(object: &Object) -> Fault {
    let Object { kind, name, .. } = object;
    Fault {
        what: format!("the {kind} {}", shown(name)),
        statement: Some(format!("DROP {} {};", kind.to_uppercase(), quote(name))),
    }
}

/// Quotes a name for a statement.
fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a name in a form that is safe to print, because another program may have chosen the name.
fn shown(name: &str) -> String {
    name.chars().map(|sign| if sign.is_control() { char::REPLACEMENT_CHARACTER } else { sign }).collect()
}

#[cfg(test)]
mod tests {
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
