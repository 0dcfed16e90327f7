//! SQLite's write-ahead log as bytes (its file format, section 4): a header, then frames of one page each.
//!
//! The checksum of each frame covers the frame itself and all frames before it. So a frame is valid only if the same
//! frames stand before it as when it was written. This module does no I/O.

mod damage_scan;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
pub(crate) mod test_log;

pub(crate) use damage_scan::DamageScan;
pub use damage_scan::LogPosition;

/// The length of the log's header in bytes.
pub(crate) const HEADER_BYTES: usize = 32;

/// The length in bytes of a frame's header. In a frame, the header comes before the page.
pub(crate) const FRAME_HEADER_BYTES: usize = 24;

/// The first four bytes of the log, without the last bit, which is the byte order of the checksums.
pub(crate) const MAGIC: u32 = 0x377F_0682;

/// The page sizes that a database may have.
const PAGE_BYTES: std::ops::RangeInclusive<u32> = 512..=65_536;

/// The byte order of the words that checksums are computed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// The byte order of a new log on this machine.
    pub(crate) const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
}

/// The checksum of all bytes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Checksum(u32, u32);

impl Checksum {
    /// Reads a stored checksum.
    fn stored(bytes: &[u8]) -> Self {
        Self(number(bytes, 0), number(bytes, 4))
    }

    /// Continues the checksum over further bytes. Their number must be a multiple of eight.
    pub(crate) fn over(self, order: ByteOrder, bytes: &[u8]) -> Self {
        let Self(mut one, mut two) = self;
        for pair in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
            one = one.wrapping_add(order.word(pair[0])).wrapping_add(two);
            two = two.wrapping_add(order.word(pair[1])).wrapping_add(one);
        }
        Self(one, two)
    }

    #[cfg(test)]
    fn bytes(self) -> [u8; 8] {
        (u64::from(self.0) << 32 | u64::from(self.1)).to_be_bytes()
    }
}

/// Returns the big-endian number at an offset; 0 beyond the end.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// The two salts that a header and each of its frames share. A restart of the log increments the first one and draws the
/// second one at random.
pub(crate) type Salts = [u8; 8];

fn salts(bytes: &[u8], at: usize) -> Salts {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default()
}

/// A valid log header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogHeader {
    pub(crate) order: ByteOrder,
    /// The page size in bytes.
    pub(crate) page: usize,
    pub(crate) salts: Salts,
    /// The checksum of the header, which the checksum of the first frame continues.
    pub(crate) checksum: Checksum,
}

impl LogHeader {
    /// Parses a header. None if SQLite would treat the log as empty.
    pub(crate) fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (magic, page) = (number(bytes, 0), number(bytes, 8));
        if magic & !1 != MAGIC || !page.is_power_of_two() || !PAGE_BYTES.contains(&page) {
            return None;
        }
        let order = if magic & 1 == 1 { ByteOrder::Big } else { ByteOrder::Little };
        let checksum = Checksum::default().over(order, &bytes[..24]);
        let is_valid = checksum == Checksum::stored(&bytes[24..]);
        is_valid.then_some(Self { order, page: page as usize, salts: salts(bytes, 16), checksum })
    }

    /// The generation of the log. Each restart of the log increments it; its first value is random.
    pub(crate) fn generation(&self) -> u32 {
        number(&self.salts, 0)
    }

    /// The frame size in bytes.
    pub(crate) fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.page
    }
}

/// A frame as stored, not yet verified.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'b>(&'b [u8]);

impl<'b> Frame<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    /// The page number. A valid page number is not 0.
    pub(crate) fn page(self) -> u32 {
        number(self.0, 0)
    }

    /// The number of pages in the database after the commit that ends with this frame; 0 if no commit ends with it.
    pub(crate) fn pages_after_commit(self) -> u32 {
        number(self.0, 4)
    }

    pub(crate) fn salts(self) -> Salts {
        salts(self.0, 8)
    }

    /// The stored checksum of the frame.
    pub(crate) fn stored(self) -> Checksum {
        Checksum::stored(self.0.get(16..).unwrap_or_default())
    }

    /// Returns the checksum that this frame must have if it follows a frame with the given checksum.
    pub(crate) fn after(self, checksum: Checksum, order: ByteOrder) -> Checksum {
        let (head, page) = self.0.split_at(FRAME_HEADER_BYTES.min(self.0.len()));
        checksum.over(order, head.get(..8).unwrap_or_default()).over(order, page)
    }
}

/// The chain of checksums, verified frame by frame, beginning with the header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChecksumChain {
    header: LogHeader,
    checksum: Checksum,
}

impl ChecksumChain {
    pub(crate) fn of(header: LogHeader) -> Self {
        Self { header, checksum: header.checksum }
    }

    /// Verifies the next frame. Returns false if the frame is not valid after the frames before it.
    pub(crate) fn follow(&mut self, frame: Frame<'_>) -> bool {
        self.checksum = frame.after(self.checksum, self.header.order);
        frame.salts() == self.header.salts && frame.page() != 0 && frame.stored() == self.checksum
    }

    /// The checksum of all frames so far.
    pub(crate) fn checksum(&self) -> Checksum {
        self.checksum
    }
}

#[cfg(test)]
mod tests {
    use super::test_log::TestLog;
    use super::*;

    #[test]
    fn checksums_follow_the_file_format_in_either_byte_order() {
        let bytes = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4];
        // The algorithm runs twice: s0 += x0 + s1; s1 += x1 + s0.
        assert_eq!(Checksum::default().over(ByteOrder::Big, &bytes), Checksum(7, 14));
        let little = Checksum::default().over(ByteOrder::Little, &bytes);
        assert_eq!(little, Checksum(7 << 24, 14 << 24));
        assert_eq!(Checksum::stored(&Checksum(1, 2).bytes()), Checksum(1, 2));
    }

    #[test]
    fn a_header_with_a_changed_byte_does_not_parse() {
        let log = TestLog::new();
        let header: [u8; HEADER_BYTES] = *log.bytes().first_chunk().unwrap();
        let parsed = LogHeader::parse(&header).unwrap();
        assert_eq!((parsed.page, parsed.frame_bytes()), (512, 536));
        for at in 0..HEADER_BYTES {
            let mut header = header;
            header[at] ^= 1;
            assert_eq!(LogHeader::parse(&header), None, "byte {at}");
        }
        assert_eq!(LogHeader::parse(&[0; HEADER_BYTES]), None);
    }

    #[test]
    fn the_checksum_chain_ends_at_the_first_changed_byte() {
        let mut log = TestLog::new();
        log.commit(3);
        let sound = log.bytes().to_vec();
        let followed = |bytes: &[u8]| {
            let header = LogHeader::parse(bytes.first_chunk().unwrap()).unwrap();
            let mut chain = ChecksumChain::of(header);
            let mut frames = bytes[HEADER_BYTES..].chunks_exact(header.frame_bytes());
            let sound = frames.by_ref().take_while(|frame| chain.follow(Frame::new(frame))).count();
            (sound, chain.checksum())
        };
        let (all, checksum) = followed(&sound);
        let last = Frame::new(&sound[HEADER_BYTES + 2 * 536..]);
        assert_eq!((all, checksum), (3, last.stored()));
        assert_eq!((last.pages_after_commit() > 0, Frame::new(&[]).page()), (true, 0));
        for at in (HEADER_BYTES..sound.len()).step_by(5) {
            let mut damaged = sound.clone();
            damaged[at] ^= 0x10;
            assert_eq!(followed(&damaged).0, (at - HEADER_BYTES) / 536, "byte {at}");
        }
    }
}
