//! A table that grows where it is used, and that is read without a lock.

use std::sync::OnceLock;

/// Bits of an index that choose an entry of the top level, of a middle one, and of a chunk.
const TOP_BITS: u32 = 11;
const MIDDLE_BITS: u32 = 11;
const CHUNK_BITS: u32 = 6;

const TOP: usize = 1 << TOP_BITS;
const MIDDLE: usize = 1 << MIDDLE_BITS;
const CHUNK: usize = 1 << CHUNK_BITS;

type Chunk<T> = Box<[T; CHUNK]>;
type Middle<T> = Box<[OnceLock<Chunk<T>>; MIDDLE]>;

/// Entries with an index below [`Directory::LEN`], made in chunks when one of them is first asked for.
///
/// An entry never moves and never goes, so a reference is found by three loads. Empty, a directory takes 32 KiB.
pub(crate) struct Directory<T> {
    top: Box<[OnceLock<Middle<T>>; TOP]>,
}

impl<T: Default> Directory<T> {
    /// How many entries there can be.
    pub(crate) const LEN: u32 = 1 << (TOP_BITS + MIDDLE_BITS + CHUNK_BITS);

    pub(crate) fn new() -> Self {
        Self { top: filled() }
    }

    /// The entry, if its chunk has been made.
    pub(crate) fn find(&self, index: u32) -> Option<&T> {
        let (top, middle, place) = split(index);
        Some(&self.top.get(top)?.get()?[middle].get()?[place])
    }

    /// The entry, made if need be.
    pub(crate) fn entry(&self, index: u32) -> &T {
        let (top, middle, place) = split(index);
        &self.top[top].get_or_init(filled)[middle].get_or_init(filled)[place]
    }
}

/// The places of an entry in the three levels.
const fn split(index: u32) -> (usize, usize, usize) {
    let index = index as usize;
    (index >> (MIDDLE_BITS + CHUNK_BITS), (index >> CHUNK_BITS) & (MIDDLE - 1), index & (CHUNK - 1))
}

#[expect(clippy::unnecessary_box_returns, reason = "made on the heap: its size does not belong on the stack")]
fn filled<T: Default, const N: usize>() -> Box<[T; N]> {
    let entries: Box<[T]> = (0..N).map(|_| T::default()).collect();
    entries.try_into().ok().expect("as many entries as the array has")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn an_entry_is_there_once_it_was_asked_for_and_stays_where_it_is() {
        let directory = Directory::<AtomicU32>::new();
        for index in [0, 1, 63, 64, 131_071, 131_072, Directory::<AtomicU32>::LEN - 1] {
            let entry = directory.entry(index);
            entry.store(index, Ordering::Relaxed);
            assert!(std::ptr::eq(directory.find(index).unwrap(), entry));
        }
        for index in [0, 1, 63, 64, 131_071, 131_072, Directory::<AtomicU32>::LEN - 1] {
            assert_eq!(directory.find(index).unwrap().load(Ordering::Relaxed), index);
        }
        assert!(directory.find(1 << 20).is_none());
        assert!(directory.find(u32::MAX).is_none());
    }
}
