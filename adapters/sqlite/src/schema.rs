//! The schema, and how a file comes to have it.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::{OpenError, meta};

/// `PETS`: what SQLite's header calls the application that a file belongs to.
pub(crate) const APPLICATION_ID: i32 = 0x5045_5453;

/// Each step from one version to the next. A step that has been released is never changed; the next one is added.
const MIGRATIONS: &[&str] = &[include_str!("schema/1.sql"), include_str!("schema/2.sql")];

/// The version that this program writes and reads.
#[expect(clippy::cast_possible_truncation, reason = "there will never be 2^32 of them")]
pub(crate) const VERSION: u32 = MIGRATIONS.len() as u32;

/// The schema version of a file; 0 if it is empty. Refuses what is not a journal, and what is newer than this program.
pub(crate) fn version(connection: &Connection, path: &Path) -> Result<u32, OpenError> {
    found(connection, path, VERSION)
}

fn found(connection: &Connection, path: &Path, known: u32) -> Result<u32, OpenError> {
    let (application, found, entries): (i32, u32, u64) = connection
        .query_row(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
             FROM pragma_application_id, pragma_user_version",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .map_err(OpenError::engine(path))?;
    match (application, found, entries) {
        (0, 0, 0) => Ok(0),
        (APPLICATION_ID, 1.., _) if found <= known => Ok(found),
        (APPLICATION_ID, 1.., _) => Err(OpenError::Version { path: path.into(), found, known }),
        _ => Err(OpenError::NotAJournal { path: path.into() }),
    }
}

/// Whether a file is sound, indexes and all: what is wrong first, if something is. Takes seconds for a million pets.
pub(crate) fn damage(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    // Damage is told below a line that names the database.
    let told = found.lines().find(|line| !line.starts_with("***")).unwrap_or(&found);
    Ok((found != "ok").then(|| told.to_owned()))
}

/// An empty journal of a version, in memory: what the steps up to that one leave.
pub(crate) fn made_by_steps(version: u32) -> rusqlite::Result<Connection> {
    const NO_EPOCH: u64 = 0;
    let mut connection = Connection::open_in_memory()?;
    for (version, step) in (1..=version).zip(MIGRATIONS) {
        apply(&mut connection, version, step, NO_EPOCH)?;
    }
    Ok(connection)
}

/// Brings a file to this program's version, making it a journal with this epoch if it is empty.
pub(crate) fn migrate(connection: &mut Connection, path: &Path, epoch: u64) -> Result<(), OpenError> {
    run(connection, path, epoch, MIGRATIONS)
}

/// Each step is one transaction with its version number: one that is interrupted leaves the version before it.
fn run(connection: &mut Connection, path: &Path, epoch: u64, steps: &[&str]) -> Result<(), OpenError> {
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let found = found(connection, path, known)?;
    for (version, step) in (1..=known).zip(steps).skip(found as usize) {
        apply(connection, version, step, epoch).map_err(OpenError::engine(path))?;
    }
    Ok(())
}

fn apply(connection: &mut Connection, version: u32, step: &str, epoch: u64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(step)?;
    if version == 1 {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.execute("INSERT INTO meta VALUES (1, ?1, 0, 0, 0, 0, 0, 0)", [meta::digits(epoch)])?;
    }
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(connection: &Connection) -> String {
        connection
            .query_row("SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name)", [], |row| row.get(0))
            .unwrap()
    }

    const FIRST: &str = "CREATE TABLE meta (a, b, c, d, e, f, g, h) ; CREATE TABLE one (a)";

    #[test]
    fn steps_run_once_in_their_order() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("some.db");
        for steps in [&[FIRST][..], &[FIRST, "CREATE TABLE two (a)", "DROP TABLE one"][..]] {
            run(&mut connection, path, 7, steps).unwrap();
            run(&mut connection, path, 7, steps).unwrap();
        }
        assert_eq!(names(&connection), "meta two");
        assert_eq!(found(&connection, path, 3).unwrap(), 3);
    }

    #[test]
    fn a_step_that_breaks_off_leaves_the_version_before_it() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("some.db");
        let broken = [FIRST, "CREATE TABLE two (a); DROP TABLE one; INSERT INTO nowhere VALUES (1)"];
        assert!(run(&mut connection, path, 7, &broken).is_err());
        assert_eq!((names(&connection).as_str(), found(&connection, path, 2).unwrap()), ("meta one", 1));

        run(&mut connection, path, 7, &[FIRST, "CREATE TABLE two (a)"]).unwrap();
        assert_eq!((names(&connection).as_str(), found(&connection, path, 2).unwrap()), ("meta one two", 2));
    }
}
