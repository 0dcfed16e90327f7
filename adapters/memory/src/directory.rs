//! A table that grows where it is used, and that is read without a lock.

use once_cell::race::OnceBox;

/// Bits of an index that choose an entry of a chunk, and of a node.
const CHUNK_BITS: u32 = 4;
const NODE_BITS: u32 = 8;

const CHUNK: usize = 1 << CHUNK_BITS;
const NODE: usize = 1 << NODE_BITS;

/// Leaves that are found at once: those of 65,536 entries, which for records in blocks of sixteen are a million.
const NEAR: usize = 16;

type Chunk<T> = [T; CHUNK];
type Node<T> = [OnceBox<T>; NODE];
type Leaf<T> = Node<Chunk<T>>;

/// Entries with an index below [`Directory::LEN`], made in chunks when one of them is first asked for.
///
/// An entry never moves and never goes, so a reference is found by two loads, or by four where the index is large. Small
/// nodes, so that a service with little in it takes little: the first entry comes with 2 KiB and its chunk.
pub(crate) struct Directory<T> {
    near: [OnceBox<Leaf<T>>; NEAR],
    /// By two levels of nodes. Those that are near have their places here, too, unused.
    far: OnceBox<Node<Node<Leaf<T>>>>,
}

impl<T: Default> Directory<T> {
    /// How many entries there can be.
    pub(crate) const LEN: u32 = 1 << (3 * NODE_BITS + CHUNK_BITS);

    pub(crate) fn new() -> Self {
        Self { near: std::array::from_fn(|_| OnceBox::new()), far: OnceBox::new() }
    }

    /// The entry, if its chunk has been made.
    pub(crate) fn find(&self, index: u32) -> Option<&T> {
        let (leaf, chunk, place) = split(index);
        let leaf = match self.near.get(leaf) {
            Some(near) => near.get()?,
            // An index beyond the last entry is beyond the last node.
            None => self.far.get()?.get(leaf >> NODE_BITS)?.get()?[leaf % NODE].get()?,
        };
        Some(&leaf[chunk].get()?[place])
    }

    /// The entry, made if need be.
    pub(crate) fn entry(&self, index: u32) -> &T {
        let (leaf, chunk, place) = split(index);
        let leaf = match self.near.get(leaf) {
            Some(near) => near,
            None => &self.far.get_or_init(filled)[leaf >> NODE_BITS].get_or_init(filled)[leaf % NODE],
        };
        &leaf.get_or_init(filled)[chunk].get_or_init(filled)[place]
    }
}

/// Which leaf an entry is in, which of its chunks, and the place there.
const fn split(index: u32) -> (usize, usize, usize) {
    let index = index as usize;
    (index >> (NODE_BITS + CHUNK_BITS), (index >> CHUNK_BITS) % NODE, index % CHUNK)
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
        let last = Directory::<AtomicU32>::LEN - 1;
        let indices = [0, 1, 15, 16, 4_095, 4_096, 65_535, 65_536, 1_048_575, 1_048_576, last];
        for index in indices {
            let entry = directory.entry(index);
            entry.store(index, Ordering::Relaxed);
            assert!(std::ptr::eq(directory.find(index).unwrap(), entry));
        }
        for index in indices {
            assert_eq!(directory.find(index).unwrap().load(Ordering::Relaxed), index);
        }
        assert!(directory.find(1 << 21).is_none());
        assert!(directory.find(u32::MAX).is_none());
    }
}
