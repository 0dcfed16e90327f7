//! Whether the files are still those that were opened: somebody may remove, replace or overwrite them under a server, which
//! would go on to write where nobody will look for it.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use petstore_ports::{BatchNumber, Header, Row, StoreError};

use crate::error::unreadable;
use crate::files::{MAGIC, ending, lock_soon};
use crate::open::Lost;
use crate::schema::APPLICATION_ID;
use crate::{DamagedLog, OpenError, Place, after_crash, connection, files, load, meta, schema};

/// The bytes that the header of a database begins with and that stay the same while a server has it (file format, section
/// 1.3): the length of a page is that of when it was made, and a copy that was never opened has another mode than the
/// write-ahead log.
const PAGE_SIZE: Range<usize> = 16..18;
const MODE: Range<usize> = 18..20;
const WRITE_AHEAD: [u8; 2] = [2, 2];
const FRACTIONS: Range<usize> = 21..24;
const ALL_FRACTIONS: [u8; 3] = [64, 32, 32];

/// Where a database says whose it is; zeros until its tables have been copied from the log.
const APPLICATION: Range<usize> = 68..72;
const DATA_HEADER_BYTES: usize = 100;

/// Fields that no file of ours has with another value (file format, section 1.3): no reserved space at the end of a page, the
/// schema's format and the text encoding (both 0 until there is a table), the version of the schema, and fields that only
/// auto-vacuum, an old pragma or later formats use. Counters and the number of pages change with each checkpoint.
const RESERVED_SPACE: usize = 20;
const SCHEMA_FORMAT: usize = 44;
const NEWEST_FORMAT: u32 = 4;
const ENCODING: usize = 56;
const UTF_8: u32 = 1;
const USER_VERSION: usize = 60;
const UNUSED: [Range<usize>; 4] = [48..52, 52..56, 64..68, 72..92];

/// What the log begins with, but for its last bit (file format, section 4.1).
const LOG_MAGIC: u32 = 0x377F_0682;

/// The data file as it was opened.
///
/// Dropped when nothing else of it is open any more: who closes a file gives up the locks that SQLite has on it.
#[derive(Debug)]
pub(crate) struct DataFile {
    original: Original,
    page_size: OnceLock<[u8; 2]>,
}

impl DataFile {
    /// Opens it as one that is written: what may only be read is refused before anything is made beside it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { original: Original::open(path)?, page_size: OnceLock::new() })
    }

    /// The file itself. It is not to be closed.
    pub(crate) fn file(&self) -> &File {
        &self.original.file
    }

    /// Makes what is in the log last, and judges it, before the engine reads it. Returns where it was damaged, if what is
    /// behind that has been dropped.
    pub(crate) fn recover_log(&self, damaged: DamagedLog) -> Result<Option<Place>, OpenError> {
        let path = &self.original.path;
        if !files::has_log(path) {
            return after_crash::check_young(path).map(|()| None);
        }
        // A process that was killed may have left a batch that was not synced. What is written behind it must not be on
        // disk before it is.
        files::sync_log(path).map_err(|source| OpenError::File { path: path.clone(), source })?;
        match (after_crash::check_log(path), damaged) {
            (Err(OpenError::LogDamaged { place, .. }), DamagedLog::Drop) => {
                after_crash::drop_damaged(path).map(|()| Some(place))
            }
            (checked, _) => checked.map(|()| None),
        }
    }

    /// Takes the lock on the file itself, which lasts as long as this.
    ///
    /// On Linux alone: there the lock has nothing to do with those that SQLite takes on the same file. Systems after BSD
    /// keep both in one list, and the engine would wait for this one.
    pub(crate) fn lock(&self) -> Result<(), TryLockError> {
        if cfg!(target_os = "linux") { lock_soon(self.file()) } else { Ok(()) }
    }

    /// Says what has become of it, if it is not what it was.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        const ANOTHER: &str = "another file is in the place of the data file that was opened";
        self.original.check_place("the data file has been removed", ANOTHER)?;
        let is_itself = self.original.beginning().is_none_or(|begins| self.is_its_header(&begins));
        if is_itself { Ok(()) } else { Err("the data file has been overwritten") }
    }

    fn is_its_header(&self, begins: &[u8; DATA_HEADER_BYTES]) -> bool {
        let page_size = [begins[PAGE_SIZE.start], begins[PAGE_SIZE.start + 1]];
        begins.starts_with(MAGIC)
            && *self.page_size.get_or_init(|| page_size) == page_size
            && begins[MODE] == WRITE_AHEAD
            && begins[FRACTIONS] == ALL_FRACTIONS
            && begins[RESERVED_SPACE] == 0
            && number(begins, SCHEMA_FORMAT) <= NEWEST_FORMAT
            && number(begins, ENCODING) <= UTF_8
            && number(begins, USER_VERSION) <= schema::VERSION
            && UNUSED.iter().all(|range| begins[range.clone()].iter().all(|byte| *byte == 0))
            && [APPLICATION_ID, 0].map(i32::to_be_bytes).iter().any(|id| begins[APPLICATION] == *id)
    }
}

/// The number in a field of four bytes.
fn number(header: &[u8; DATA_HEADER_BYTES], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// The log as it was opened: the same for as long as the connection that opened it.
#[derive(Debug)]
pub(crate) struct LogFile(Original);

impl LogFile {
    /// That of a database.
    pub(crate) fn of(database: &Path) -> io::Result<Self> {
        Original::open(&ending(database, "-wal")).map(Self)
    }

    pub(crate) fn file(&self) -> &File {
        &self.0.file
    }

    /// Bytes from a place on; none if they cannot be read.
    pub(crate) fn bytes<const N: usize>(&self, at: u64) -> Result<Option<[u8; N]>, Lost> {
        let mut bytes = [0; N];
        Ok(self.fill(&mut bytes, at)?.then_some(bytes))
    }

    /// Fills bytes from a place on. False if they cannot be read; an error if the file ends before.
    pub(crate) fn fill(&self, bytes: &mut [u8], at: u64) -> Result<bool, Lost> {
        match self.0.file.read_exact_at(bytes, at) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(Lost::Data("the data file's -wal has been cut short"))
            }
            read => Ok(read.is_ok()),
        }
    }

    /// Says what has become of its name, if that is no longer its own.
    pub(crate) fn check_place(&self) -> Result<(), &'static str> {
        const ANOTHER: &str = "another file is in the place of the data file's -wal that was opened";
        self.0.check_place("the data file's -wal has been removed", ANOTHER)
    }

    /// Says what has become of what is in it. `is_used`: whether the engine knows of anything in it.
    pub(crate) fn check_contents(&self, is_used: bool) -> Result<(), &'static str> {
        let begins = self.0.beginning().map(u32::from_be_bytes);
        let is_itself = !is_used || begins.is_none_or(|begins| begins & !1 == LOG_MAGIC);
        if is_itself { Ok(()) } else { Err("the data file's -wal has been overwritten") }
    }
}

/// The files of a journal that is open in this process, to be read beside it, and asked at any time whether they are still
/// those that it opened.
///
/// To be dropped before the same file is opened anew: the last of these gives up the locks that this process has on it.
#[derive(Debug, Clone)]
pub struct Originals(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    data: DataFile,
    /// None while the journal has it closed.
    log: Mutex<Weak<LogFile>>,
    /// The number of the last batch that is known to be on disk.
    kept: AtomicU64,
    /// How often they have been read again.
    looks: AtomicU64,
    /// What is wrong with the files for good.
    damage: Mutex<Option<StoreError>>,
}

impl Originals {
    pub(crate) fn of(data: DataFile) -> Self {
        Self(Arc::new(Opened {
            data,
            log: Mutex::default(),
            kept: AtomicU64::new(0),
            looks: AtomicU64::new(0),
            damage: Mutex::default(),
        }))
    }

    /// Where the data file is.
    pub fn path(&self) -> &Path {
        &self.0.data.original.path
    }

    /// How often the files have been read again since they were opened.
    pub fn looks(&self) -> u64 {
        self.0.looks.load(Ordering::Acquire)
    }

    pub(crate) fn looked(&self) {
        self.0.looks.fetch_add(1, Ordering::AcqRel);
    }

    /// Says what is wrong with the files for good: then what is in them is not what the store holds, and may be
    /// somebody else's. A disk that is full, or a lock that somebody has, is nothing of the kind.
    pub fn check(&self) -> Result<(), StoreError> {
        if let Some(damage) = &*self.0.damage.lock() {
            return Err(damage.clone());
        }
        self.0.data.check().map_err(Lost::Data)?;
        let log = self.0.log.lock().upgrade();
        log.map_or(Ok(()), |log| log.check_place()).map_err(Lost::NameOfLog)?;
        Ok(())
    }

    /// Reads them as [`read_snapshot`](crate::read_snapshot) does, if they are what they were. Whatever becomes of them
    /// meanwhile, nothing is written into what is in their place.
    pub fn read_snapshot(
        &self,
        into: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<Header, StoreError> {
        self.check()?;
        // Before anything is read: what is written from now on is there besides.
        let kept = self.kept();
        let connection = connection::reader(self.path())?;
        connection::leave_log(&connection).map_err(|error| unreadable("the file", &error))?;
        // Once more: what was opened may be what has come since.
        self.check()?;
        // Somebody may have taken the log away while nobody had it open.
        let last = meta::read(&connection)?.last_batch;
        if last < kept {
            return Err(behind(last, kept));
        }
        load::hand_over(&connection, into)
    }

    pub(crate) fn data(&self) -> &DataFile {
        &self.0.data
    }

    /// From now on the log is this one.
    pub(crate) fn follow(&self, log: &Arc<LogFile>) {
        *self.0.log.lock() = Arc::downgrade(log);
    }

    pub(crate) fn kept(&self) -> BatchNumber {
        BatchNumber(self.0.kept.load(Ordering::Acquire))
    }

    /// This batch is on disk.
    pub(crate) fn keep(&self, batch: BatchNumber) {
        self.0.kept.store(batch.0, Ordering::Release);
    }

    pub(crate) fn damage(&self) -> Option<StoreError> {
        self.0.damage.lock().clone()
    }

    /// Something is wrong for good. What was wrong before stays what is told.
    pub(crate) fn damaged(&self, damage: StoreError) -> StoreError {
        self.0.damage.lock().get_or_insert(damage).clone()
    }
}

/// What is said of a file that has lost a batch.
pub(crate) fn behind(last: BatchNumber, kept: BatchNumber) -> StoreError {
    StoreError::corrupt(format!("batch {} was on disk, and the file ends at {}", kept.0, last.0))
}

/// A file that was opened, and the name under which it was found.
#[derive(Debug)]
struct Original {
    path: PathBuf,
    file: File,
}

impl Original {
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Self { path: path.into(), file })
    }

    /// Whether it is still the one that is found under its name, by device and inode. Both are asked for each time:
    /// there are file systems that number a file anew. What cannot be looked at is taken for well.
    fn check_place(&self, gone: &'static str, another: &'static str) -> Result<(), &'static str> {
        let id = |of: &Metadata| (of.dev(), of.ino());
        match (fs::metadata(&self.path), self.file.metadata()) {
            (Ok(found), Ok(opened)) if id(&found) != id(&opened) => Err(another),
            (Err(error), _) if is_gone(&error) => Err(gone),
            _ => Ok(()),
        }
    }

    /// Its first bytes, with zeros where it has none; nothing if it cannot be read.
    fn beginning<const N: usize>(&self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        match self.file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => None,
            Ok(()) | Err(_) => Some(bytes),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
