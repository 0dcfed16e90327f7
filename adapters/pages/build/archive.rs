//! A reader for the parts of the zip format that the archive uses (PKWARE's APPNOTE, sections 4.3.7, 4.3.12 and
//! 4.3.16).

const END_OF_DIRECTORY: &[u8] = b"PK\x05\x06";
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL_ENTRY: &[u8] = b"PK\x03\x04";

/// Sizes in bytes of a directory entry and of a local one, before the name.
const DIRECTORY_ENTRY_LEN: usize = 46;
const LOCAL_ENTRY_LEN: usize = 30;

/// The method of an entry that is raw deflate.
const DEFLATE: usize = 8;

/// RFC 1952, section 2.3: deflate, no flags, no time, best compression, system unknown.
const GZIP_HEADER: [u8; 10] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 255];

/// A zip archive in memory.
pub(crate) struct Archive<'a>(&'a [u8]);

impl<'a> Archive<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns an entry as a gzip member; none if it does not exist, or is not deflated.
    pub(crate) fn gzip_member(&self, name: &str) -> Option<Vec<u8>> {
        let entry = self.directory()?.find(|entry| entry.name == name.as_bytes())?;
        if number(entry.fixed, 10, 2)? != DEFLATE {
            return None;
        }
        let checksum_and_sizes = entry.fixed.get(16..28)?;
        let (checksum, sizes) = checksum_and_sizes.split_at(4);
        let (compressed, size) = sizes.split_at(4);
        let local = self.0.get(number(entry.fixed, 42, 4)?..)?;
        if !local.starts_with(LOCAL_ENTRY) {
            return None;
        }
        let begin = LOCAL_ENTRY_LEN + number(local, 26, 2)? + number(local, 28, 2)?;
        let deflated = local.get(begin..)?.get(..number(compressed, 0, 4)?)?;
        Some([&GZIP_HEADER, deflated, checksum, size].concat())
    }

    /// The entries of the central directory.
    fn directory(&self) -> Option<impl Iterator<Item = Entry<'a>>> {
        let end = self.0.windows(END_OF_DIRECTORY.len()).rposition(|window| window == END_OF_DIRECTORY)?;
        let mut rest = self.0.get(number(&self.0[end..], 16, 4)?..end)?;
        Some(std::iter::from_fn(move || {
            let fixed = rest.get(..DIRECTORY_ENTRY_LEN).filter(|fixed| fixed.starts_with(DIRECTORY_ENTRY))?;
            let after = &rest[DIRECTORY_ENTRY_LEN..];
            let name = after.get(..number(fixed, 28, 2)?)?;
            rest = after.get(name.len() + number(fixed, 30, 2)? + number(fixed, 32, 2)?..)?;
            Some(Entry { fixed, name })
        }))
    }
}

/// One entry of the central directory.
struct Entry<'a> {
    fixed: &'a [u8],
    name: &'a [u8],
}

/// Reads a little-endian number of this many bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + length)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}
