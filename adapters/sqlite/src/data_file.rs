//! The data file as it was opened, and the check that it still has the header of a petstore's file.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use crate::data_lock;
use crate::file_identity::FileIdentity;
use crate::files::MAGIC;
use crate::schema;
use crate::schema::APPLICATION_ID;

/// Fields of the database header that do not change while a server has the file open (file format, section 1.3). The
/// page size was set when the file was created. The journal mode is that of the write-ahead log, because opening a
/// backup for the first time sets this mode.
const PAGE_SIZE: Range<usize> = 16..18;
const JOURNAL_MODE: Range<usize> = 18..20;
const WRITE_AHEAD: [u8; 2] = [2, 2];
const PAYLOAD_FRACTIONS: Range<usize> = 21..24;
const FIXED_FRACTIONS: [u8; 3] = [64, 32, 32];

/// The application id. It is zero until the tables have been copied from the log into the file.
const APPLICATION: Range<usize> = 68..72;
const HEADER_BYTES: usize = 100;

/// Fields whose values are known for every file of a petstore (file format, section 1.3). They are the reserved space
/// at the end of a page (none), the schema format and the text encoding (both 0 until the file has a table), the schema
/// version, and fields that only auto-vacuum, an old pragma or later formats use. Counters and the number of pages are
/// not checked, because each checkpoint changes them.
const RESERVED_SPACE: usize = 20;
const SCHEMA_FORMAT: usize = 44;
const NEWEST_FORMAT: u32 = 4;
const ENCODING: usize = 56;
const UTF_8: u32 = 1;
const USER_VERSION: usize = 60;
const UNUSED: [Range<usize>; 4] = [48..52, 52..56, 64..68, 72..92];

/// The data file as it was opened.
///
/// Drop this value after all connections to the file, because closing its descriptor releases SQLite's locks on the
/// file.
#[derive(Debug)]
pub(crate) struct DataFile {
    opened: FileIdentity,
    page_size: OnceLock<[u8; 2]>,
}

impl DataFile {
    /// Opens the file for writing, so that a read-only file is refused before a companion file is created.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { opened: FileIdentity::open(path)?, page_size: OnceLock::new() })
    }

    pub(crate) fn path(&self) -> &Path {
        self.opened.path()
    }

    /// Returns the opened file. The caller must not close the file.
    pub(crate) fn file(&self) -> &File {
        self.opened.file()
    }

    /// Locks the file itself, on the systems on which [`data_lock`] can. The lock lasts as long as this value.
    pub(crate) fn lock(&self) -> Result<(), TryLockError> {
        data_lock::lock(self.file())
    }

    /// Checks that the path leads to this file and that the file has the header of a petstore's file.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        const REPLACED: &str = "another file is in the place of the data file that was opened";
        self.opened.check_path("the data file has been removed", REPLACED)?;
        let is_sound = self.opened.first_bytes().is_none_or(|header| self.is_its_header(&header));
        if is_sound { Ok(()) } else { Err("the data file has been overwritten") }
    }

    fn is_its_header(&self, header: &[u8; HEADER_BYTES]) -> bool {
        let page_size = [header[PAGE_SIZE.start], header[PAGE_SIZE.start + 1]];
        header.starts_with(MAGIC)
            && *self.page_size.get_or_init(|| page_size) == page_size
            && header[JOURNAL_MODE] == WRITE_AHEAD
            && header[PAYLOAD_FRACTIONS] == FIXED_FRACTIONS
            && header[RESERVED_SPACE] == 0
            && number(header, SCHEMA_FORMAT) <= NEWEST_FORMAT
            && number(header, ENCODING) <= UTF_8
            && number(header, USER_VERSION) <= schema::VERSION
            && UNUSED.iter().all(|range| header[range.clone()].iter().all(|byte| *byte == 0))
            && [APPLICATION_ID, 0].map(i32::to_be_bytes).iter().any(|id| header[APPLICATION] == *id)
    }
}

/// Returns the number in a field of four bytes.
fn number(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}
