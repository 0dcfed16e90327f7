//! The scrubber: a thread that reads the files again while they are in use.
//!
//! Another program may cut or overwrite the files in place, and a disk may lose data. The engine does not detect such a
//! change, because it copies the log into the database without verifying the checksums of the log. Like crash recovery,
//! the scrubber follows the checksum chain of the log from the header to the last commit. It also checks that each page
//! of the database is in one of the two files. It cannot detect a changed byte within a page of the database, because
//! pages have no checksum. Files that have not changed since the last few scrubs are not read again.

use std::fs::Metadata;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use petstore_platform::change_stamp;
use rusqlite::Connection;

use crate::checkpoint::{self, LogState};
use crate::file_identity::FileLoss;
use crate::log_file::LogFile;
use crate::open_files::OpenFiles;
use crate::wal::{Checksum, ChecksumChain, FRAME_HEADER_BYTES, Frame, HEADER_BYTES, LogHeader};
use crate::{OpenError, connection};

/// Number of bytes of the log that are read at once. The thread can be stopped between two pieces.
const PIECE_BYTES: usize = 256 * 1024;

/// Number of requests per scrub. Requests come twice a second. Damage that a scrub has found is reported by the request
/// after the scrub, so damage is reported within two seconds. A scrub reads the whole log, so more frequent scrubs
/// would slow down the writes of a busy server.
const REQUESTS_PER_SCRUB: u32 = 2;

/// Number of scrubs of files whose time stamps have not changed. More than one scrub is needed, because two writes in
/// quick succession may give the file the same time stamp.
const UNCHANGED_SCRUBS_MAX: u32 = 3;

/// Number of attempts to read the files while the writer continues. If all of them fail, the scrub blocks the writer
/// and reads the files once more.
const UNBLOCKED_TRIES: usize = 3;

const LOG_OVERWRITTEN: &str = "the data file's -wal has been overwritten";
const DATA_CUT: &str = "the data file has been cut short";

/// The handle of the scrubber's thread.
pub(crate) struct Scrubber {
    requests: SyncSender<()>,
    is_stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Scrubber {
    /// Starts the thread that scrubs these files. The thread records damage in `files`.
    pub(crate) fn start(
        log_file: &Arc<LogFile>,
        log: &Arc<LogState>,
        files: &OpenFiles,
    ) -> Result<Self, OpenError> {
        let path = files.path().to_owned();
        let connection = connection::checkpointer(&path)?;
        let (requests, requested) = sync_channel(1);
        let is_stopping = Arc::new(AtomicBool::new(false));
        let task = Task {
            connection,
            log_file: Arc::clone(log_file),
            log: Arc::clone(log),
            files: files.clone(),
            is_stopping: Arc::clone(&is_stopping),
            verified: VerifiedLog::default(),
            unchanged: UnchangedScrubs::default(),
        };
        let thread = std::thread::Builder::new().name("scrubber".into()).spawn(move || task.run(&requested));
        let thread = thread.map_err(|source| OpenError::File { path, source })?;
        Ok(Self { requests, is_stopping, thread })
    }

    /// Requests a scrub. Call it twice a second.
    pub(crate) fn request(&self) {
        // If the channel is full, it already contains a request.
        let _ = self.requests.try_send(());
    }

    /// Stops the thread, even in the middle of a scrub.
    pub(crate) fn stop(self) {
        let Self { requests, is_stopping, thread } = self;
        is_stopping.store(true, Ordering::Relaxed);
        drop(requests);
        // An error means that the thread has panicked, which has been reported already.
        let _ = thread.join();
    }
}

struct Task {
    connection: Connection,
    log_file: Arc<LogFile>,
    log: Arc<LogState>,
    files: OpenFiles,
    is_stopping: Arc<AtomicBool>,
    verified: VerifiedLog,
    unchanged: UnchangedScrubs,
}

impl Task {
    fn run(mut self, requested: &Receiver<()>) {
        let mut requests = 0;
        while requested.recv().is_ok() && !self.is_stopping.load(Ordering::Relaxed) {
            requests += 1;
            let is_due = requests % REQUESTS_PER_SCRUB == 0;
            if is_due && let Err(loss) = self.scrub() {
                self.log.halt();
                self.files.set_damage(loss.into());
            }
        }
    }

    /// Scrubs the files once, if a scrub is due.
    fn scrub(&mut self) -> Result<(), FileLoss> {
        let Ok(stamps) = self.stamps() else { return Ok(()) };
        if !self.unchanged.is_due(stamps) {
            return Ok(());
        }
        match self.read_confirmed()? {
            Some(verified) => self.verified = verified,
            None => self.unchanged = UnchangedScrubs::default(),
        }
        self.files.count_scrub();
        Ok(())
    }

    /// Reads both files. A log that restarts during the read looks damaged, too. So damage is confirmed by another read
    /// while the writer is blocked.
    fn read_confirmed(&self) -> Result<Option<VerifiedLog>, FileLoss> {
        for _ in 0..UNBLOCKED_TRIES {
            if let Ok(read) = self.read() {
                return Ok(read);
            }
        }
        let _blocked = self.log.lock_writes();
        let before = checkpoint::frame_count(&self.connection);
        let read = self.read();
        // The lock does not block other processes, so damage counts only if none of them has written meanwhile.
        let is_unchanged = before.is_some() && checkpoint::frame_count(&self.connection) == before;
        read.or_else(|loss| if is_unchanged { Err(loss) } else { Ok(None) })
    }

    fn stamps(&self) -> io::Result<Stamps> {
        let stamp = |found: &Metadata| (change_stamp(found), found.len());
        Ok([stamp(&self.log_file.file().metadata()?), stamp(&self.files.data().file().metadata()?)])
    }

    /// Reads both files once. None if a part of them could not be read.
    fn read(&self) -> Result<Option<VerifiedLog>, FileLoss> {
        let Some(frames) = checkpoint::frame_count(&self.connection) else { return Ok(None) };
        if frames == 0 {
            return self.read_without_log();
        }
        let Some(begin) = self.log_file.bytes::<HEADER_BYTES>(0)? else { return Ok(None) };
        let header =
            LogHeader::parse(&begin).filter(|header| self.verified.may_be_followed_by(header, frames));
        let header = header.ok_or(FileLoss::Data(LOG_OVERWRITTEN))?;
        let Some(pages) = self.pages_after(&header, frames)? else { return Ok(None) };
        let Some(mut beyond) = self.pages_beyond_end(&header, pages, frames)? else {
            return Ok(None);
        };
        let mut verified = VerifiedLog::begin(header);
        let mut piece = vec![0; PIECE_BYTES / header.frame_bytes() * header.frame_bytes()];
        while verified.frames < frames {
            if self.is_stopping.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let left = (frames - verified.frames) as usize;
            let length = piece.len().min(left.saturating_mul(header.frame_bytes()));
            let at = offset(&header, verified.frames);
            if !self.log_file.fill(&mut piece[..length], at)? {
                return Ok(None);
            }
            for frame in piece[..length].chunks_exact(header.frame_bytes()).map(Frame::new) {
                if !verified.follow(frame, &self.verified) {
                    return Err(FileLoss::Data(LOG_OVERWRITTEN));
                }
                beyond.found(frame.page());
            }
        }
        if beyond.is_incomplete() { Err(FileLoss::Data(DATA_CUT)) } else { Ok(Some(verified)) }
    }

    /// Checks a database whose log is empty. All pages must then be in the data file.
    fn read_without_log(&self) -> Result<Option<VerifiedLog>, FileLoss> {
        let number = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
        let (Ok(pages), Ok(size)) = (number("page_count"), number("page_size")) else {
            return Ok(None);
        };
        match self.files.data().file().metadata() {
            Ok(found) if found.len() < pages.saturating_mul(size) => Err(FileLoss::Data(DATA_CUT)),
            _ => Ok(Some(VerifiedLog { was_emptied: true, ..self.verified })),
        }
    }

    /// Returns the number of pages of the database after the last commit in the log.
    fn pages_after(&self, header: &LogHeader, frames: u32) -> Result<Option<u32>, FileLoss> {
        let last = self.log_file.bytes::<FRAME_HEADER_BYTES>(offset(header, frames - 1))?;
        Ok(last.map(|last| Frame::new(&last).pages_after_commit()))
    }

    /// Returns the pages of the database that are beyond the end of the data file. The log must contain all of them.
    fn pages_beyond_end(
        &self,
        header: &LogHeader,
        pages: u32,
        frames: u32,
    ) -> Result<Option<PagesBeyondEnd>, FileLoss> {
        let Ok(found) = self.files.data().file().metadata() else { return Ok(None) };
        let stored = u32::try_from(found.len() / header.page as u64).unwrap_or(u32::MAX);
        let missing = pages.saturating_sub(stored);
        if missing > frames {
            return Err(FileLoss::Data(DATA_CUT));
        }
        Ok(Some(PagesBeyondEnd { stored, is_found: vec![false; missing as usize] }))
    }
}

/// Returns the offset of a frame, counted from 0.
fn offset(header: &LogHeader, frame: u32) -> u64 {
    HEADER_BYTES as u64 + u64::from(frame) * header.frame_bytes() as u64
}

/// The pages beyond the end of the data file.
struct PagesBeyondEnd {
    /// The number of pages in the data file.
    stored: u32,
    is_found: Vec<bool>,
}

impl PagesBeyondEnd {
    fn found(&mut self, page: u32) {
        let place = page.checked_sub(self.stored).and_then(|place| place.checked_sub(1));
        if let Some(found) = place.and_then(|place| self.is_found.get_mut(place as usize)) {
            *found = true;
        }
    }

    fn is_incomplete(&self) -> bool {
        self.is_found.contains(&false)
    }
}

/// The part of the log that has been verified.
#[derive(Debug, Clone, Copy, Default)]
struct VerifiedLog {
    header: Option<LogHeader>,
    chain: Option<ChecksumChain>,
    /// The number of verified frames.
    frames: u32,
    /// The checksum of the last verified frame.
    checksum: Checksum,
    /// True if the log was emptied after these frames. The next content of the log must then belong to a later
    /// generation.
    was_emptied: bool,
}

impl VerifiedLog {
    fn begin(header: LogHeader) -> Self {
        Self {
            header: Some(header),
            chain: Some(ChecksumChain::of(header)),
            frames: 0,
            checksum: header.checksum,
            was_emptied: false,
        }
    }

    /// Checks that a log with this header and number of frames can come after the verified log. Either it is the same
    /// log and not shorter, or the log has restarted since. Each restart increments the first salt.
    fn may_be_followed_by(&self, next: &LogHeader, frames: u32) -> bool {
        self.header.is_none_or(|header| {
            let restarts = next.generation().wrapping_sub(header.generation());
            let is_same = header == *next && frames >= self.frames && !self.was_emptied;
            is_same || (1..1 << 31).contains(&restarts)
        })
    }

    /// Verifies the next frame. Returns false if the frame is invalid, or if its checksum differs from that of the last
    /// scrub.
    fn follow(&mut self, frame: Frame<'_>, last_scrub: &Self) -> bool {
        let Some(chain) = &mut self.chain else { return false };
        let is_valid = chain.follow(frame);
        self.frames += 1;
        self.checksum = chain.checksum();
        let is_changed = last_scrub.header == self.header
            && last_scrub.frames == self.frames
            && last_scrub.checksum != self.checksum;
        is_valid && !is_changed
    }
}

/// The change times and lengths of the log and of the data file.
type Stamps = [((i64, i64), u64); 2];

/// The count of scrubs since the files were last changed.
#[derive(Default)]
struct UnchangedScrubs {
    stamps: Option<Stamps>,
    scrubs: u32,
}

impl UnchangedScrubs {
    fn is_due(&mut self, stamps: Stamps) -> bool {
        if self.stamps != Some(stamps) {
            *self = Self { stamps: Some(stamps), scrubs: 0 };
        }
        self.scrubs = self.scrubs.saturating_add(1);
        self.scrubs <= UNCHANGED_SCRUBS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_files_are_scrubbed_a_few_times_and_again_after_a_change() {
        let mut unchanged = UnchangedScrubs::default();
        let stamps = [((1, 2), 3), ((4, 5), 6)];
        let scrubs =
            |unchanged: &mut UnchangedScrubs, stamps| (0..9).filter(|_| unchanged.is_due(stamps)).count();
        assert_eq!(scrubs(&mut unchanged, stamps), 3);
        assert_eq!(scrubs(&mut unchanged, [((1, 2), 3), ((4, 6), 6)]), 3);
        assert_eq!(scrubs(&mut unchanged, stamps), 3);
    }

    #[test]
    fn a_page_in_neither_file_is_missing() {
        let mut beyond = PagesBeyondEnd { stored: 7, is_found: vec![false; 2] };
        for page in [1, 7, 8, 10] {
            beyond.found(page);
        }
        assert!(beyond.is_incomplete());
        beyond.found(9);
        assert!(!beyond.is_incomplete());
    }
}
