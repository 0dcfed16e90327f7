//! The check that a log continues the data file beside it.
//!
//! SQLite reads any valid log over any data file: nothing in a log names its file. So an older copy of the file under a
//! newer log, or the log of another file, gives a mixture of two states, in which each row may look sound.
//!
//! A log begins when all changes before it are in the file. So its first batch is the next one after the last batch of the
//! file alone. If a part of the log has been copied into the file, the file alone is in a state that the log contains.
//! Both are found in the row of `meta`, whose page is in the log with each batch.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::{MAIN_SEPARATOR, Path};

use petstore_platform::read_exact_at;
use petstore_ports::BatchNumber;
use rusqlite::{Connection, OpenFlags};

use crate::batch_mark::Mark;
use crate::files::with_suffix;
use crate::meta;
use crate::wal::{ChecksumChain, FRAME_HEADER_BYTES, Frame, HEADER_BYTES, LogHeader};

/// Number of frames that are read at once.
const FRAMES_AT_ONCE: usize = 512;

/// The number of times that a log must be found not to continue its file: a server may write both meanwhile.
const READS: usize = 2;

/// The epoch and the last batch in a row of `meta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    epoch: u64,
    last: BatchNumber,
}

/// The data file without its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alone {
    /// It has no tables: all of them are in the log.
    Empty,
    /// It has this row, on this page.
    Row(State, u32),
}

/// The findings about the beginning of a log.
#[derive(Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate finding")]
struct Beginning {
    /// True if the log has a frame.
    has_frames: bool,
    /// True if the log has the first page, in which the tables are listed.
    has_tables: bool,
    /// The first row of `meta`.
    first: Option<State>,
    /// True if a row of `meta` is that of the data file.
    has_row: bool,
    /// True if a row of `meta` has the epoch of the data file.
    has_epoch: bool,
}

/// Returns false if the log of a database is that of another file, or of a later state of this one. Returns true if that
/// cannot be judged. `marked`: the mark of the data file.
pub(crate) fn continues(database: &Path, marked: Option<&Mark>) -> bool {
    (0..READS).any(|_| does_continue(database, marked).unwrap_or(true))
}

fn does_continue(database: &Path, marked: Option<&Mark>) -> Option<bool> {
    let alone = alone(database)?;
    let begins = beginning(&with_suffix(database, "-wal"), alone).ok()?;
    Some(match alone {
        Alone::Empty => begins.has_tables || !begins.has_frames,
        Alone::Row(state, _) => begins.follows(state, marked),
    })
}

impl Beginning {
    fn follows(&self, file: State, marked: Option<&Mark>) -> bool {
        let Some(first) = self.first.filter(|_| !self.has_row) else { return true };
        // The first use of a copy sets its epoch without a batch, and an end without a batch removes it.
        let has_none = file.epoch == meta::NO_EPOCH || first.epoch == meta::NO_EPOCH;
        let is_same = first.last == file.last && (has_none || first.epoch == file.epoch);
        let is_next = first.last.0 == file.last.0.saturating_add(1);
        // The epoch of a mark after the file's last batch must be in the log.
        let is_missed = marked.is_some_and(|mark| mark.names(file.epoch) && mark.last > file.last);
        (is_same || is_next) && (self.has_epoch || !is_missed)
    }
}

/// Reads the data file without its log; none if it cannot be read, which is reported when it is opened.
fn alone(database: &Path) -> Option<Alone> {
    let path = std::path::absolute(database).ok()?;
    let mut uri = "file:".to_owned();
    let text = path.as_os_str().as_encoded_bytes();
    // The path of a URI begins with a slash, also before a drive.
    if !text.starts_with(b"/") {
        uri.push('/');
    }
    for byte in text {
        match byte {
            separator if char::from(*separator) == MAIN_SEPARATOR => uri.push('/'),
            b'/' | b'.' | b'-' | b'_' | b':' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => {
                let _: Result<(), _> = write!(uri, "%{byte:02x}");
            }
        }
    }
    // Without its log, as if nothing could change the file.
    uri.push_str("?immutable=1");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags).ok()?;
    let sql = "SELECT max(rootpage) FROM sqlite_schema WHERE type = 'table' AND name = 'meta'";
    let Some(page) = connection.query_row(sql, [], |row| row.get::<_, Option<u32>>(0)).ok()? else {
        return Some(Alone::Empty);
    };
    let (epoch, last) = meta::epoch_and_last_batch(&connection).ok()?;
    Some(Alone::Row(State { epoch, last }, page))
}

/// Reads a log until it is clear whether it continues the file.
fn beginning(log: &Path, file: Alone) -> io::Result<Beginning> {
    let mut begins = Beginning::default();
    let log = File::open(log)?;
    let (mut header, end) = ([0; HEADER_BYTES], log.metadata()?.len());
    if end < HEADER_BYTES as u64 {
        return Ok(begins);
    }
    read_exact_at(&log, &mut header, 0)?;
    let Some(header) = LogHeader::parse(&header) else { return Ok(begins) };
    let (mut chain, frame) = (ChecksumChain::of(header), header.frame_bytes());
    let (mut piece, mut at) = (vec![0; FRAMES_AT_ONCE * frame], HEADER_BYTES as u64);
    while at < end {
        let left = usize::try_from(end - at).unwrap_or(usize::MAX).min(piece.len());
        let frames = &mut piece[..left / frame * frame];
        if frames.is_empty() {
            break;
        }
        read_exact_at(&log, frames, at)?;
        at += frames.len() as u64;
        for bytes in frames.chunks_exact(frame) {
            if !chain.follow(Frame::new(bytes)) || begins.add(bytes, file) {
                return Ok(begins);
            }
        }
    }
    Ok(begins)
}

impl Beginning {
    /// Adds a frame. Returns true if no further one is needed.
    fn add(&mut self, frame: &[u8], file: Alone) -> bool {
        self.has_frames = true;
        let number = Frame::new(frame).page();
        match file {
            Alone::Empty => self.has_tables |= number == 1,
            Alone::Row(state, page) if page == number => {
                let Some(row) = row(&frame[FRAME_HEADER_BYTES..]) else { return false };
                self.first.get_or_insert(row);
                self.has_row |= row == state;
                self.has_epoch |= row.epoch == state.epoch;
            }
            Alone::Row(..) => {}
        }
        self.has_tables || self.has_row
    }
}

/// Parses the page of the table `meta`: a leaf with one row (file format, sections 1.6 and 2.1).
fn row(page: &[u8]) -> Option<State> {
    const LEAF: u8 = 13;
    let pair = |at: usize| Some(u16::from_be_bytes(*page.get(at..)?.first_chunk()?));
    if *page.first()? != LEAF || pair(3)? != 1 {
        return None;
    }
    let mut cell = page.get(usize::from(pair(8)?)..)?;
    let _payload = varint(&mut cell)?;
    let _id = varint(&mut cell)?;
    let (mut types, length) = (cell, varint(&mut { cell })?);
    let mut values = cell.get(usize::try_from(length).ok()?..)?;
    varint(&mut types)?;
    // The id is in the key of the row.
    let _null = varint(&mut types)?;
    let digits = values.split_off(..usize::try_from(varint(&mut types)?.checked_sub(13)? / 2).ok()?)?;
    let epoch = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    let bytes = match varint(&mut types)? {
        size @ 1..=4 => size,
        5 => 6,
        6 => 8,
        8 => return Some(State { epoch, last: BatchNumber(0) }),
        9 => return Some(State { epoch, last: BatchNumber(1) }),
        _ => return None,
    };
    let number = values.get(..usize::try_from(bytes).ok()?)?;
    let last = number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    Some(State { epoch, last: BatchNumber(last) })
}

/// Takes a number of variable length from the beginning of bytes.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 1..=9 {
        let byte = *bytes.split_off_first()?;
        if place == 9 {
            return Some(number << 8 | u64::from(byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            break;
        }
    }
    Some(number)
}
