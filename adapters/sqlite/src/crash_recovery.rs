//! The checks of a log that a crash has left. They run before the engine (SQLite) reads the log.
//!
//! SQLite reads a log up to the first invalid frame, and treats a missing log like an empty one. A server that is
//! stopped normally removes its log. After a server was killed, its last writes are only in the log, so acknowledged
//! changes are lost if the log is damaged, emptied or missing.

use std::fs::File;
use std::io;
use std::path::Path;

use petstore_platform::read_exact_at;
use petstore_ports::BatchNumber;
use rusqlite::Connection;

use crate::checkpoint::{self, LogCopy};
use crate::error::EngineError;
use crate::files::{self, with_suffix};
use crate::wal::{DamageScan, Frame, HEADER_BYTES, LogHeader, LogPosition};
use crate::{OpenError, batch_mark, connection, log_base, meta};

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

/// Batches that had been on disk and are neither in the data file nor in its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingBatches {
    /// The last batch that is known to have been on disk.
    pub marked: BatchNumber,
    /// The last batch that is left.
    pub found: BatchNumber,
}

/// The changes that were given up when a log was recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct GivenUp {
    /// The damaged position of the log, if the changes after it were dropped.
    pub(crate) dropped: Option<LogPosition>,
    /// The batches that the file and its log lack.
    pub(crate) missing: Option<MissingBatches>,
}

/// Makes the log durable and checks it, before the engine reads it. `data` is the open data file. Returns the changes that
/// were given up, as far as `damaged_log` permits that.
pub(crate) fn recover_log(
    database: &Path,
    data: &File,
    damaged_log: DamagedLog,
) -> Result<GivenUp, OpenError> {
    if files::has_log(database) {
        // A killed process may have left a batch that was not synced. The batch must be on disk before more is written
        // after it.
        files::sync_log(database).map_err(|source| OpenError::File { path: database.into(), source })?;
    }
    match (check_at_rest(database), damaged_log) {
        (Err(OpenError::LogDamaged { position, .. }), DamagedLog::Drop) => {
            drop_damaged(database)?;
            batch_mark::remove(data);
            Ok(GivenUp { dropped: Some(position), missing: None })
        }
        (Err(OpenError::LogIncomplete { missing, .. }), DamagedLog::Drop) => {
            batch_mark::remove(data);
            Ok(GivenUp { dropped: None, missing: Some(missing) })
        }
        (checked, _) => checked.map(|()| GivenUp::default()),
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

/// Refuses a data file that a server would refuse at its start for its log, without opening it for writing. A file that was
/// closed normally is not looked at. Must not run in a process that has the file open.
pub fn check_log_of(file: &Path) -> Result<(), OpenError> {
    let database = files::resolve_link(file);
    if files::has_log(&database) || batch_mark::read(&database).is_some() {
        check_at_rest(&database)?;
    }
    Ok(())
}

/// Refuses a database whose log is damaged, missing, of another file, or without the batches that are known to have been in it.
pub(crate) fn check_at_rest(database: &Path) -> Result<(), OpenError> {
    let has_log = files::has_log(database);
    if has_log {
        check_log(database)?;
        if !log_base::continues(database, batch_mark::read(database).as_ref()) {
            let log = with_suffix(database, "-wal");
            return Err(OpenError::LogOfOther { path: database.into(), log });
        }
    }
    check_complete(database, has_log)
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

/// Reads the log once. Returns its header and the damaged position. SQLite syncs a valid header before it writes the
/// first frame, so a log of more bytes whose header is invalid is damaged even if no frame in it is valid.
fn read_once(log: &File) -> io::Result<Option<([u8; HEADER_BYTES], LogPosition)>> {
    let mut header = [0; HEADER_BYTES];
    if !is_complete(read_exact_at(log, &mut header, 0))? {
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
    let is_overwritten = known.is_none() && log.metadata()?.len() > HEADER_BYTES as u64;
    Ok(is_overwritten.then_some((header, LogPosition::Header)))
}

/// Scans all frames of a log.
fn scan_frames(log: &File, scan: &mut DamageScan) -> io::Result<()> {
    let frame = scan.frame_bytes();
    let mut piece = vec![0; PIECE_BYTES / frame * frame];
    let (mut at, end) = (HEADER_BYTES as u64, log.metadata()?.len());
    while at < end {
        let left = usize::try_from(end - at).unwrap_or(usize::MAX).min(piece.len());
        let frames = &mut piece[..left / frame * frame];
        if frames.is_empty() || !is_complete(read_exact_at(log, frames, at))? {
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

/// Refuses a database that lacks batches which had been on disk.
///
/// The last such batch is that of the mark ([`batch_mark`]). On a file system without marks, only a file without a batch
/// can be judged. The first use of a database sets an epoch. If no batch is written, the normal end of the use removes
/// the epoch again ([`mark_closed_empty`]). So if the database has an epoch, no batch and no log, a log existed and is
/// lost, and all batches may have been in it.
fn check_complete(database: &Path, has_log: bool) -> Result<(), OpenError> {
    // The mark is read before the file, because a server may write meanwhile.
    let marked = batch_mark::read(database);
    if has_log && marked.is_none() {
        return Ok(());
    }
    let Some((epoch, found)) = epoch_and_last_batch(database, has_log) else { return Ok(()) };
    // A copy that was never opened may have been written over the file that has the mark.
    if epoch == meta::NO_EPOCH {
        return Ok(());
    }
    let (path, log) = (database.into(), with_suffix(database, "-wal"));
    if !has_log && found.0 == 0 {
        return Err(OpenError::LogMissing { path, log });
    }
    match marked.filter(|mark| mark.is_of(epoch) && mark.last > found) {
        Some(mark) => {
            let missing = MissingBatches { marked: mark.last, found };
            Err(OpenError::LogIncomplete { path, log, missing })
        }
        None => Ok(()),
    }
}

/// Reads the row of `meta`; none if it cannot be read, which is reported when the file is opened.
fn epoch_and_last_batch(database: &Path, has_log: bool) -> Option<(u64, BatchNumber)> {
    let connection = connection::open(database).ok()?;
    // A log stays as it is, so that it can be examined. A log that this connection makes is removed again.
    if has_log {
        connection::leave_log(&connection).ok()?;
    }
    meta::epoch_and_last_batch(&connection).ok()
}

/// Marks a database as closed normally. Call it at the end of a use without a write.
pub(crate) fn mark_closed_empty(connection: &Connection) -> rusqlite::Result<()> {
    meta::forget_epoch(connection)
}
