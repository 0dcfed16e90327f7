//! A sparse table that is read without a lock.

use once_cell::race::OnceBox;

/// The number of bits of an index that select an entry of a chunk, and the number that select an entry of a node.
const CHUNK_BITS: u32 = 4;
const NODE_BITS: u32 = 8;

const CHUNK: usize = 1 << CHUNK_BITS;
const NODE: usize = 1 << NODE_BITS;

/// Number of leaves that are reached directly. The other leaves are below two levels of nodes. The direct leaves
/// contain the first 65,536 entries; in a slab these are a million records, because an entry of a slab is a block of
/// sixteen records.
const DIRECT: usize = 16;

type Chunk<T> = [T; CHUNK];
type Node<T> = [OnceBox<T>; NODE];
type Leaf<T> = Node<Chunk<T>>;

/// A radix tree of entries with an index below [`Directory::LEN`]. The entries are created in chunks on first use.
///
/// An entry is never moved or removed. Finding one takes two loads, or four for a large index. The nodes are small, so
/// that a store with few records needs little memory: the first entry takes 2 KiB and the size of its chunk.
pub(crate) struct Directory<T> {
    direct: [OnceBox<Leaf<T>>; DIRECT],
    /// The other leaves, below two levels of nodes. The slots for leaves that are in `direct` are unused.
    indirect: OnceBox<Node<Node<Leaf<T>>>>,
}

impl<T: Default> Directory<T> {
    /// Number of indices.
    pub(crate) const LEN: u32 = 1 << (3 * NODE_BITS + CHUNK_BITS);

    pub(crate) fn new() -> Self {
        Self { direct: std::array::from_fn(|_| OnceBox::new()), indirect: OnceBox::new() }
    }

    /// The entry, if its chunk exists.
    pub(crate) fn find(&self, index: u32) -> Option<&T> {
        let (leaf, chunk, place) = split(index);
        let leaf = match self.direct.get(leaf) {
            Some(direct) => direct.get()?,
            // An index from `LEN` on has no node.
            None => self.indirect.get()?.get(leaf >> NODE_BITS)?.get()?[leaf % NODE].get()?,
        };
        Some(&leaf[chunk].get()?[place])
    }

    /// The entries whose chunks exist, each with its index.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &T)> {
        let direct = self.direct.iter().enumerate();
        let nodes = self.indirect.get().into_iter().flat_map(|nodes| nodes.iter().enumerate());
        let indirect =
            nodes.filter_map(|(number, node)| Some((number, node.get()?))).flat_map(|(number, node)| {
                node.iter().enumerate().map(move |(place, leaf)| ((number << NODE_BITS) + place, leaf))
            });
        let leaves = direct.chain(indirect).filter_map(|(number, leaf)| Some((number, leaf.get()?)));
        let chunks = leaves.flat_map(|(leaf, chunks)| {
            chunks
                .iter()
                .enumerate()
                .filter_map(move |(number, chunk)| Some(((leaf << NODE_BITS) + number, chunk.get()?)))
        });
        chunks.flat_map(|(chunk, entries)| {
            entries.iter().enumerate().map(move |(place, entry)| {
                // The conversion does not fail, because every index is below `LEN`.
                (u32::try_from((chunk << CHUNK_BITS) + place).unwrap_or(u32::MAX), entry)
            })
        })
    }

    /// The entry; its chunk is created if necessary.
    pub(crate) fn entry(&self, index: u32) -> &T {
        let (leaf, chunk, place) = split(index);
        let leaf = match self.direct.get(leaf) {
            Some(direct) => direct,
            None => &self.indirect.get_or_init(filled)[leaf >> NODE_BITS].get_or_init(filled)[leaf % NODE],
        };
        &leaf.get_or_init(filled)[chunk].get_or_init(filled)[place]
    }
}

/// The leaf of an entry, the chunk within the leaf, and the place within the chunk.
const fn split(index: u32) -> (usize, usize, usize) {
    let index = index as usize;
    (index >> (NODE_BITS + CHUNK_BITS), (index >> CHUNK_BITS) % NODE, index % CHUNK)
}

#[expect(clippy::unnecessary_box_returns, reason = "built on the heap: it is too large for the stack")]
fn filled<T: Default, const N: usize>() -> Box<[T; N]> {
    let entries: Box<[T]> = (0..N).map(|_| T::default()).collect();
    entries.try_into().ok().expect("as many entries as the array has")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn an_entry_exists_from_its_first_use_and_is_never_moved() {
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
        let used = directory.all().filter(|(_, entry)| entry.load(Ordering::Relaxed) != 0);
        let found: Vec<_> = used.map(|(index, entry)| (index, entry.load(Ordering::Relaxed))).collect();
        let expected: Vec<_> = indices.into_iter().skip(1).map(|index| (index, index)).collect();
        assert_eq!(found, expected, "all entries are listed, each with its index");
        assert!(directory.find(1 << 21).is_none());
        assert!(directory.find(u32::MAX).is_none());
    }
}
