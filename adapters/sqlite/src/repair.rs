//! The repair of values that older versions have stored and that are no longer valid. It runs in the transaction of
//! the migration.
//!
//! Other invalid values are not changed. The load reports them.

use petstore_domain::{KeyLabel, TextError, Timestamp, stored_name, stored_time};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};

use crate::name_folding;
use crate::repaired_values::RepairError;
use crate::{NameCollisions, RepairedValues};

/// The schema version from which stored dates, names and outcomes are valid.
const VALID_SINCE: u32 = 3;

/// The schema version from which every stored key label is valid: it is empty or has a visible character.
const LABELS_VALID_SINCE: u32 = 4;

/// All columns with a timestamp. The flag is true if a change of the column must increment the version of the row.
const TIMES: [(&str, &str, bool); 9] = [
    ("orders", "ship_date", true),
    ("accounts", "created_at", false),
    ("keys", "created_at", false),
    ("keys", "expires_at", false),
    ("keys", "replaced_until", false),
    ("keys", "revoked_at", false),
    ("keys", "ban_since", false),
    ("keys", "ban_until", false),
    ("retries", "expires_at", false),
];

/// Selects texts without a printable ASCII character. Only such a text can be without any visible character.
const NOT_ASCII: &str = "NOT GLOB '*[!-~]*'";

/// Repairs the values of a file. `found` is the schema version that the file had before the migration. The caller has
/// begun a transaction and has migrated the schema.
pub(crate) fn repair_values(
    connection: &Connection,
    found: u32,
    collisions: NameCollisions,
) -> Result<RepairedValues, RepairError> {
    let mut repaired = RepairedValues::default();
    let is_old = (1..VALID_SINCE).contains(&found);
    if is_old {
        for (table, column, is_shown) in TIMES {
            repaired.dates += times(connection, table, column, is_shown)?;
        }
        repaired.pets = pets(connection)?;
        repaired.answers = answers(connection)?;
    }
    if (1..LABELS_VALID_SINCE).contains(&found) {
        repaired.labels = labels(connection)?;
    }
    name_folding::fold_names(connection, collisions, &mut repaired)?;
    Ok(repaired)
}

fn times(connection: &Connection, table: &str, column: &str, is_shown: bool) -> rusqlite::Result<u64> {
    let select = format!("SELECT id, {column} FROM {table} WHERE {column} >= '0000-' AND {column} < '0001-'");
    let old = texts(connection, &select, |_, text| stored_time(text).ok()?.mended())?;
    let version = if is_shown { ", version = version + 1" } else { "" };
    let update = format!("UPDATE {table} SET {column} = ?2{version} WHERE id = ?1");
    write(connection, &update, old.iter().map(|(id, time): &(i64, Timestamp)| (*id, time.to_string())))
}

fn pets(connection: &Connection) -> rusqlite::Result<u64> {
    let select = format!("SELECT id, name FROM pets WHERE name {NOT_ASCII}");
    let old = texts(connection, &select, |id, text| stored_name(text, "pet", id).ok()?.mended())?;
    write(connection, "UPDATE pets SET name = ?2, version = version + 1 WHERE id = ?1", old)
}

/// A label without a visible character becomes empty.
fn labels(connection: &Connection) -> rusqlite::Result<u64> {
    let select = format!("SELECT id, label FROM keys WHERE label {NOT_ASCII}");
    let old = texts(connection, &select, |_, text| {
        (KeyLabel::parse(text) == Err(TextError::Invisible)).then(String::new)
    })?;
    write(connection, "UPDATE keys SET label = ?2 WHERE id = ?1", old)
}

fn answers(connection: &Connection) -> rusqlite::Result<u64> {
    let old = texts(connection, "SELECT id, outcome FROM retries", |_, text| {
        petstore_outcome_json::repaired(text)
    })?;
    write(connection, "UPDATE retries SET outcome = ?2 WHERE id = ?1", old)
}

/// Runs a query for ids and texts. Returns the id and the new text of each row whose text `repair` changes.
fn texts<T>(
    connection: &Connection,
    select: &str,
    repair: impl Fn(u64, &str) -> Option<T>,
) -> rusqlite::Result<Vec<(i64, T)>> {
    let mut statement = connection.prepare(select)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let ValueRef::Text(bytes) = row.get_ref(1)? else { continue };
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        found.extend(repair(id.cast_unsigned(), text).map(|repaired| (id, repaired)));
    }
    Ok(found)
}

fn write(
    connection: &Connection,
    update: &str,
    rows: impl IntoIterator<Item = (i64, String)>,
) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare(update)?;
    let mut count = 0;
    for (id, text) in rows {
        count += u64::try_from(statement.execute(params![id, text])?).unwrap_or(0);
    }
    Ok(count)
}
