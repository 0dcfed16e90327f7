//! SQLite's write-ahead log as bytes (its file format, section 4): a header, then frames of one page each.
//!
//! Each frame carries a checksum of itself and of all before it, so that a frame is valid only behind the frame that was there
//! when it was written. Pure: others read the file.

mod tail;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
pub(crate) mod written;

pub use tail::Place;
pub(crate) use tail::Tail;

/// The length of the log's header.
pub(crate) const HEADER_BYTES: usize = 32;

/// The length of what stands before each page.
pub(crate) const FRAME_HEADER_BYTES: usize = 24;

/// What the log begins with, but for its last bit: that is the byte order of the checksums.
const MAGIC: u32 = 0x377F_0682;

/// The smallest and the largest page that a database may have.
const PAGE_BYTES: std::ops::RangeInclusive<u32> = 512..=65_536;

/// The order in which checksums read the bytes of their words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    /// The order in which SQLite writes a new log on this machine.
    pub(crate) const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
}

/// A checksum of all bytes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sums(u32, u32);

impl Sums {
    /// The checksum that is stored in eight bytes.
    fn stored(bytes: &[u8]) -> Self {
        Self(number(bytes, 0), number(bytes, 4))
    }

    /// The checksum with further bytes, the number of which is a multiple of eight.
    pub(crate) fn over(self, order: Order, bytes: &[u8]) -> Self {
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

/// The big-endian number at a place; 0 where there are no such bytes.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// What two numbers in a header and in each of its frames have in common. The first of them goes up by one with each new
/// beginning of the log, the other one is random.
pub(crate) type Salts = [u8; 8];

fn salts(bytes: &[u8], at: usize) -> Salts {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default()
}

/// A valid header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) order: Order,
    /// Bytes of a page.
    pub(crate) page: usize,
    pub(crate) salts: Salts,
    /// What the first frame's checksum goes on from.
    pub(crate) sums: Sums,
}

impl Header {
    /// Parses a header. None if SQLite would take the log for one with nothing in it.
    pub(crate) fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (magic, page) = (number(bytes, 0), number(bytes, 8));
        if magic & !1 != MAGIC || !page.is_power_of_two() || !PAGE_BYTES.contains(&page) {
            return None;
        }
        let order = if magic & 1 == 1 { Order::Big } else { Order::Little };
        let sums = Sums::default().over(order, &bytes[..24]);
        let is_valid = sums == Sums::stored(&bytes[24..]);
        is_valid.then_some(Self { order, page: page as usize, salts: salts(bytes, 16), sums })
    }

    /// The number of the log's beginning: each counts up by one from a random number.
    pub(crate) fn beginning(&self) -> u32 {
        number(&self.salts, 0)
    }

    /// Bytes of a frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.page
    }
}

/// A frame as it stands in the log, not judged yet.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'b>(&'b [u8]);

impl<'b> Frame<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    /// The number of the page; no page has the number 0.
    pub(crate) fn page(self) -> u32 {
        number(self.0, 0)
    }

    /// The pages that the database has after the commit which ends here; 0 if none ends.
    pub(crate) fn pages_after_commit(self) -> u32 {
        number(self.0, 4)
    }

    pub(crate) fn salts(self) -> Salts {
        salts(self.0, 8)
    }

    /// The checksum that is stored in the frame.
    pub(crate) fn stored(self) -> Sums {
        Sums::stored(self.0.get(16..).unwrap_or_default())
    }

    /// The checksum that the frame should have behind this one.
    pub(crate) fn after(self, sums: Sums, order: Order) -> Sums {
        let (head, page) = self.0.split_at(FRAME_HEADER_BYTES.min(self.0.len()));
        sums.over(order, head.get(..8).unwrap_or_default()).over(order, page)
    }
}

/// Frames that are followed one by one from the header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    header: Header,
    sums: Sums,
}

impl Chain {
    pub(crate) fn of(header: Header) -> Self {
        Self { header, sums: header.sums }
    }

    /// Follows the next frame. False if it is not valid behind those before.
    pub(crate) fn follow(&mut self, frame: Frame<'_>) -> bool {
        self.sums = frame.after(self.sums, self.header.order);
        frame.salts() == self.header.salts && frame.page() != 0 && frame.stored() == self.sums
    }

    /// The checksum of all frames so far.
    pub(crate) fn sums(&self) -> Sums {
        self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::written::Written;
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_documentation_in_either_order() {
        let bytes = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4];
        // s0 += x0 + s1; s1 += x1 + s0, twice.
        assert_eq!(Sums::default().over(Order::Big, &bytes), Sums(7, 14));
        let little = Sums::default().over(Order::Little, &bytes);
        assert_eq!(little, Sums(7 << 24, 14 << 24));
        assert_eq!(Sums::stored(&Sums(1, 2).bytes()), Sums(1, 2));
    }

    #[test]
    fn a_header_with_any_byte_changed_is_none() {
        let log = Written::new();
        let header: [u8; HEADER_BYTES] = *log.bytes().first_chunk().unwrap();
        let parsed = Header::parse(&header).unwrap();
        assert_eq!((parsed.page, parsed.frame_bytes()), (512, 536));
        for at in 0..HEADER_BYTES {
            let mut header = header;
            header[at] ^= 1;
            assert_eq!(Header::parse(&header), None, "byte {at}");
        }
        assert_eq!(Header::parse(&[0; HEADER_BYTES]), None);
    }

    #[test]
    fn a_chain_ends_at_the_first_byte_that_has_changed() {
        let mut log = Written::new();
        log.commit(3);
        let sound = log.bytes().to_vec();
        let followed = |bytes: &[u8]| {
            let header = Header::parse(bytes.first_chunk().unwrap()).unwrap();
            let mut chain = Chain::of(header);
            let mut frames = bytes[HEADER_BYTES..].chunks_exact(header.frame_bytes());
            let sound = frames.by_ref().take_while(|frame| chain.follow(Frame::new(frame))).count();
            (sound, chain.sums())
        };
        let (all, sums) = followed(&sound);
        let last = Frame::new(&sound[HEADER_BYTES + 2 * 536..]);
        assert_eq!((all, sums), (3, last.stored()));
        assert_eq!((last.pages_after_commit() > 0, Frame::new(&[]).page()), (true, 0));
        for at in (HEADER_BYTES..sound.len()).step_by(5) {
            let mut hurt = sound.clone();
            hurt[at] ^= 0x10;
            assert_eq!(followed(&hurt).0, (at - HEADER_BYTES) / 536, "byte {at}");
        }
    }
}
