//! Values that older versions have stored and that are not taken any more: a migration puts them right, in its transaction.
//!
//! What is wrong in another way is left as it is: it is named when the file is loaded.

use petstore_domain::{KeyLabel, TextError, Timestamp, stored_name, stored_time};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};

use crate::mended::MendError;
use crate::namesakes;
use crate::tables::mended_outcome;
use crate::{IfNamesakes, Mended};

/// The schema version from which on stored dates, names and answers keep to the rules of today.
const SOUND_SINCE: u32 = 3;

/// The schema version from which on a stored key label is empty or has a visible character.
const LABELS_SOUND_SINCE: u32 = 4;

/// Every column that holds a point in time, and whether it is shown with a version that must rise.
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

/// Names without a printable character of ASCII: the few that are worth a look.
const FOREIGN: &str = "NOT GLOB '*[!-~]*'";

/// Brings what a file of this version holds to the rules of today. The caller has a transaction, and the newest schema.
pub(crate) fn put_right(
    connection: &Connection,
    found: u32,
    if_namesakes: IfNamesakes,
) -> Result<Mended, MendError> {
    let mut mended = Mended::default();
    let is_old = (1..SOUND_SINCE).contains(&found);
    if is_old {
        for (table, column, is_shown) in TIMES {
            mended.dates += times(connection, table, column, is_shown)?;
        }
        mended.pets = pets(connection)?;
        mended.answers = answers(connection)?;
    }
    if (1..LABELS_SOUND_SINCE).contains(&found) {
        mended.labels = labels(connection)?;
    }
    namesakes::fold_again(connection, if_namesakes, &mut mended)?;
    Ok(mended)
}

fn times(connection: &Connection, table: &str, column: &str, is_shown: bool) -> rusqlite::Result<u64> {
    let select = format!("SELECT id, {column} FROM {table} WHERE {column} >= '0000-' AND {column} < '0001-'");
    let old = texts(connection, &select, |_, text| stored_time(text).ok()?.mended())?;
    let version = if is_shown { ", version = version + 1" } else { "" };
    let update = format!("UPDATE {table} SET {column} = ?2{version} WHERE id = ?1");
    write(connection, &update, old.iter().map(|(id, time): &(i64, Timestamp)| (*id, time.to_string())))
}

fn pets(connection: &Connection) -> rusqlite::Result<u64> {
    let select = format!("SELECT id, name FROM pets WHERE name {FOREIGN}");
    let old = texts(connection, &select, |id, text| stored_name(text, "pet", id).ok()?.mended())?;
    write(connection, "UPDATE pets SET name = ?2, version = version + 1 WHERE id = ?1", old)
}

/// A label without a visible character becomes empty.
fn labels(connection: &Connection) -> rusqlite::Result<u64> {
    let select = format!("SELECT id, label FROM keys WHERE label {FOREIGN}");
    let old = texts(connection, &select, |_, text| {
        (KeyLabel::parse(text) == Err(TextError::Invisible)).then(String::new)
    })?;
    write(connection, "UPDATE keys SET label = ?2 WHERE id = ?1", old)
}

fn answers(connection: &Connection) -> rusqlite::Result<u64> {
    let old = texts(connection, "SELECT id, outcome FROM retries", |_, text| mended_outcome(text))?;
    write(connection, "UPDATE retries SET outcome = ?2 WHERE id = ?1", old)
}

/// The rows of an id and a text of which `mend` makes something.
fn texts<T>(
    connection: &Connection,
    select: &str,
    mend: impl Fn(u64, &str) -> Option<T>,
) -> rusqlite::Result<Vec<(i64, T)>> {
    let mut statement = connection.prepare(select)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let ValueRef::Text(bytes) = row.get_ref(1)? else { continue };
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        found.extend(mend(id.cast_unsigned(), text).map(|mended| (id, mended)));
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
