//! A copy of a store that is made from the rows in memory and not from the data file. So damage of the file is not
//! copied.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{self, Path};

use petstore_ports::{Header, Row, StoreError, Unwatched};
use rusqlite::Connection;

use crate::error::unavailable;
use crate::files::with_suffix;
use crate::snapshot::{begin_copy, check_target};
use crate::{BackupError, Copied, NameCollisions, PartialFile, connection, meta, schema, tables};

/// Number of bytes of a copy that are written at once.
const PIECE_BYTES: usize = 256 * 1024;

/// Writes a data file with these rows and without an epoch, like a [`backup`](crate::backup). The file is written in
/// the folder of the database. When the function returns, the file no longer has a name, on some versions of Windows when the
/// returned descriptor is closed. That is the only access to it.
pub fn copy_of(
    database: &Path,
    header: &Header,
    rows: impl Iterator<Item = Row>,
) -> Result<(File, Copied), StoreError> {
    let failed = |error: io::Error| StoreError::unavailable("the copy cannot be written").with_source(error);
    // When `partial` is dropped, the name of the file is removed.
    let partial = PartialFile::begin(&with_suffix(database, ".copy")).map_err(failed)?;
    let (pets, orders) = fill(partial.path(), header, rows)?;
    let file = File::open(partial.path()).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    Ok((file, Copied { pets, orders, bytes }))
}

fn fill(path: &Path, header: &Header, rows: impl Iterator<Item = Row>) -> Result<(u64, u64), StoreError> {
    let failed = |error| unavailable("the copy", &error);
    let mut connection = connection::open(path).map_err(failed)?;
    connection::configure_copy(&connection).map_err(failed)?;
    let transaction = connection.transaction().map_err(failed)?;
    // A new file contains no values to migrate.
    let _mended = schema::migrate(&transaction, path, meta::NO_EPOCH, NameCollisions::Refuse, &Unwatched)?;
    let counts = write(&transaction, header, rows).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    Ok(counts)
}

fn write(
    connection: &Connection,
    header: &Header,
    rows: impl Iterator<Item = Row>,
) -> rusqlite::Result<(u64, u64)> {
    let (mut pets, mut orders) = (0, 0);
    for row in rows {
        pets += u64::from(matches!(row, Row::Pet(_)));
        orders += u64::from(matches!(row, Row::Order(_)));
        tables::add(connection, &row)?;
    }
    meta::set(connection, header)?;
    Ok((pets, orders))
}

/// Saves a copy of `length` bytes, read from `bytes`. The copy is on disk when this returns. The target must not
/// exist.
pub fn keep_copy(source: &Path, target: &Path, bytes: &mut dyn Read, length: u64) -> Result<(), BackupError> {
    let failed = |error: io::Error| BackupError::target(target, error);
    let place = path::absolute(target).map_err(failed)?;
    check_target(&place, target)?;
    let partial = begin_copy(&place, source).map_err(failed)?;
    let _ = fs::remove_file(with_suffix(partial.path(), "-journal"));
    let (mut piece, mut left) = (vec![0; PIECE_BYTES], length);
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        bytes.read_exact(&mut piece[..wanted]).map_err(failed)?;
        partial.file().write_all(&piece[..wanted]).map_err(failed)?;
        left -= wanted as u64;
    }
    partial.file().sync_all().map_err(failed)?;
    check_target(&place, target)?;
    partial.finish().map_err(failed)
}
