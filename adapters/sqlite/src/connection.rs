//! Connections to the database, and the settings of each kind of connection.

use std::io;
use std::path::Path;
use std::time::Duration;

use petstore_ports::{Unwatched, WorkProgress};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::EngineError;
use crate::{NameCollisions, OpenError, RepairedValues, meta, schema, schema_check};

/// The page size in bytes, the smallest that SQLite has. Small pages save disk writes: a batch of orders changes pets
/// all over the file, and each changed page is written as a whole, first to the log and later to the file
/// (PERFORMANCE.md, "SQLite"). A file can grow to 2 TiB.
const PAGE_BYTES: u32 = 512;

/// The size of the writer's page cache in KiB. It has room for the inner pages of some million rows; leaf pages are in
/// the cache of the operating system. A larger cache would slow down a commit that has split a page, because such a
/// commit searches the whole cache.
const CACHE_KIB: i32 = 4 * 1024;

/// The size in bytes to which a checkpoint truncates a longer log. A log becomes longer for example in a bulk load.
const LOG_BYTES_KEPT: u32 = 64 * 1024 * 1024;

/// The longest wait for a lock of another program. Only a tool that writes into the file holds such a lock.
const BUSY_WAIT: Duration = Duration::from_secs(1);

/// The number of prepared statements that a connection caches. It is higher than the number of different statements.
const STATEMENTS_KEPT: usize = 64;

/// The error if SQLite falls back to another journal mode than the write-ahead log.
const NO_SHARED_MEMORY: &str = "its file system, such as a network file system, has no shared memory for the processes that have the \
                                file open: move the file to a local disk";

/// The writer's connection.
pub(crate) struct Writer {
    pub(crate) connection: Connection,
    pub(crate) repaired: RepairedValues,
    /// True if the content was adapted to this program in a transaction that is still open; see [`accept`].
    pub(crate) is_tentative: bool,
}

/// Opens a database for writing. If an epoch is given, the schema is created or migrated, and the epoch is set in a new
/// file or in a backup that was never opened. Unless the file is new, these changes are tentative: they are undone when
/// the connection is closed before [`accept`], so that a file whose content is refused stays as it was. If no epoch is
/// given, the file must have the current schema.
pub(crate) fn writer(
    path: &Path,
    epoch_if_new: Option<u64>,
    collisions: NameCollisions,
    progress: &dyn WorkProgress,
) -> Result<Writer, OpenError> {
    let connection = open(path).map_err(OpenError::engine(path))?;
    // The permission is checked before the first query, because the query creates the index of the log with the
    // permissions of the file.
    if connection.is_readonly("main").map_err(OpenError::engine(path))? {
        return Err(OpenError::File { path: path.into(), source: io::ErrorKind::PermissionDenied.into() });
    }
    let found = schema::version(&connection, path)?;
    if epoch_if_new.is_none() && found != schema::VERSION {
        return Err(OpenError::NotAJournal { path: path.into() });
    }
    let mut writer = Writer { connection, repaired: RepairedValues::default(), is_tentative: false };
    // The schema is checked before the migration, because unexpected objects could disturb the steps of the migration.
    // A recovery does not check the schema. Another program may have added objects since the start, but triggers and
    // views never run here.
    if let Some(epoch) = epoch_if_new {
        schema_check::check(&writer.connection, path, found)?;
        schema::check_event_version(&writer.connection, path, found)?;
        if !is_adapted(&writer.connection, path, found)? {
            adapt(&mut writer, path, epoch, found, collisions, progress)?;
        }
    }
    if !writer.is_tentative {
        set(&writer.connection, path)?;
    }
    Ok(writer)
}

/// Returns true if a file of this schema version can be used as it is.
fn is_adapted(connection: &Connection, path: &Path, found: u32) -> Result<bool, OpenError> {
    if !schema::is_current(connection, path, found)? {
        return Ok(false);
    }
    let is_copy = meta::is_copy(connection).map_err(OpenError::engine(path))?;
    let version = meta::event_version(connection).map_err(OpenError::engine(path))?;
    Ok(!is_copy && version.is_none_or(|version| version == petstore_event_codec::VERSION))
}

/// Adapts a file to this program. The changes of a new file are committed.
fn adapt(
    writer: &mut Writer,
    path: &Path,
    epoch: u64,
    found: u32,
    collisions: NameCollisions,
    progress: &dyn WorkProgress,
) -> Result<(), OpenError> {
    let Writer { connection, repaired, is_tentative } = writer;
    let failed = OpenError::engine(path);
    let is_new = found == 0;
    if is_new {
        set(connection, path)?;
    } else {
        set_sync(connection, path)?;
        // A file without a write-ahead log keeps its old pages only in a rollback journal. Nothing is written into such a
        // file before the commit.
        connection.pragma_update(None, "cache_spill", "off").map_err(&failed)?;
    }
    connection.execute_batch("BEGIN IMMEDIATE").map_err(&failed)?;
    *is_tentative = true;
    *repaired = schema::migrate(connection, path, epoch, collisions, progress)?;
    meta::begin_epoch(connection, epoch).map_err(&failed)?;
    meta::set_event_version(connection, petstore_event_codec::VERSION).map_err(&failed)?;
    if is_new {
        connection.execute_batch("COMMIT").map_err(&failed)?;
        *is_tentative = false;
    }
    Ok(())
}

/// Makes the tentative changes of a connection durable. Returns another connection, because the engine cannot copy the log
/// that a connection has begun in a file whose schema it has changed.
pub(crate) fn accept(connection: Connection, path: &Path) -> Result<Connection, OpenError> {
    connection.execute_batch("COMMIT").map_err(OpenError::engine(path))?;
    drop(connection);
    let Writer { connection, .. } = writer(path, None, NameCollisions::Refuse, &Unwatched)?;
    // The engine opens a new log with the first read. A checkpoint cannot open the log.
    schema::version(&connection, path).map(|_| connection)
}

fn set(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let set = |name, value| connection.pragma_update(None, name, value).map_err(OpenError::engine(path));
    // The page size takes effect only while the file is empty.
    set("page_size", i64::from(PAGE_BYTES))?;
    write_ahead(connection, path)?;
    set("cache_size", -i64::from(CACHE_KIB))?;
    set("journal_size_limit", i64::from(LOG_BYTES_KEPT))?;
    // This connection does no checkpoints, because they run on another connection.
    set("wal_autocheckpoint", 0)?;
    // Foreign keys are enabled after a migration, because a step that rebuilds a table must run without them.
    connection.pragma_update(None, "foreign_keys", true).map_err(OpenError::engine(path))
}

/// Sets up a connection that writes a copy. A copy that is not completed is discarded, so the connection needs no
/// journal and no syncs.
pub(crate) fn configure_copy(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "page_size", i64::from(PAGE_BYTES))?;
    connection.pragma_update_and_check(None, "journal_mode", "off", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "off")
}

fn write_ahead(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(OpenError::engine(path))?;
    if mode != "wal" {
        return Err(OpenError::Engine { path: path.into(), source: EngineError::new(NO_SHARED_MEMORY) });
    }
    set_sync(connection, path)
}

/// Makes each commit durable before it returns.
fn set_sync(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let set = |name, value| connection.pragma_update(None, name, value).map_err(OpenError::engine(path));
    set("synchronous", "full")?;
    // On macOS a plain sync leaves the data in the cache of the drive.
    set("fullfsync", "on")?;
    set("checkpoint_fullfsync", "on")
}

/// Opens a database for checkpoints. The connection does not wait for locks. If a checkpoint cannot copy pages because
/// of a lock, the next checkpoint copies them.
pub(crate) fn checkpointer(path: &Path) -> Result<Connection, OpenError> {
    let connection = open(path).map_err(OpenError::engine(path))?;
    write_ahead(&connection, path)?;
    connection.busy_timeout(Duration::ZERO).map_err(OpenError::engine(path))?;
    Ok(connection)
}

/// Opens a journal for reading, even if a server uses the journal. The journal must have the current schema.
///
/// The connection is not in SQLite's read-only mode, because such a connection creates an empty log for a file that no
/// process uses, and cannot remove the log. But a file without write permission is opened read-only.
pub(crate) fn reader(path: &Path) -> Result<Connection, OpenError> {
    match open_journal(path)? {
        (connection, schema::VERSION) => schema::check_folding(&connection, path).map(|()| connection),
        (_, found) => Err(OpenError::Version { path: path.into(), found, known: schema::VERSION }),
    }
}

/// Opens a journal for a backup, even if a server uses the journal. The journal may have any schema version that this
/// program knows, because the copy keeps the version.
pub(crate) fn reader_of_any_version(path: &Path) -> Result<Connection, OpenError> {
    open_journal(path).map(|(connection, _)| connection)
}

/// Opens a journal of a schema version that this program knows. Returns the connection and the version.
fn open_journal(path: &Path) -> Result<(Connection, u32), OpenError> {
    let connection = open(path).map_err(OpenError::engine(path))?;
    match schema::version(&connection, path)? {
        0 => Err(OpenError::NotAJournal { path: path.into() }),
        found => Ok((connection, found)),
    }
}

/// Disables the checkpoint that SQLite runs when the connection is closed. That checkpoint would also remove the log by
/// its path, and the path may lead to another file by then.
pub(crate) fn leave_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
}

/// Opens an existing file. Only one thread at a time uses the connection, so SQLite needs no mutex for it.
pub(crate) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_WAIT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    // The schema has no triggers and no views. Another program may add a trigger or a view at any time, and it must not
    // run here.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_shared_memory_is_named_as_the_reason() {
        // A database in memory cannot have a write-ahead log either.
        let connection = Connection::open_in_memory().unwrap();
        let refused = write_ahead(&connection, Path::new("shop.db")).unwrap_err().report();
        assert!(
            refused.starts_with(
                "shop.db cannot be used: its file system, such as a network file system, has no shared"
            ),
            "{refused}"
        );
        assert!(refused.ends_with("move the file to a local disk"), "{refused}");
    }

    #[test]
    fn a_writer_runs_no_checkpoints_and_truncates_the_log_to_its_bound() {
        let path = std::env::temp_dir().join(format!("petstore-pragmas-{}", std::process::id()));
        crate::files::create(&path).unwrap();
        let Writer { connection: writer, .. } =
            writer(&path, Some(1), NameCollisions::Refuse, &Unwatched).unwrap();
        let set = |name| writer.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((set("wal_autocheckpoint"), set("journal_size_limit")), (0, i64::from(LOG_BYTES_KEPT)));
        drop(writer);
        std::fs::remove_file(path).unwrap();
    }
}
