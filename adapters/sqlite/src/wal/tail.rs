//! The difference between a log whose end was torn and one that is damaged.
//!
//! After a crash SQLite takes the frames up to the first that is not valid, and drops the rest. Mostly that is right: the
//! frames of the last transaction reach the disk in any order, and it was not acknowledged before all of them had. It is
//! wrong where a *later* transaction follows: that was begun only when those before it had been synced. So a frame that is
//! valid behind a commit, and stands behind one that is not, shows that something which was on disk has been changed since.
//!
//! What follows a commit is told by the checksums that the frames store, since those that are computed end at the damage. Of
//! the frames that are not valid themselves the mark of a commit counts only where a disk has written it together with the
//! checksum: in one sector. Remains of a transaction that was given up, whose place a shorter one took, never hold a frame
//! that follows a commit: the next transaction begins where the one before it began.

use super::{FRAME_HEADER_BYTES, Frame, HEADER_BYTES, Header, Order, Salts, Sums};

/// What a disk writes as a whole: larger sectors consist of these.
const SECTOR_BYTES: u64 = 512;

/// Where a log is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Its header.
    Header,
    /// A frame, counted from 1.
    Frame(u64),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Header => f.write_str("its header"),
            Self::Frame(number) => write!(f, "its frame {number}"),
        }
    }
}

/// A log that is read from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Tail {
    order: Order,
    page: usize,
    /// Those of the header, or where that is damaged, of the first frame.
    salts: Option<Salts>,
    /// Frames so far.
    frames: u64,
    before: Before,
    /// The first that is not valid.
    broken: Option<Place>,
    is_damaged: bool,
}

/// What a frame may follow.
#[derive(Debug, Clone, Copy)]
struct Before {
    /// The checksum that is stored there, and whether a commit ends there if that is the right one.
    stored: Sums,
    ends_if_stored: bool,
    /// The checksum that should be stored there, and whether a commit ends there if the next frame goes on from that.
    computed: Sums,
    ends_if_computed: bool,
}

impl Tail {
    /// Begins with the header. Where that is damaged, pages have this length.
    pub(crate) fn begin(header: &[u8; HEADER_BYTES], page_if_damaged: usize) -> Self {
        let parsed = Header::parse(header);
        let stored = Sums::stored(&header[24..]);
        Self {
            order: parsed.map_or(Order::NATIVE, |header| header.order),
            page: parsed.map_or(page_if_damaged, |header| header.page),
            salts: parsed.map(|header| header.salts),
            frames: 0,
            before: Before { stored, ends_if_stored: false, computed: stored, ends_if_computed: false },
            broken: parsed.is_none().then_some(Place::Header),
            is_damaged: false,
        }
    }

    /// Bytes of each frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.page
    }

    /// Takes the next frame.
    pub(crate) fn take(&mut self, frame: Frame<'_>) {
        let begins = HEADER_BYTES as u64 + self.frames * self.frame_bytes() as u64;
        self.frames += 1;
        let is_of_this_log = *self.salts.get_or_insert(frame.salts()) == frame.salts() && frame.page() != 0;
        let stored = frame.stored();
        let computed = frame.after(self.before.stored, self.order);
        let follows_stored = is_of_this_log && stored == computed;
        if self.broken.is_none() && !follows_stored {
            self.broken = Some(Place::Frame(self.frames));
        } else if self.broken.is_some() {
            let follows_computed =
                || is_of_this_log && stored == frame.after(self.before.computed, self.order);
            self.is_damaged |= (self.before.ends_if_stored && follows_stored)
                || (self.before.ends_if_computed && follows_computed());
        }
        let ends = frame.pages_after_commit() != 0;
        self.before = Before {
            stored,
            ends_if_stored: ends && (stored == computed || is_in_one_sector(begins)),
            computed,
            ends_if_computed: ends,
        };
    }

    /// Says where the log is damaged, if a later transaction stands behind that.
    pub(crate) fn damage(&self) -> Option<Place> {
        self.broken.filter(|_| self.is_damaged)
    }
}

/// Whether one sector holds all of a frame's header from the mark of a commit to the checksum.
fn is_in_one_sector(begins: u64) -> bool {
    (begins + 4) / SECTOR_BYTES == (begins + FRAME_HEADER_BYTES as u64 - 1) / SECTOR_BYTES
}

#[cfg(test)]
mod tests {
    use super::super::written::{Written, damage};
    use super::*;

    /// The first byte of a frame.
    fn at(frame: usize) -> usize {
        HEADER_BYTES + (frame - 1) * 536
    }

    /// A log of four transactions, of 3, 1, 2 and 2 frames.
    fn log() -> Written {
        let mut log = Written::new();
        for frames in [3, 1, 2, 2] {
            log.commit(frames);
        }
        log
    }

    #[test]
    fn a_sound_log_and_an_empty_one_are_not_damaged() {
        assert_eq!(damage(log().bytes()), None);
        assert_eq!(damage(Written::new().bytes()), None);
    }

    #[test]
    fn each_byte_before_the_last_two_transactions_is_missed() {
        let sound = log().bytes().to_vec();
        for byte in 0..at(5) {
            for flip in [0x01, 0x80, 0xFF] {
                let mut hurt = sound.clone();
                hurt[byte] ^= flip;
                let place = if byte < HEADER_BYTES {
                    Place::Header
                } else {
                    Place::Frame(((byte - HEADER_BYTES) / 536 + 1) as u64)
                };
                assert_eq!(damage(&hurt), Some(place), "byte {byte}");
            }
        }
    }

    #[test]
    fn of_the_last_transaction_but_one_only_its_commit_may_be_taken_for_torn_where_sectors_part_its_mark() {
        let sound = log().bytes().to_vec();
        for byte in at(5)..at(7) {
            let mut hurt = sound.clone();
            hurt[byte] ^= 0x40;
            // Its own mark with a page more or less is still one.
            assert_eq!(damage(&hurt), Some(Place::Frame(if byte < at(6) { 5 } else { 6 })), "byte {byte}");
        }
        let mut parted = Written::new();
        // Frame 42 begins 8 bytes before the end of a sector.
        for frames in [41, 1, 1] {
            parted.commit(frames);
        }
        assert!(!is_in_one_sector(at(42) as u64));
        let mut hurt = parted.bytes().to_vec();
        hurt[at(42) + 100] ^= 1;
        assert_eq!(damage(&hurt), None);
        let mut hurt = parted.bytes().to_vec();
        hurt[at(42) + 20] ^= 1;
        assert_eq!(damage(&hurt), Some(Place::Frame(42)), "the next frame goes on from what it should be");
    }

    #[test]
    fn the_last_transaction_cannot_be_told_from_a_torn_one() {
        let sound = log().bytes().to_vec();
        for byte in at(7)..sound.len() {
            let mut hurt = sound.clone();
            hurt[byte] ^= 0x01;
            // Two marks in one transaction are no torn one's.
            let is_mark = (at(7) + 4..at(7) + 8).contains(&byte);
            assert_eq!(damage(&hurt), is_mark.then_some(Place::Frame(7)), "byte {byte}");
        }
        for length in 0..sound.len() {
            assert_eq!(damage(&sound[..length]), None, "{length} bytes of it");
        }
    }

    #[test]
    fn several_wounds_are_one_damage_if_a_transaction_stands_behind_them() {
        let mut hurt = log().bytes().to_vec();
        hurt[at(1) + 40] ^= 1;
        hurt[at(4) + 40] ^= 1;
        assert_eq!(damage(&hurt), Some(Place::Frame(1)));
        // All but the last transaction is zeros: nothing tells that it was the last.
        let mut hurt = log().bytes().to_vec();
        hurt[at(1)..at(7)].fill(0);
        assert_eq!(damage(&hurt), None);
    }

    #[test]
    fn what_was_given_up_behind_the_end_is_no_damage() {
        // Two that were given up, the later one shorter, and what was committed in their place.
        let mut log = log();
        log.give_up(9);
        log.give_up(5);
        log.commit(2);
        assert_eq!(damage(log.bytes()), None);
        let mut hurt = log.bytes().to_vec();
        hurt[at(9) + 100] ^= 1;
        assert_eq!(damage(&hurt), None, "the last commit, torn");
        let mut hurt = log.bytes().to_vec();
        hurt[at(8) + 100] ^= 1;
        assert_eq!(damage(&hurt), Some(Place::Frame(8)));
    }

    #[test]
    fn frames_of_before_the_log_was_begun_again_are_no_damage() {
        let mut log = log();
        log.begin_again();
        log.commit(2);
        assert_eq!(damage(log.bytes()), None);
        let mut hurt = log.bytes().to_vec();
        hurt[at(1) + 100] ^= 1;
        assert_eq!(damage(&hurt), None, "the one commit since, torn");
    }
}
