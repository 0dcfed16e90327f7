//! A table that grows where it is used, and that is read without a lock.

use once_cell::race::OnceBox;

/// Bits of an index that choose an entry of a node, of which there are three levels, and of a chunk.
const NODE_BITS: u32 = 8;
const CHUNK_BITS: u32 = 4;

const NODE: usize = 1 << NODE_BITS;
const CHUNK: usize = 1 << CHUNK_BITS;

type Chunk<T> = [T; CHUNK];
type Node<T> = [OnceBox<T>; NODE];

/// Entries with an index below [`Directory::LEN`], made in chunks when one of them is first asked for.
///
/// An entry never moves and never goes, so a reference is found by four loads. Small nodes, so that a service with
/// little in it takes little: an empty directory has 2 KiB, one with an entry 6 KiB and its chunk.
pub(crate) struct Directory<T> {
    root: Box<Node<Node<Node<Chunk<T>>>>>,
}

impl<T: Default> Directory<T> {
    /// How many entries there can be.
    pub(crate) const LEN: u32 = 1 << (3 * NODE_BITS + CHUNK_BITS);

    pub(crate) fn new() -> Self {
        Self { root: filled() }
    }

    /// The entry, if its chunk has been made.
    pub(crate) fn find(&self, index: u32) -> Option<&T> {
        let [first, second, third, place] = split(index);
        // An index beyond the last entry is beyond the root's.
        Some(&self.root.get(first)?.get()?[second].get()?[third].get()?[place])
    }

    /// The entry, made if need be.
    pub(crate) fn entry(&self, index: u32) -> &T {
        let [first, second, third, place] = split(index);
        let second = &self.root[first].get_or_init(filled)[second];
        &second.get_or_init(filled)[third].get_or_init(filled)[place]
    }
}

/// The places of an entry in the three levels and in its chunk.
const fn split(index: u32) -> [usize; 4] {
    let index = index as usize;
    let node = index >> CHUNK_BITS;
    [node >> (2 * NODE_BITS), (node >> NODE_BITS) % NODE, node % NODE, index % CHUNK]
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
        for index in [0, 1, 15, 16, 4_095, 4_096, 1_048_575, 1_048_576, Directory::<AtomicU32>::LEN - 1] {
            let entry = directory.entry(index);
            entry.store(index, Ordering::Relaxed);
            assert!(std::ptr::eq(directory.find(index).unwrap(), entry));
        }
        for index in [0, 1, 15, 16, 4_095, 4_096, 1_048_575, 1_048_576, Directory::<AtomicU32>::LEN - 1] {
            assert_eq!(directory.find(index).unwrap().load(Ordering::Relaxed), index);
        }
        assert!(directory.find(1 << 21).is_none());
        assert!(directory.find(u32::MAX).is_none());
    }
}
