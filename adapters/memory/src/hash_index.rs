//! An index from the hash of a name to slots. There are too many names for a bitmap for each of them.

use std::collections::BTreeSet;

use parking_lot::RwLock;
use petstore_ports::SortDirection;

use crate::slot_set::{Seek, SlotSet, is_before, memoized};

/// Number of shards. Each has its own lock, so writers of different keys seldom wait for each other.
const SHARDS: u32 = 64;

/// Sorted pairs of a key and a slot, each packed into one word.
pub(crate) struct HashIndex {
    shards: Box<[RwLock<BTreeSet<u64>>]>,
}

impl HashIndex {
    pub(crate) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| RwLock::default()).collect() }
    }

    pub(crate) fn add(&self, key: u32, slot: u32) {
        self.shard(key).write().insert(pack(key, slot));
    }

    /// Adds the pairs of a buffer, one shard at a time.
    pub(crate) fn add_all(&self, buffer: HashIndexBuffer) {
        for (shard, pairs) in self.shards.iter().zip(buffer.shards) {
            shard.write().append(&mut pairs.into_iter().collect());
        }
    }

    pub(crate) fn remove(&self, key: u32, slot: u32) {
        self.shard(key).write().remove(&pack(key, slot));
    }

    /// Searches the slots of a key. The shard is locked meanwhile, so the search must be short.
    pub(crate) fn search<R>(&self, key: u32, search: impl FnOnce(&dyn SlotSet) -> R) -> R {
        search(&SlotsOf { pairs: &self.shard(key).read(), key })
    }

    fn shard(&self, key: u32) -> &RwLock<BTreeSet<u64>> {
        &self.shards[shard_of(key)]
    }
}

const fn shard_of(key: u32) -> usize {
    (key % SHARDS) as usize
}

/// Pairs that a bulk load collects, and then adds to the index all at once. If they were added one by one, each pair
/// would need a search in a tree that is larger than the CPU caches.
pub(crate) struct HashIndexBuffer {
    shards: Vec<Vec<u64>>,
}

impl Default for HashIndexBuffer {
    fn default() -> Self {
        Self { shards: vec![Vec::new(); SHARDS as usize] }
    }
}

impl HashIndexBuffer {
    pub(crate) fn push(&mut self, key: u32, slot: u32) {
        self.shards[shard_of(key)].push(pack(key, slot));
    }
}

/// The slots of one key.
struct SlotsOf<'a> {
    pairs: &'a BTreeSet<u64>,
    key: u32,
}

impl SlotSet for SlotsOf<'_> {
    fn seek(&self, order: SortDirection) -> Seek<'_> {
        let all = pack(self.key, 0)..=pack(self.key, u32::MAX);
        let mut pairs = self.pairs.range(all.clone());
        // The next pair in the set is nearly always the wanted one. The tree is searched only if slots are skipped.
        memoized(order, move |position| {
            let from = pack(self.key, position);
            let next = match order {
                SortDirection::Ascending => pairs.next(),
                SortDirection::Descending => pairs.next_back(),
            };
            let slot = slot_of(*next?);
            if !is_before(order, slot, position) {
                return Some(slot);
            }
            match order {
                SortDirection::Ascending => {
                    pairs = self.pairs.range(from..=*all.end());
                    pairs.next().copied().map(slot_of)
                }
                SortDirection::Descending => {
                    pairs = self.pairs.range(*all.start()..=from);
                    pairs.next_back().copied().map(slot_of)
                }
            }
        })
    }
}

const fn pack(key: u32, slot: u32) -> u64 {
    ((key as u64) << 32) | slot as u64
}

#[expect(clippy::cast_possible_truncation, reason = "the slot is the lower half")]
const fn slot_of(pair: u64) -> u32 {
    pair as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot_set::check_ends_and_gap;

    #[test]
    fn a_key_has_its_own_slots_in_both_directions() {
        let pairs = [(7, 0), (7, 5), (7, u32::MAX), (8, 3), (7 + SHARDS, 4), (6, u32::MAX)];
        let (added, loaded, mut buffer) = (HashIndex::new(), HashIndex::new(), HashIndexBuffer::default());
        for (key, slot) in pairs {
            added.add(key, slot);
            buffer.push(key, slot);
        }
        loaded.add_all(buffer);
        check_slots(&added);
        check_slots(&loaded);
    }

    fn check_slots(index: &HashIndex) {
        let first = |from, order| index.search(7, |slots| slots.seek(order)(from));
        check_ends_and_gap(first);
        index.remove(7, u32::MAX);
        assert_eq!(first(6, SortDirection::Ascending), None);
        assert_eq!(index.search(9, |slots| slots.seek(SortDirection::Ascending)(0)), None);
    }
}
