//! What a file at rest must have beside it, and whether all that was acknowledged is still in there.
//!
//! SQLite takes a log up to the first frame that is not valid, and an absent log for an empty one. A server that stopped in
//! order leaves no log; one that was killed leaves what it wrote last in there alone.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::Connection;

use crate::checkpoint::{self, Settled};
use crate::files::{self, ending};
use crate::wal::{Frame, HEADER_BYTES, Header, Place, Tail};
use crate::{OpenError, connection, meta};

/// Bytes of the log that are read at once.
pub(crate) const PIECE_BYTES: usize = 1024 * 1024;

/// Times that a damage is looked for in a log which somebody writes meanwhile.
const LOOKS_MAX: usize = 3;

/// Bytes that a page may have.
const PAGE_SIZES: [usize; 8] = [512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536];

/// What is done about a log that is damaged where that costs acknowledged changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DamagedLog {
    /// The file is not opened, and stays as it is.
    #[default]
    Refuse,
    /// What stands behind the damage is dropped.
    Drop,
}

/// Refuses a database whose log is damaged before its last transaction. To be asked before the database is opened.
pub(crate) fn check_log(database: &Path) -> Result<(), OpenError> {
    let path = ending(database, "-wal");
    match damage(&path) {
        Ok(None) => Ok(()),
        Ok(Some(place)) => Err(OpenError::LogDamaged { path, place }),
        Err(source) => Err(OpenError::File { path, source }),
    }
}

/// The same for a database that is only read, and an absent log besides.
pub(crate) fn check_at_rest(database: &Path) -> Result<(), OpenError> {
    if files::has_log(database) { check_log(database) } else { check_young(database) }
}

/// Where a log is damaged. One that somebody writes at this moment may look so once.
fn damage(log: &Path) -> io::Result<Option<Place>> {
    let log = match File::open(log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        log => log?,
    };
    let mut last = None;
    for _ in 0..LOOKS_MAX {
        let found = look(&log)?;
        if found.is_none() || found == last {
            return Ok(found.map(|(_, place)| place));
        }
        last = found;
    }
    Ok(None)
}

/// Reads the log once. Returns its header with the damage.
fn look(log: &File) -> io::Result<Option<([u8; HEADER_BYTES], Place)>> {
    let mut header = [0; HEADER_BYTES];
    if !is_read(log.read_exact_at(&mut header, 0))? {
        return Ok(None);
    }
    // A header that is damaged does not tell how long the pages are.
    let known = Header::parse(&header).map(|header| header.page);
    let pages = known.map_or_else(|| PAGE_SIZES.to_vec(), |page| vec![page]);
    for page in pages {
        let mut tail = Tail::begin(&header, page);
        read(log, &mut tail)?;
        if let Some(place) = tail.damage() {
            return Ok(Some((header, place)));
        }
    }
    Ok(None)
}

/// Takes all frames of a log.
fn read(log: &File, tail: &mut Tail) -> io::Result<()> {
    let frame = tail.frame_bytes();
    let mut piece = vec![0; PIECE_BYTES / frame * frame];
    let (mut at, end) = (HEADER_BYTES as u64, log.metadata()?.len());
    while at < end {
        let left = usize::try_from(end - at).unwrap_or(usize::MAX).min(piece.len());
        let frames = &mut piece[..left / frame * frame];
        if frames.is_empty() || !is_read(log.read_exact_at(frames, at))? {
            break;
        }
        frames.chunks_exact(frame).for_each(|frame| tail.take(Frame::new(frame)));
        at += frames.len() as u64;
    }
    Ok(())
}

/// Whether all was there; a file that ends earlier is none of the system's failures.
fn is_read(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

/// Takes what stands before the damage into the database, and the log away. Nobody else may have the database open: who has
/// one open knows the frames behind the damage, too.
pub(crate) fn drop_damaged(database: &Path) -> Result<(), OpenError> {
    let failed = OpenError::engine(database);
    let connection = connection::open(database).map_err(&failed)?;
    connection.pragma_update(None, "locking_mode", "exclusive").map_err(&failed)?;
    match checkpoint::settle(&connection).map_err(&failed)? {
        Settled::Emptied => Ok(()),
        Settled::Copied | Settled::Partly => Err(OpenError::Engine {
            path: database.into(),
            reason: "another program has it open: end that first".to_owned(),
        }),
    }
}

/// Refuses a database that has nothing but its tables, and no log beside it, although it was in use: from its first use on
/// it has an epoch, and one that ended in order with nothing written has given that back ([`end_young`]).
pub(crate) fn check_young(database: &Path) -> Result<(), OpenError> {
    let known = connection::open(database).ok().and_then(|connection| meta::read(&connection).ok());
    match known {
        Some(header) if header.last_batch.0 == 0 && header.epoch != meta::NO_EPOCH => {
            Err(OpenError::LogMissing { path: database.into(), log: ending(database, "-wal") })
        }
        _ => Ok(()),
    }
}

/// To be called at the end of a use in which nothing was written.
pub(crate) fn end_young(connection: &Connection) -> rusqlite::Result<()> {
    meta::forget_epoch(connection)
}
