//! The files, read again while they are in use: somebody may have cut or overwritten them in place, and a disk may have lost
//! what it had.
//!
//! The engine would not notice: it reads frames of the log without their checksums, and copies them into the database. So a
//! thread of its own follows the log as a start after a crash would, from its header to the last commit, and looks whether each
//! page of the database is in one of the two files. A byte within a page of the database cannot be told: pages carry no
//! checksum. A log that has not been touched since it was read is not read again.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::checkpoint::{self, Log};
use crate::open::Lost;
use crate::original::{LogFile, Originals};
use crate::wal::{Chain, FRAME_HEADER_BYTES, Frame, HEADER_BYTES, Header, Sums};
use crate::{OpenError, connection};

/// Bytes of the log that are read at once. Between two pieces the thread can be told to end.
const PIECE_BYTES: usize = 256 * 1024;

/// Frames of a log that is read at each call: 8 MiB, which takes a processor a few milliseconds.
const SHORT_LOG_FRAMES: u32 = 16_384;

/// Calls for a look at a longer log, of which one is heeded: they come twice a second, and a damage is to be noticed within
/// two.
const CALLS_PER_LOOK: u32 = 2;

/// Looks at a log that has the same times: what is written within the granularity of a file system's times changes none.
const LOOKS_AT_STILL: u32 = 3;

/// Looks while the log is begun again and again before all writers are held for one.
const TRIES: usize = 3;

const LOG_OVERWRITTEN: &str = "the data file's -wal has been overwritten";
const DATA_CUT: &str = "the data file has been cut short";

/// The thread that reads the files again.
pub(crate) struct Watch {
    calls: SyncSender<()>,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// Starts it for files that are open. What it finds is noted in `originals`.
    pub(crate) fn start(
        log_file: &Arc<LogFile>,
        log: &Arc<Log>,
        originals: &Originals,
    ) -> Result<Self, OpenError> {
        let path = originals.path().to_owned();
        let connection = connection::checkpointer(&path)?;
        let (calls, called) = sync_channel(1);
        let ends = Arc::new(AtomicBool::new(false));
        let watched = Watched {
            connection,
            log_file: Arc::clone(log_file),
            log: Arc::clone(log),
            originals: originals.clone(),
            ends: Arc::clone(&ends),
            known: Known::default(),
            still: Still::default(),
        };
        let thread =
            std::thread::Builder::new().name("file-watch".into()).spawn(move || watched.run(&called));
        let thread = thread.map_err(|source| OpenError::File { path, source })?;
        Ok(Self { calls, ends, thread })
    }

    /// Asks for a look. To be called twice a second.
    pub(crate) fn call(&self) {
        // Full means: it has been asked already.
        let _ = self.calls.try_send(());
    }

    /// Ends it, in the midst of a look if need be.
    pub(crate) fn stop(self) {
        let Self { calls, ends, thread } = self;
        ends.store(true, Ordering::Relaxed);
        drop(calls);
        // An error would be its panic, which has been reported where it happened.
        let _ = thread.join();
    }
}

struct Watched {
    connection: Connection,
    log_file: Arc<LogFile>,
    log: Arc<Log>,
    originals: Originals,
    ends: Arc<AtomicBool>,
    known: Known,
    still: Still,
}

impl Watched {
    fn run(mut self, called: &Receiver<()>) {
        let mut calls = 0;
        while called.recv().is_ok() && !self.ends.load(Ordering::Relaxed) {
            calls += 1;
            let is_heeded = calls % CALLS_PER_LOOK == 0 || self.log.pages() <= SHORT_LOG_FRAMES;
            if is_heeded && let Err(lost) = self.look() {
                self.log.halt();
                self.originals.damaged(lost.into());
            }
        }
    }

    /// Looks once, if there may be something new. What is found is looked at again while nobody writes: before that it may be
    /// a log that has been begun again while it was read.
    fn look(&mut self) -> Result<(), Lost> {
        let Ok(stamp) = self.stamp() else { return Ok(()) };
        if !self.still.is_worth_a_look(stamp) {
            return Ok(());
        }
        match self.read_surely()? {
            Some(known) => self.known = known,
            None => self.still = Still::default(),
        }
        self.originals.looked();
        Ok(())
    }

    fn read_surely(&self) -> Result<Option<Known>, Lost> {
        for _ in 0..TRIES {
            if let Ok(look) = self.read() {
                return Ok(look);
            }
        }
        let _held = self.log.pass();
        let before = checkpoint::frames(&self.connection);
        let look = self.read();
        // Somebody else may write, too.
        let is_still = before.is_some() && checkpoint::frames(&self.connection) == before;
        look.or_else(|lost| if is_still { Err(lost) } else { Ok(None) })
    }

    fn stamp(&self) -> io::Result<Stamp> {
        let stamp = |found: &Metadata| (found.ctime(), found.ctime_nsec(), found.len());
        Ok([stamp(&self.log_file.file().metadata()?), stamp(&self.originals.data().file().metadata()?)])
    }

    /// Reads both files once. None if something could not be read.
    fn read(&self) -> Result<Option<Known>, Lost> {
        let Some(frames) = checkpoint::frames(&self.connection) else { return Ok(None) };
        if frames == 0 {
            return self.read_data_alone();
        }
        let Some(begin) = self.log_file.bytes::<HEADER_BYTES>(0)? else { return Ok(None) };
        let header = Header::parse(&begin).filter(|header| self.known.may_be_followed_by(header, frames));
        let header = header.ok_or(Lost::Data(LOG_OVERWRITTEN))?;
        let Some(pages) = self.pages_after(&header, frames)? else { return Ok(None) };
        let Some(mut beyond) = self.pages_beyond_data(&header, pages, frames)? else {
            return Ok(None);
        };
        let mut known = Known::of(header);
        let mut piece = vec![0; PIECE_BYTES / header.frame_bytes() * header.frame_bytes()];
        while known.frames < frames {
            if self.ends.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let left = (frames - known.frames) as usize;
            let length = piece.len().min(left.saturating_mul(header.frame_bytes()));
            let at = place(&header, known.frames);
            if !self.log_file.fill(&mut piece[..length], at)? {
                return Ok(None);
            }
            for frame in piece[..length].chunks_exact(header.frame_bytes()).map(Frame::new) {
                if !known.follow(frame, &self.known) {
                    return Err(Lost::Data(LOG_OVERWRITTEN));
                }
                beyond.found(frame.page());
            }
        }
        if beyond.is_missing() { Err(Lost::Data(DATA_CUT)) } else { Ok(Some(known)) }
    }

    /// A log with nothing in it: all pages are in the database.
    fn read_data_alone(&self) -> Result<Option<Known>, Lost> {
        let number = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
        let (Ok(pages), Ok(size)) = (number("page_count"), number("page_size")) else {
            return Ok(None);
        };
        match self.originals.data().file().metadata() {
            Ok(found) if found.len() < pages.saturating_mul(size) => Err(Lost::Data(DATA_CUT)),
            _ => Ok(Some(Known { is_over: true, ..self.known })),
        }
    }

    /// Pages of the database after the last commit in the log.
    fn pages_after(&self, header: &Header, frames: u32) -> Result<Option<u32>, Lost> {
        let last = self.log_file.bytes::<FRAME_HEADER_BYTES>(place(header, frames - 1))?;
        Ok(last.map(|last| Frame::new(&last).pages_after_commit()))
    }

    /// The pages that the data file is too short for, all of which must be in the log.
    fn pages_beyond_data(&self, header: &Header, pages: u32, frames: u32) -> Result<Option<Beyond>, Lost> {
        let Ok(found) = self.originals.data().file().metadata() else { return Ok(None) };
        let has = u32::try_from(found.len() / header.page as u64).unwrap_or(u32::MAX);
        let missing = pages.saturating_sub(has);
        if missing > frames {
            return Err(Lost::Data(DATA_CUT));
        }
        Ok(Some(Beyond { first: has, is_found: vec![false; missing as usize] }))
    }
}

/// Where a frame begins, counted from 0.
fn place(header: &Header, frame: u32) -> u64 {
    HEADER_BYTES as u64 + u64::from(frame) * header.frame_bytes() as u64
}

/// Pages behind the end of the data file.
struct Beyond {
    /// The last page that is in the data file.
    first: u32,
    is_found: Vec<bool>,
}

impl Beyond {
    fn found(&mut self, page: u32) {
        let place = page.checked_sub(self.first).and_then(|place| place.checked_sub(1));
        if let Some(found) = place.and_then(|place| self.is_found.get_mut(place as usize)) {
            *found = true;
        }
    }

    fn is_missing(&self) -> bool {
        self.is_found.contains(&false)
    }
}

/// What is known of the log.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    header: Option<Header>,
    chain: Option<Chain>,
    /// Frames that were followed.
    frames: u32,
    /// The checksum of the last of them.
    sums: Sums,
    /// Whether the log was empty after that: what it holds next has another beginning.
    is_over: bool,
}

impl Known {
    fn of(header: Header) -> Self {
        Self {
            header: Some(header),
            chain: Some(Chain::of(header)),
            frames: 0,
            sums: header.sums,
            is_over: false,
        }
    }

    /// Whether a log with this header and so many frames may come after what is known: it is the same and has not become
    /// shorter, or it was begun later. Each beginning counts the first of the salts up by one.
    fn may_be_followed_by(&self, next: &Header, frames: u32) -> bool {
        self.header.is_none_or(|header| {
            let later = next.beginning().wrapping_sub(header.beginning());
            let goes_on = header == *next && frames >= self.frames && !self.is_over;
            goes_on || (1..1 << 31).contains(&later)
        })
    }

    /// Follows a frame. False if it is not valid, or another than it was.
    fn follow(&mut self, frame: Frame<'_>, before: &Self) -> bool {
        let Some(chain) = &mut self.chain else { return false };
        let is_valid = chain.follow(frame);
        self.frames += 1;
        self.sums = chain.sums();
        let is_other =
            before.header == self.header && before.frames == self.frames && before.sums != self.sums;
        is_valid && !is_other
    }
}

/// When the log and the data file were changed last, and how long they are.
type Stamp = [(i64, i64, u64); 2];

/// For how many looks the files have not been touched.
#[derive(Default)]
struct Still {
    stamp: Option<Stamp>,
    looks: u32,
}

impl Still {
    fn is_worth_a_look(&mut self, stamp: Stamp) -> bool {
        if self.stamp != Some(stamp) {
            *self = Self { stamp: Some(stamp), looks: 0 };
        }
        self.looks = self.looks.saturating_add(1);
        self.looks <= LOOKS_AT_STILL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_nobody_touches_are_read_a_few_times_and_again_once_they_are_touched() {
        let mut still = Still::default();
        let stamp = [(1, 2, 3), (4, 5, 6)];
        let looks = |still: &mut Still, stamp| (0..9).filter(|_| still.is_worth_a_look(stamp)).count();
        assert_eq!(looks(&mut still, stamp), 3);
        assert_eq!(looks(&mut still, [(1, 2, 3), (4, 6, 6)]), 3);
        assert_eq!(looks(&mut still, stamp), 3);
    }

    #[test]
    fn a_page_that_is_in_neither_file_is_missing() {
        let mut beyond = Beyond { first: 7, is_found: vec![false; 2] };
        for page in [1, 7, 8, 10] {
            beyond.found(page);
        }
        assert!(beyond.is_missing());
        beyond.found(9);
        assert!(!beyond.is_missing());
    }
}
