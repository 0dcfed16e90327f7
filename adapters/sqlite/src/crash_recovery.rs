//! The checks of a log that a crash has left. They run before the engine (SQLite) reads the log.
//!
//! SQLite reads a log up to the first invalid frame, and treats a missing log like an empty one. A server that is
//! stopped normally removes its log. After a server was killed, its last writes are only in the log, so acknowledged
//! changes are lost if the log is damaged or missing.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::Connection;

use crate::checkpoint::{self, LogCopy};
use crate::error::EngineError;
use crate::files::{self, with_suffix};
use crate::wal::{DamageScan, Frame, HEADER_BYTES, LogHeader, LogPosition};
use crate::{OpenError, connection, meta};

/// Number of bytes of the log that are read at once.
const PIECE_BYTES: usize = 1024 * 1024;

/// Maximum number of reads that confirm damage. One read is not enough, because the log may be written during the read.
const READS_MAX: usize = 3;

/// The page sizes that a database may have.
const PAGE_SIZES: [usize; 8] = [512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536];

/// The policy for a log whose damage loses acknowledged changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DamagedLog {
    /// Refuse to open the file, and leave it as it is.
    #[default]
    Refuse,
    /// Drop the changes after the damage.
    Drop,
}

/// Makes the log durable and checks it, before the engine reads it. If the changes after a damaged position were
/// dropped, returns that position.
pub(crate) fn recover_log(
    database: &Path,
    damaged_log: DamagedLog,
) -> Result<Option<LogPosition>, OpenError> {
    if !files::has_log(database) {
        return check_log_not_lost(database).map(|()| None);
    }
    // A killed process may have left a batch that was not synced. The batch must be on disk before more is written
    // after it.
    files::sync_log(database).map_err(|source| OpenError::File { path: database.into(), source })?;
    match (check_log(database), damaged_log) {
        (Err(OpenError::LogDamaged { position, .. }), DamagedLog::Drop) => {
            drop_damaged(database).map(|()| Some(position))
        }
        (checked, _) => checked.map(|()| None),
    }
}

/// Refuses a database whose log is damaged before its last transaction. Call it before the database is opened.
fn check_log(database: &Path) -> Result<(), OpenError> {
    let path = with_suffix(database, "-wal");
    match damage(&path) {
        Ok(None) => Ok(()),
        Ok(Some(position)) => Err(OpenError::LogDamaged { path, position }),
        Err(source) => Err(OpenError::File { path, source }),
    }
}

/// Refuses a database whose log is damaged or missing. Call this function for a database that is opened only for
/// reading.
pub(crate) fn check_at_rest(database: &Path) -> Result<(), OpenError> {
    if files::has_log(database) { check_log(database) } else { check_log_not_lost(database) }
}

/// Finds the damage of a log. A log that is written at this moment may look damaged once, so damage counts only if two
/// reads agree.
fn damage(log: &Path) -> io::Result<Option<LogPosition>> {
    let log = match File::open(log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        log => log?,
    };
    let mut last = None;
    for _ in 0..READS_MAX {
        let found = read_once(&log)?;
        if found.is_none() || found == last {
            return Ok(found.map(|(_, position)| position));
        }
        last = found;
    }
    Ok(None)
}

/// Reads the log once. Returns its header and the damaged position.
fn read_once(log: &File) -> io::Result<Option<([u8; HEADER_BYTES], LogPosition)>> {
    let mut header = [0; HEADER_BYTES];
    if !is_complete(log.read_exact_at(&mut header, 0))? {
        return Ok(None);
    }
    // If the header is damaged, the page size is unknown, so all possible page sizes are tried.
    let known = LogHeader::parse(&header).map(|header| header.page);
    let pages = known.map_or_else(|| PAGE_SIZES.to_vec(), |page| vec![page]);
    for page in pages {
        let mut scan = DamageScan::begin(&header, page);
        scan_frames(log, &mut scan)?;
        if let Some(position) = scan.damage() {
            return Ok(Some((header, position)));
        }
    }
    Ok(None)
}

/// Scans all frames of a log.
fn scan_frames(log: &File, scan: &mut DamageScan) -> io::Result<()> {
    let frame = scan.frame_bytes();
    let mut piece = vec![0; PIECE_BYTES / frame * frame];
    let (mut at, end) = (HEADER_BYTES as u64, log.metadata()?.len());
    while at < end {
        let left = usize::try_from(end - at).unwrap_or(usize::MAX).min(piece.len());
        let frames = &mut piece[..left / frame * frame];
        if frames.is_empty() || !is_complete(log.read_exact_at(frames, at))? {
            break;
        }
        frames.chunks_exact(frame).for_each(|frame| scan.add(Frame::new(frame)));
        at += frames.len() as u64;
    }
    Ok(())
}

/// Returns true if all bytes were read, false if the file ends before, and an error if the file cannot be read.
fn is_complete(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

/// Copies the frames before the damage into the database, and removes the log. No other process may have the database
/// open, because the other process would still use the frames after the damage, which its index of the log lists.
fn drop_damaged(database: &Path) -> Result<(), OpenError> {
    let failed = OpenError::engine(database);
    let connection = connection::open(database).map_err(&failed)?;
    connection.pragma_update(None, "locking_mode", "exclusive").map_err(&failed)?;
    match checkpoint::copy_and_empty(&connection).map_err(&failed)? {
        LogCopy::Emptied => Ok(()),
        LogCopy::Complete | LogCopy::Partial => {
            let source = EngineError::new("another program has it open: end that program first");
            Err(OpenError::Engine { path: database.into(), source })
        }
    }
}

/// Refuses a database that has no log and no batches, but was not closed normally. The first use of a database sets an
/// epoch. If no batch is written, the normal end of the use removes the epoch again ([`mark_closed_empty`]). So if the
/// database has an epoch and no batch, a log existed and is lost, and all batches may have been in it.
fn check_log_not_lost(database: &Path) -> Result<(), OpenError> {
    let known = connection::open(database).ok().and_then(|connection| meta::read(&connection).ok());
    match known {
        Some(header) if header.last_batch.0 == 0 && header.epoch != meta::NO_EPOCH => {
            Err(OpenError::LogMissing { path: database.into(), log: with_suffix(database, "-wal") })
        }
        _ => Ok(()),
    }
}

/// Marks a database as closed normally. Call it at the end of a use without a write.
pub(crate) fn mark_closed_empty(connection: &Connection) -> rusqlite::Result<()> {
    meta::forget_epoch(connection)
}
