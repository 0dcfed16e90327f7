//! The schema of the data file, and its migrations.

use std::path::Path;

use petstore_domain::FOLDING;
use petstore_ports::{WorkPhase, WorkProgress, WorkUnit};
use rusqlite::Connection;

use crate::repaired_values::RepairError;
use crate::{NameCollisions, OpenError, RepairedValues, meta, repair};

/// `PETS`, the application id in the header of the file.
pub(crate) const APPLICATION_ID: i32 = 0x5045_5453;

/// The steps from each version to the next. A released step never changes.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
    #[cfg(petstore_planted_member)]
    "ALTER TABLE pets ADD COLUMN former_name TEXT CHECK (length(former_name) BETWEEN 1 AND 100)",
];

/// The schema version from which a file stores the version of its folding rule.
const STORES_FOLDING_SINCE: u32 = 3;

/// The schema version from which a file has an event log.
const HAS_EVENTS_SINCE: u32 = 6;

/// The version that this program writes and reads.
#[expect(clippy::cast_possible_truncation, reason = "there will never be 2^32 of them")]
pub(crate) const VERSION: u32 = MIGRATIONS.len() as u32;

/// Returns the schema version of a file; 0 if it is empty. Refuses a file that is not a journal, or that has a newer schema
/// or a newer folding rule than this program.
pub(crate) fn version(connection: &Connection, path: &Path) -> Result<u32, OpenError> {
    let version = found(connection, path, VERSION)?;
    match folding(connection, path, version)? {
        folding if folding > FOLDING => {
            Err(OpenError::Folding { path: path.into(), found: folding, known: FOLDING })
        }
        _ => Ok(version),
    }
}

/// Refuses a file with an older folding rule. Call it when a file is opened only for reading; a file that is opened for
/// writing is migrated instead.
pub(crate) fn check_folding(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    match folding(connection, path, VERSION)? {
        FOLDING => Ok(()),
        found => Err(OpenError::Folding { path: path.into(), found, known: FOLDING }),
    }
}

/// Returns the version of the folding rule of a file. A file without a row in `meta` is damaged. The damage is reported
/// when the file is loaded.
fn folding(connection: &Connection, path: &Path, version: u32) -> Result<u32, OpenError> {
    match version {
        0 => Ok(FOLDING),
        1..STORES_FOLDING_SINCE => Ok(0),
        _ => Ok(meta::folding(connection).map_err(OpenError::engine(path))?.unwrap_or(FOLDING)),
    }
}

/// Refuses a file of this schema version whose events are in a newer form than this program knows.
pub(crate) fn check_event_version(
    connection: &Connection,
    path: &Path,
    version: u32,
) -> Result<(), OpenError> {
    if version < HAS_EVENTS_SINCE {
        return Ok(());
    }
    let known = petstore_event_codec::VERSION;
    match meta::event_version(connection).map_err(OpenError::engine(path))? {
        Some(found) if found > known => Err(OpenError::EventVersion { path: path.into(), found, known }),
        _ => Ok(()),
    }
}

/// Returns true if a file of any version has events.
pub(crate) fn has_events(connection: &Connection) -> rusqlite::Result<bool> {
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version < HAS_EVENTS_SINCE {
        return Ok(false);
    }
    connection.query_row("SELECT EXISTS (SELECT 1 FROM event_batches)", [], |row| row.get(0))
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

/// Checks a file with its indexes. Returns the first damage, if there is any. Takes seconds for a million pets.
pub(crate) fn damage(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    // The first line only names the database. The damage is on the lines after it.
    let told = found.lines().find(|line| !line.starts_with("***")).unwrap_or(&found);
    Ok((found != "ok").then(|| told.to_owned()))
}

/// Creates an empty journal in memory by running the migration steps up to this version.
pub(crate) fn made_by_steps(version: u32) -> rusqlite::Result<Connection> {
    const NO_EPOCH: u64 = 0;
    let connection = Connection::open_in_memory()?;
    for (version, step) in (1..=version).zip(MIGRATIONS) {
        apply(&connection, version, step, NO_EPOCH)?;
    }
    Ok(connection)
}

/// Returns true if a file of this schema version needs no migration.
pub(crate) fn is_current(connection: &Connection, path: &Path, found: u32) -> Result<bool, OpenError> {
    Ok(found == VERSION && folding(connection, path, found)? == FOLDING)
}

/// Migrates the schema and the values of a file. An empty file becomes a journal with this epoch. Returns the repaired
/// values. The caller has begun a transaction.
pub(crate) fn migrate(
    connection: &Connection,
    path: &Path,
    epoch: u64,
    collisions: NameCollisions,
    progress: &dyn WorkProgress,
) -> Result<RepairedValues, OpenError> {
    let found = version(connection, path)?;
    if is_current(connection, path, found)? {
        return Ok(RepairedValues::default());
    }
    let migrated = run(connection, path, epoch, MIGRATIONS, progress, |connection| {
        repair::repair_values(connection, found, collisions)
    });
    progress.end();
    migrated
}

/// Runs all steps, `finish` and the change of the version number in the transaction of the caller, so that an
/// interruption leaves the file unchanged.
fn run<T>(
    connection: &Connection,
    path: &Path,
    epoch: u64,
    steps: &[&str],
    progress: &dyn WorkProgress,
    finish: impl FnOnce(&Connection) -> Result<T, RepairError>,
) -> Result<T, OpenError> {
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let found = found(connection, path, known)?;
    let failed = OpenError::engine(path);
    // The values are checked in a last step.
    let total = Some(u64::from(known.saturating_sub(found)) + 1);
    progress.begin(WorkPhase { name: "migrating the data file", unit: WorkUnit::Steps, total });
    for (version, step) in (1..=known).zip(steps).skip(found as usize) {
        apply(connection, version, step, epoch).map_err(&failed)?;
        progress.reached(u64::from(version - found));
    }
    finish(connection).map_err(|error| match error {
        RepairError::Engine(error) => failed(error),
        RepairError::NameCollisions { categories, accounts } => {
            OpenError::NameCollisions { path: path.into(), categories, accounts }
        }
    })
}

fn apply(connection: &Connection, version: u32, step: &str, epoch: u64) -> rusqlite::Result<()> {
    connection.execute_batch(step)?;
    if version == 1 {
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.execute(
            "INSERT INTO meta VALUES (1, ?1, 0, 0, 0, 0, 0, 0)",
            [crate::epoch_text::digits(epoch)],
        )?;
    }
    connection.pragma_update(None, "user_version", version)
}

#[cfg(test)]
mod tests {
    use petstore_ports::Unwatched;

    use super::*;

    fn names(connection: &Connection) -> String {
        connection
            .query_row("SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name)", [], |row| row.get(0))
            .unwrap()
    }

    const FIRST: &str = "CREATE TABLE meta (a, b, c, d, e, f, g, h) ; CREATE TABLE one (a)";

    /// Runs the steps in a transaction of their own.
    fn commit<T>(
        connection: &mut Connection,
        steps: &[&str],
        finish: impl FnOnce(&Connection) -> Result<T, RepairError>,
    ) -> Result<T, OpenError> {
        let transaction = connection.transaction().unwrap();
        let done = run(&transaction, Path::new("some.db"), 7, steps, &Unwatched, finish)?;
        transaction.commit().unwrap();
        Ok(done)
    }

    #[test]
    fn each_step_runs_once_and_in_order() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("some.db");
        for steps in [&[FIRST][..], &[FIRST, "CREATE TABLE two (a)", "DROP TABLE one"][..]] {
            commit(&mut connection, steps, |_| Ok(())).unwrap();
            commit(&mut connection, steps, |_| Ok(())).unwrap();
        }
        assert_eq!(names(&connection), "meta two");
        assert_eq!(found(&connection, path, 3).unwrap(), 3);
    }

    #[test]
    fn a_failed_step_leaves_the_file_unchanged() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("some.db");
        commit(&mut connection, &[FIRST], |_| Ok(())).unwrap();
        let two = "CREATE TABLE two (a)";
        let broken = [FIRST, two, "DROP TABLE one; INSERT INTO nowhere VALUES (1)"];
        assert!(commit(&mut connection, &broken, |_| Ok(())).is_err());
        assert_eq!((names(&connection).as_str(), found(&connection, path, 3).unwrap()), ("meta one", 1));
        let refuse = |_: &Connection| {
            Err::<(), _>(RepairError::NameCollisions { categories: vec![], accounts: vec![] })
        };
        assert!(commit(&mut connection, &[FIRST, two], refuse).is_err());
        assert_eq!((names(&connection).as_str(), found(&connection, path, 3).unwrap()), ("meta one", 1));

        commit(&mut connection, &[FIRST, two], |_| Ok(())).unwrap();
        assert_eq!((names(&connection).as_str(), found(&connection, path, 2).unwrap()), ("meta one two", 2));
    }
}
