//! A log in the form in which SQLite writes it, implemented independently for tests.

use super::{ByteOrder, Checksum, DamageScan, FRAME_HEADER_BYTES, Frame, HEADER_BYTES, LogPosition, MAGIC};

/// The page size in bytes.
const PAGE: usize = 512;

const FRAME: usize = FRAME_HEADER_BYTES + PAGE;

/// A log that grows, and its file.
pub(crate) struct TestLog {
    file: Vec<u8>,
    salts: [u8; 8],
    /// The number of committed frames.
    frames: usize,
    /// The checksum of the last committed frame.
    checksum: Checksum,
    /// The content of the next page, different in each page.
    fill: u8,
}

impl TestLog {
    pub(crate) fn new() -> Self {
        let mut log = Self {
            file: vec![],
            salts: [0, 0, 0, 1, 9, 8, 7, 6],
            frames: 0,
            checksum: Checksum::default(),
            fill: 0,
        };
        log.write_header();
        log
    }

    fn write_header(&mut self) {
        let mut header = [0; HEADER_BYTES];
        let order = u32::from(ByteOrder::NATIVE == ByteOrder::Big);
        header[..4].copy_from_slice(&(MAGIC | order).to_be_bytes());
        header[4..8].copy_from_slice(&3_007_000_u32.to_be_bytes());
        header[10] = 2;
        header[16..24].copy_from_slice(&self.salts);
        self.checksum = Checksum::default().over(ByteOrder::NATIVE, &header[..24]);
        header[24..].copy_from_slice(&self.checksum.bytes());
        self.put(0, &header);
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        let end = self.file.len().max(at + bytes.len());
        self.file.resize(end, 0);
        self.file[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Writes a transaction of this many frames. Returns the checksum of the last one.
    fn write(&mut self, frames: usize) -> Checksum {
        let mut checksum = self.checksum;
        for (number, page) in (0..frames).zip(1_u32..) {
            self.fill = self.fill.wrapping_mul(5).wrapping_add(1);
            let mut frame = [self.fill; FRAME];
            let ends = if number + 1 == frames { 37_u32 } else { 0 };
            frame[..4].copy_from_slice(&page.to_be_bytes());
            frame[4..8].copy_from_slice(&ends.to_be_bytes());
            frame[8..16].copy_from_slice(&self.salts);
            checksum = Frame::new(&frame).after(checksum, ByteOrder::NATIVE);
            frame[16..24].copy_from_slice(&checksum.bytes());
            self.put(HEADER_BYTES + (self.frames + number) * FRAME, &frame);
        }
        checksum
    }

    /// Writes a transaction that is synced.
    pub(crate) fn commit(&mut self, frames: usize) {
        self.checksum = self.write(frames);
        self.frames += frames;
    }

    /// Writes a transaction whose sync fails. The next one overwrites it.
    pub(crate) fn abandon(&mut self, frames: usize) {
        self.write(frames);
    }

    /// Restarts the log after a checkpoint: the next frames overwrite it.
    pub(crate) fn restart(&mut self) {
        self.salts[3] += 1;
        self.salts[7] ^= 0x5A;
        self.frames = 0;
        self.write_header();
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.file
    }
}

/// Returns the damage that a scan finds in a log.
pub(crate) fn damage(log: &[u8]) -> Option<LogPosition> {
    let (header, frames) = log.split_first_chunk()?;
    let mut scan = DamageScan::begin(header, PAGE);
    frames.chunks_exact(scan.frame_bytes()).for_each(|frame| scan.add(Frame::new(frame)));
    scan.damage()
}
