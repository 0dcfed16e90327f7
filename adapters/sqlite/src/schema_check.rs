//! The check for objects that no migration creates: triggers, views, tables, and changed tables.
//!
//! Such an object can change, destroy or refuse data at the next write. The schema of the file is compared with the schema
//! that the migration steps up to its version create in an empty database. SQLite's own objects (`sqlite_…`) are ignored, and
//! so are plain indexes, which users may add for their own queries. Tables are compared by their structure and their CHECKs.

mod definition;
mod fault;

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use self::definition::{checks, words};
use self::fault::{Fault, reason};
use crate::{OpenError, schema};

/// An entry of the schema.
#[derive(Debug, PartialEq, Eq)]
struct Object {
    kind: String,
    name: String,
    table: String,
    /// The words of the object's definition, without white space and comments.
    words: Vec<String>,
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
            // A shadow table is no separate fault, because it is removed with its virtual table.
            "table" if is_shadow(object, &found) => {}
            // An index of an unexpected table is no separate fault, because it is removed with the table.
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
    // A renamed column looks like a missing and an added column. No statement is suggested, because dropping the added
    // column would drop its data.
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
    // An ON CONFLICT clause replaces or skips rows without an error. No table of a petstore has such a clause.
    let has_clause = table.words.iter().any(|word| word.eq_ignore_ascii_case("conflict"));
    let is_changed = has_clause || structure(found, name)? != structure(made, name)?;
    if is_changed {
        return Ok(Some(Fault { what: format!("another definition of the table {name}"), statement: None }));
    }
    let has_other_checks = checks(&table.words) != checks(&expected.words);
    let what = format!("other CHECKs in the table {name}");
    Ok(has_other_checks.then_some(Fault { what, statement: None }))
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

/// Returns true if the name of a table begins like the name of a shadow table of a virtual table. SQLite itself can
/// tell shadow tables only if the module of the virtual table is loaded.
fn is_shadow(table: &Object, found: &[Object]) -> bool {
    let is_virtual = |one: &Object| one.words.get(1).is_some_and(|word| word.eq_ignore_ascii_case("virtual"));
    let begins = |one: &Object| table.name.strip_prefix(&one.name).is_some_and(|rest| rest.starts_with('_'));
    found.iter().any(|one| one.kind == "table" && is_virtual(one) && begins(one))
}

/// Returns true if an index can neither refuse a row nor fail. Such an index is not unique, covers whole columns and
/// all rows, and uses a built-in collation.
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
mod tests;
