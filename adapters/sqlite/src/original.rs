//! Whether the files are still those that were opened: somebody may remove, replace or overwrite them under a server, which
//! would go on to write where nobody will look for it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use petstore_ports::{BatchNumber, Header, Row, StoreError};

use crate::error::unreadable;
use crate::files::{MAGIC, ending};
use crate::open::Lost;
use crate::{connection, load, meta};

/// Where a database says which journal it is written and read with, and what stands for the write-ahead log there (file
/// format, section 1.3.3). It is so for as long as a server has the file, and not so in a copy that was never opened.
const MODE_AT: usize = 18;
const WRITE_AHEAD: [u8; 2] = [2, 2];

/// What the log begins with, but for its last bit (file format, section 4.1).
const LOG_MAGIC: u32 = 0x377F_0682;

/// The data file as it was opened.
///
/// Dropped when nothing else of it is open any more: who closes a file gives up the locks that SQLite has on it.
#[derive(Debug)]
pub(crate) struct DataFile(Original);

impl DataFile {
    /// Opens it as one that is written: what may only be read is refused before anything is made beside it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Original::open(path).map(Self)
    }

    /// Says what has become of it, if it is not what it was.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        const ANOTHER: &str = "another file is in the place of the data file that was opened";
        self.0.check_place("the data file has been removed", ANOTHER)?;
        let begins = self.0.beginning::<{ MODE_AT + WRITE_AHEAD.len() }>();
        let is_itself =
            begins.is_none_or(|begins| begins.starts_with(MAGIC) && begins[MODE_AT..] == WRITE_AHEAD);
        if is_itself { Ok(()) } else { Err("the data file has been overwritten") }
    }
}

/// The log as it was opened: the same for as long as the connection that opened it.
#[derive(Debug)]
pub(crate) struct LogFile(Original);

impl LogFile {
    /// That of a database.
    pub(crate) fn of(database: &Path) -> io::Result<Self> {
        Original::open(&ending(database, "-wal")).map(Self)
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
    /// What is wrong with the files for good.
    damage: Mutex<Option<StoreError>>,
}

impl Originals {
    pub(crate) fn of(data: DataFile) -> Self {
        Self(Arc::new(Opened {
            data,
            log: Mutex::default(),
            kept: AtomicU64::new(0),
            damage: Mutex::default(),
        }))
    }

    /// Where the data file is.
    pub fn path(&self) -> &Path {
        &self.0.data.0.path
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
