//! Connections, and what is set on each.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::{IfNamesakes, Mended, OpenError, foreign, meta, schema};

/// Bytes of a page. A batch of orders changes pets all over the file, and every page that it touches is written to the
/// log, and later to the file, whole. Orders a second, each one pet's row and one new row, 100,000 pets, checkpoints
/// beside, each after 16 MiB of the log (two cores, the best of several rounds on a busy machine):
///
/// | orders a batch | 4,096 B | 1,024 B | 512 B |
/// |---|---|---|---|
/// | 1 | 4,100 | 6,300 | 7,400 |
/// | 16 | 46,900 | 64,700 | 66,500 |
/// | 64 | 65,900 | 105,500 | 121,800 |
/// | 256 | 97,600 | 133,600 | 165,400 |
/// | most of the log at 64 | 119 MiB | 34 MiB | 18 MiB |
///
/// A million pets load in 0.4 s with each. SQLite has no smaller page; with this one a file may grow to 2 TiB.
const PAGE_BYTES: u32 = 512;

/// KiB of the writer's page cache: the inner pages of some million rows. Leaves come from the system's cache, at no
/// cost that could be measured; and a commit that has split a page searches all of this one, so more is not better.
const CACHE_KIB: i32 = 4 * 1024;

/// Bytes that the log keeps between two rounds; more than that, after a bulk load, is given back.
const LOG_BYTES_KEPT: u32 = 64 * 1024 * 1024;

/// How long a writer waits for a lock that somebody else holds: only a tool that writes into the file can.
const BUSY_WAIT: Duration = Duration::from_secs(1);

/// Statements that a connection keeps prepared; more than there are.
const STATEMENTS_KEPT: usize = 64;

/// What is said where SQLite falls back to another journal than the write-ahead log.
const NO_SHARED_MEMORY: &str = "its file system cannot share memory between those who have a file open, as some network file systems cannot: it belongs on a local disk";

/// Opens a database for writing. With an epoch it is made if it is empty, and brought to this program's schema; that
/// epoch is a new file's and an unopened copy's. Without one it must be what it was.
pub(crate) fn writer(
    path: &Path,
    epoch_if_new: Option<u64>,
    if_namesakes: IfNamesakes,
) -> Result<(Connection, Mended), OpenError> {
    let mut connection = open(path).map_err(OpenError::engine(path))?;
    // Before anything is asked of it: the index of the log is made with the file's mode, and would stay like that.
    if connection.is_readonly("main").map_err(OpenError::engine(path))? {
        return Err(OpenError::File { path: path.into(), source: io::ErrorKind::PermissionDenied.into() });
    }
    let found = schema::version(&connection, path)?;
    if epoch_if_new.is_none() && found != schema::VERSION {
        return Err(OpenError::NotAJournal { path: path.into() });
    }
    // Before a step runs. What is added later neither runs here nor is reason enough to refuse a recovery.
    if epoch_if_new.is_some() {
        foreign::check(&connection, path, found)?;
    }
    set(&connection, path)?;
    let mut mended = Mended::default();
    if let Some(epoch) = epoch_if_new {
        mended = schema::migrate(&mut connection, path, epoch, if_namesakes)?;
        meta::begin_epoch(&connection, epoch).map_err(OpenError::engine(path))?;
    }
    // Only now: a migration may have to build a table anew.
    connection.pragma_update(None, "foreign_keys", true).map_err(OpenError::engine(path))?;
    Ok((connection, mended))
}

fn set(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let set = |name, value| connection.pragma_update(None, name, value).map_err(OpenError::engine(path));
    // In force only while the file is empty.
    set("page_size", i64::from(PAGE_BYTES))?;
    write_ahead(connection, path)?;
    set("cache_size", -i64::from(CACHE_KIB))?;
    set("journal_size_limit", i64::from(LOG_BYTES_KEPT))?;
    // Checkpoints are another connection's.
    set("wal_autocheckpoint", 0)
}

/// Sets what a copy is made with that is worth nothing before it is whole.
pub(crate) fn for_a_copy(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "page_size", i64::from(PAGE_BYTES))?;
    connection.pragma_update_and_check(None, "journal_mode", "off", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "off")
}

fn write_ahead(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let set = |name, value| connection.pragma_update(None, name, value).map_err(OpenError::engine(path));
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(OpenError::engine(path))?;
    if mode != "wal" {
        return Err(OpenError::Engine { path: path.into(), reason: NO_SHARED_MEMORY.to_owned() });
    }
    set("synchronous", "full")?;
    // On macOS alone: there a plain sync leaves the data in the drive's cache.
    set("fullfsync", "on")?;
    set("checkpoint_fullfsync", "on")
}

/// Opens a database for checkpoints alone. It waits for nobody: what cannot be copied now is copied the next time.
pub(crate) fn checkpointer(path: &Path) -> Result<Connection, OpenError> {
    let connection = open(path).map_err(OpenError::engine(path))?;
    write_ahead(&connection, path)?;
    connection.busy_timeout(Duration::ZERO).map_err(OpenError::engine(path))?;
    Ok(connection)
}

/// Opens a journal for reading, be it in use or at rest. It must have this program's schema.
///
/// Not in SQLite's read-only mode: a log that such a connection opens for a file at rest stays behind, empty, while the
/// last one of this kind to leave takes the log with it. A file that may not be written is opened read-only all the same.
pub(crate) fn reader(path: &Path) -> Result<Connection, OpenError> {
    match known(path)? {
        (connection, schema::VERSION) => schema::check_folding(&connection, path).map(|()| connection),
        (_, found) => Err(OpenError::Version { path: path.into(), found, known: schema::VERSION }),
    }
}

/// Opens a journal, as [`reader`] does, for a copy of it: that has the schema of its original, which may be an older one.
pub(crate) fn original(path: &Path) -> Result<Connection, OpenError> {
    known(path).map(|(connection, _)| connection)
}

/// A journal of a schema that this program knows, and which that is.
fn known(path: &Path) -> Result<(Connection, u32), OpenError> {
    let connection = open(path).map_err(OpenError::engine(path))?;
    match schema::version(&connection, path)? {
        0 => Err(OpenError::NotAJournal { path: path.into() }),
        found => Ok((connection, found)),
    }
}

/// Lets a connection end without a last checkpoint, which would also take the log away: by its name, which may be another
/// file's by then.
pub(crate) fn leave_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
}

/// Opens a file that is there. A connection is used by one thread at a time, so it needs no lock of its own.
pub(crate) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_WAIT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    // The schema has none of these. Somebody may add one at any time, and nothing of it is to run on these connections.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_cannot_share_memory_is_named_as_the_reason() {
        // It has no log either.
        let connection = Connection::open_in_memory().unwrap();
        let refused = write_ahead(&connection, Path::new("shop.db")).unwrap_err().to_string();
        assert!(
            refused.starts_with("shop.db cannot be used: its file system cannot share memory"),
            "{refused}"
        );
        assert!(refused.ends_with("it belongs on a local disk"), "{refused}");
    }

    #[test]
    fn a_writer_copies_nothing_by_itself_and_gives_back_what_the_log_has_grown_beyond_its_bound() {
        let path = std::env::temp_dir().join(format!("petstore-pragmas-{}", std::process::id()));
        crate::files::create(&path).unwrap();
        let (writer, _) = writer(&path, Some(1), IfNamesakes::Refuse).unwrap();
        let set = |name| writer.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((set("wal_autocheckpoint"), set("journal_size_limit")), (0, i64::from(LOG_BYTES_KEPT)));
        drop(writer);
        std::fs::remove_file(path).unwrap();
    }
}
