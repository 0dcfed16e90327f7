//! A copy of a store that is made of its rows, not of its file: what is wrong with the file is not in it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{self, Path};

use petstore_ports::{Header, Row, StoreError};
use rusqlite::Connection;

use crate::error::unavailable;
use crate::files::ending;
use crate::snapshot::{begin, is_free};
use crate::{BackupError, Copied, IfNamesakes, Part, connection, meta, schema, tables};

/// Bytes of a copy that are handed on at once.
const PIECE_BYTES: usize = 256 * 1024;

/// Makes a data file with these rows, without an epoch, like a [`backup`](crate::backup). It stands beside the database until
/// it is whole, and has no name when this returns.
pub fn copy_of(
    database: &Path,
    header: &Header,
    rows: impl Iterator<Item = Row>,
) -> Result<(File, Copied), StoreError> {
    let failed = |error: io::Error| StoreError::unavailable("the copy cannot be made").with_source(error);
    // It goes when it is dropped.
    let part = Part::begin(&ending(database, ".copy")).map_err(failed)?;
    let (pets, orders) = fill(part.path(), header, rows)?;
    let file = File::open(part.path()).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    Ok((file, Copied { pets, orders, bytes }))
}

fn fill(path: &Path, header: &Header, rows: impl Iterator<Item = Row>) -> Result<(u64, u64), StoreError> {
    let failed = |error| unavailable("the copy", &error);
    let mut connection = connection::open(path).map_err(failed)?;
    connection::for_a_copy(&connection).map_err(failed)?;
    // Nothing in a file that is made here has to be put right.
    let _mended = schema::migrate(&mut connection, path, meta::NO_EPOCH, IfNamesakes::Refuse)?;
    let counts = write(&connection, header, rows).map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    Ok(counts)
}

fn write(
    connection: &Connection,
    header: &Header,
    rows: impl Iterator<Item = Row>,
) -> rusqlite::Result<(u64, u64)> {
    let transaction = connection.unchecked_transaction()?;
    let (mut pets, mut orders) = (0, 0);
    for row in rows {
        pets += u64::from(matches!(row, Row::Pet(_)));
        orders += u64::from(matches!(row, Row::Order(_)));
        tables::add(&transaction, &row)?;
    }
    meta::set(&transaction, header)?;
    transaction.commit()?;
    Ok((pets, orders))
}

/// Keeps a copy that comes as bytes, so many of them: on disk when this returns. There must be no file at the target.
pub fn keep_copy(source: &Path, target: &Path, bytes: &mut dyn Read, length: u64) -> Result<(), BackupError> {
    let failed = |error: io::Error| BackupError::Target { path: target.into(), reason: error.to_string() };
    let place = path::absolute(target).map_err(failed)?;
    is_free(&place, target)?;
    let part = begin(&place, source).map_err(failed)?;
    let _ = fs::remove_file(ending(part.path(), "-journal"));
    let (mut piece, mut left) = (vec![0; PIECE_BYTES], length);
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        bytes.read_exact(&mut piece[..wanted]).map_err(failed)?;
        part.file().write_all(&piece[..wanted]).map_err(failed)?;
        left -= wanted as u64;
    }
    part.file().sync_all().map_err(failed)?;
    is_free(&place, target)?;
    part.finish().map_err(failed)
}
