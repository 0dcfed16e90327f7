//! A log as SQLite writes it, for tests: a second opinion on what is read.

use super::{FRAME_HEADER_BYTES, Frame, HEADER_BYTES, MAGIC, Order, Place, Sums, Tail};

/// Bytes of a page.
const PAGE: usize = 512;

const FRAME: usize = FRAME_HEADER_BYTES + PAGE;

/// A log that grows, and the file that it is in.
pub(crate) struct Written {
    file: Vec<u8>,
    salts: [u8; 8],
    /// Frames that count, and the checksum of the last one.
    frames: usize,
    sums: Sums,
    /// Different in each page.
    ballast: u8,
}

impl Written {
    pub(crate) fn new() -> Self {
        let mut log = Self {
            file: vec![],
            salts: [0, 0, 0, 1, 9, 8, 7, 6],
            frames: 0,
            sums: Sums::default(),
            ballast: 0,
        };
        log.head();
        log
    }

    fn head(&mut self) {
        let mut header = [0; HEADER_BYTES];
        let order = u32::from(Order::NATIVE == Order::Big);
        header[..4].copy_from_slice(&(MAGIC | order).to_be_bytes());
        header[4..8].copy_from_slice(&3_007_000_u32.to_be_bytes());
        header[10] = 2;
        header[16..24].copy_from_slice(&self.salts);
        self.sums = Sums::default().over(Order::NATIVE, &header[..24]);
        header[24..].copy_from_slice(&self.sums.bytes());
        self.put(0, &header);
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        let end = self.file.len().max(at + bytes.len());
        self.file.resize(end, 0);
        self.file[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Writes a transaction of this many frames, and returns the checksum of the last.
    fn write(&mut self, frames: usize) -> Sums {
        let mut sums = self.sums;
        for (number, page) in (0..frames).zip(1_u32..) {
            self.ballast = self.ballast.wrapping_mul(5).wrapping_add(1);
            let mut frame = [self.ballast; FRAME];
            let ends = if number + 1 == frames { 37_u32 } else { 0 };
            frame[..4].copy_from_slice(&page.to_be_bytes());
            frame[4..8].copy_from_slice(&ends.to_be_bytes());
            frame[8..16].copy_from_slice(&self.salts);
            sums = Frame::new(&frame).after(sums, Order::NATIVE);
            frame[16..24].copy_from_slice(&sums.bytes());
            self.put(HEADER_BYTES + (self.frames + number) * FRAME, &frame);
        }
        sums
    }

    /// A transaction that is synced.
    pub(crate) fn commit(&mut self, frames: usize) {
        self.sums = self.write(frames);
        self.frames += frames;
    }

    /// A transaction that is written to its end, and whose sync fails: the next one takes its place.
    pub(crate) fn give_up(&mut self, frames: usize) {
        self.write(frames);
    }

    /// All of it is in the database: the next frames are written over it.
    pub(crate) fn begin_again(&mut self) {
        self.salts[3] += 1;
        self.salts[7] ^= 0x5A;
        self.frames = 0;
        self.head();
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.file
    }
}

/// What is said of a log.
pub(crate) fn damage(log: &[u8]) -> Option<Place> {
    let (header, frames) = log.split_first_chunk()?;
    let mut tail = Tail::begin(header, PAGE);
    frames.chunks_exact(tail.frame_bytes()).for_each(|frame| tail.take(Frame::new(frame)));
    tail.damage()
}
