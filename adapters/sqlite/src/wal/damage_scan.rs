//! The distinction between a log with a torn end and a damaged log.
//!
//! After a crash SQLite takes the frames up to the first invalid one and drops the rest. This is right for a torn end.
//! The frames of the last transaction reach the disk in any order, and the transaction is acknowledged only after all
//! of them are on disk, so no acknowledged change is dropped. It is wrong if a *later* transaction follows the invalid
//! frame, because a transaction begins only after the sync of the previous transaction. So if a valid frame follows a
//! commit, and a frame before that commit is invalid, data that was on disk has changed.
//!
//! The scan uses the stored checksums to find a frame that follows a commit, because the computed chain ends at the
//! damage. The commit mark of an invalid frame counts only if the mark and the checksum are in one sector, because a
//! disk writes a sector as a whole. An abandoned transaction may have been overwritten by a shorter transaction. The
//! remaining frames of the abandoned transaction never include a frame that follows a commit, because both transactions
//! began at the same place.

use super::{ByteOrder, Checksum, FRAME_HEADER_BYTES, Frame, HEADER_BYTES, LogHeader, Salts};

/// Number of bytes that a disk writes as a whole. Larger sectors are multiples of this.
const SECTOR_BYTES: u64 = 512;

/// The position of the damage in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogPosition {
    /// The header.
    Header,
    /// A frame, counted from 1.
    Frame(u64),
}

impl std::fmt::Display for LogPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Header => f.write_str("its header"),
            Self::Frame(number) => write!(f, "its frame {number}"),
        }
    }
}

/// A scan of a log from the header to the end of the file.
#[derive(Debug)]
pub(crate) struct DamageScan {
    order: ByteOrder,
    page: usize,
    /// The salts of the header, or of the first frame if the header is damaged.
    salts: Option<Salts>,
    /// The number of frames so far.
    frames: u64,
    previous: Previous,
    /// The first invalid part.
    invalid: Option<LogPosition>,
    is_damaged: bool,
}

/// The frame that was added last.
#[derive(Debug, Clone, Copy)]
struct Previous {
    /// The stored checksum of the frame.
    stored: Checksum,
    /// True if the frame has a commit mark that is valid when the stored checksum is right.
    commits_if_stored: bool,
    /// The checksum that the frame should have.
    computed: Checksum,
    /// True if the frame has a commit mark that is valid when the next frame continues the computed checksum.
    commits_if_computed: bool,
}

impl DamageScan {
    /// Begins a scan with the header of the log. `page_if_damaged` is the page size to use if the header is damaged.
    pub(crate) fn begin(header: &[u8; HEADER_BYTES], page_if_damaged: usize) -> Self {
        let parsed = LogHeader::parse(header);
        let stored = Checksum::stored(&header[24..]);
        Self {
            order: parsed.map_or(ByteOrder::NATIVE, |header| header.order),
            page: parsed.map_or(page_if_damaged, |header| header.page),
            salts: parsed.map(|header| header.salts),
            frames: 0,
            previous: Previous {
                stored,
                commits_if_stored: false,
                computed: stored,
                commits_if_computed: false,
            },
            invalid: parsed.is_none().then_some(LogPosition::Header),
            is_damaged: false,
        }
    }

    /// The frame size in bytes.
    pub(crate) fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.page
    }

    /// Adds the next frame.
    pub(crate) fn add(&mut self, frame: Frame<'_>) {
        let offset = HEADER_BYTES as u64 + self.frames * self.frame_bytes() as u64;
        self.frames += 1;
        let is_of_this_log = *self.salts.get_or_insert(frame.salts()) == frame.salts() && frame.page() != 0;
        let stored = frame.stored();
        let computed = frame.after(self.previous.stored, self.order);
        let follows_stored = is_of_this_log && stored == computed;
        if self.invalid.is_none() && !follows_stored {
            self.invalid = Some(LogPosition::Frame(self.frames));
        } else if self.invalid.is_some() {
            let follows_computed =
                || is_of_this_log && stored == frame.after(self.previous.computed, self.order);
            self.is_damaged |= (self.previous.commits_if_stored && follows_stored)
                || (self.previous.commits_if_computed && follows_computed());
        }
        let commits = frame.pages_after_commit() != 0;
        self.previous = Previous {
            stored,
            commits_if_stored: commits && (stored == computed || is_in_one_sector(offset)),
            computed,
            commits_if_computed: commits,
        };
    }

    /// Returns the position of the damage, if a later transaction follows it.
    pub(crate) fn damage(&self) -> Option<LogPosition> {
        self.invalid.filter(|_| self.is_damaged)
    }
}

/// Returns true if the commit mark and the checksum of the frame at this offset are in one sector.
fn is_in_one_sector(offset: u64) -> bool {
    (offset + 4) / SECTOR_BYTES == (offset + FRAME_HEADER_BYTES as u64 - 1) / SECTOR_BYTES
}

#[cfg(test)]
mod tests {
    use super::super::test_log::{TestLog, damage};
    use super::*;

    /// The offset of a frame.
    fn at(frame: usize) -> usize {
        HEADER_BYTES + (frame - 1) * 536
    }

    /// A log of four transactions, of 3, 1, 2 and 2 frames.
    fn log() -> TestLog {
        let mut log = TestLog::new();
        for frames in [3, 1, 2, 2] {
            log.commit(frames);
        }
        log
    }

    #[test]
    fn a_sound_log_and_an_empty_one_are_not_damaged() {
        assert_eq!(damage(log().bytes()), None);
        assert_eq!(damage(TestLog::new().bytes()), None);
    }

    #[test]
    fn a_changed_byte_before_the_last_two_transactions_is_damage() {
        let sound = log().bytes().to_vec();
        for byte in 0..at(5) {
            for flip in [0x01, 0x80, 0xFF] {
                let mut damaged = sound.clone();
                damaged[byte] ^= flip;
                let place = if byte < HEADER_BYTES {
                    LogPosition::Header
                } else {
                    LogPosition::Frame(((byte - HEADER_BYTES) / 536 + 1) as u64)
                };
                assert_eq!(damage(&damaged), Some(place), "byte {byte}");
            }
        }
    }

    #[test]
    fn a_changed_commit_frame_before_the_last_transaction_counts_as_torn_only_if_a_sector_boundary_splits_its_header()
     {
        let sound = log().bytes().to_vec();
        for byte in at(5)..at(7) {
            let mut damaged = sound.clone();
            damaged[byte] ^= 0x40;
            // A changed commit mark that is not 0 is still a commit mark.
            assert_eq!(
                damage(&damaged),
                Some(LogPosition::Frame(if byte < at(6) { 5 } else { 6 })),
                "byte {byte}"
            );
        }
        let mut split = TestLog::new();
        // Frame 42 begins 8 bytes before the end of a sector.
        for frames in [41, 1, 1] {
            split.commit(frames);
        }
        assert!(!is_in_one_sector(at(42) as u64));
        let mut damaged = split.bytes().to_vec();
        damaged[at(42) + 100] ^= 1;
        assert_eq!(damage(&damaged), None);
        let mut damaged = split.bytes().to_vec();
        damaged[at(42) + 20] ^= 1;
        assert_eq!(
            damage(&damaged),
            Some(LogPosition::Frame(42)),
            "the next frame continues the computed checksum"
        );
    }

    #[test]
    fn damage_in_the_last_transaction_counts_as_torn() {
        let sound = log().bytes().to_vec();
        for byte in at(7)..sound.len() {
            let mut damaged = sound.clone();
            damaged[byte] ^= 0x01;
            // The torn transaction has only one commit mark.
            let is_mark = (at(7) + 4..at(7) + 8).contains(&byte);
            assert_eq!(damage(&damaged), is_mark.then_some(LogPosition::Frame(7)), "byte {byte}");
        }
        for length in 0..sound.len() {
            assert_eq!(damage(&sound[..length]), None, "{length} bytes of it");
        }
    }

    #[test]
    fn the_first_of_several_damaged_frames_is_reported() {
        let mut damaged = log().bytes().to_vec();
        damaged[at(1) + 40] ^= 1;
        damaged[at(4) + 40] ^= 1;
        assert_eq!(damage(&damaged), Some(LogPosition::Frame(1)));
        // All transactions except the last one are overwritten with zeros, so no frame shows that it followed a commit.
        let mut damaged = log().bytes().to_vec();
        damaged[at(1)..at(7)].fill(0);
        assert_eq!(damage(&damaged), None);
    }

    #[test]
    fn abandoned_transactions_behind_the_end_are_not_damage() {
        // Two transactions are abandoned, of which the second is shorter. Then a transaction is committed at the same
        // place.
        let mut log = log();
        log.abandon(9);
        log.abandon(5);
        log.commit(2);
        assert_eq!(damage(log.bytes()), None);
        let mut damaged = log.bytes().to_vec();
        damaged[at(9) + 100] ^= 1;
        assert_eq!(damage(&damaged), None, "the last commit, torn");
        let mut damaged = log.bytes().to_vec();
        damaged[at(8) + 100] ^= 1;
        assert_eq!(damage(&damaged), Some(LogPosition::Frame(8)));
    }

    #[test]
    fn frames_of_an_earlier_generation_are_not_damage() {
        let mut log = log();
        log.restart();
        log.commit(2);
        assert_eq!(damage(log.bytes()), None);
        let mut damaged = log.bytes().to_vec();
        damaged[at(1) + 100] ^= 1;
        assert_eq!(damage(&damaged), None, "a torn commit, the only one since the restart");
    }
}
