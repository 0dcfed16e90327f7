//! Tables of records, addressed by id.

use parking_lot::RwLock;

use crate::directory::Directory;

/// The highest id that a slab can hold. A read with a higher id finds no record, and a write is refused.
pub(crate) const SLOT_MAX: u32 = u32::MAX;

const BLOCK_BITS: u32 = 4;

/// Number of records under one lock. A shared lock saves memory, and reading a page takes few locks.
pub(crate) const BLOCK: usize = 1 << BLOCK_BITS;

const _: () = assert!(SLOT_MAX >> BLOCK_BITS < Directory::<()>::LEN);

/// The slot of an id; none if the id is too high for a slab.
pub(crate) fn slot(id: u64) -> Option<u32> {
    u32::try_from(id).ok()
}

/// The first slot of a block.
pub(crate) const fn first_slot(block: u32) -> u32 {
    block << BLOCK_BITS
}

/// The block of a slot.
pub(crate) const fn block_of(slot: u32) -> u32 {
    slot >> BLOCK_BITS
}

/// The index of a slot within its block.
pub(crate) const fn place_of(slot: u32) -> usize {
    slot as usize % BLOCK
}

type Block<T> = RwLock<[Option<T>; BLOCK]>;

/// Records by slot. The blocks contain the records themselves, so that reading a record follows no further pointers.
///
/// While a block is locked, only one record is read or written, and no other lock is taken.
pub(crate) struct Slab<T> {
    blocks: Directory<Block<T>>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { blocks: Directory::new() }
    }

    /// Applies `read` to the record. The record is locked meanwhile, so `read` must be short, and take no other lock.
    pub(crate) fn read<R>(&self, slot: u32, read: impl FnOnce(&T) -> R) -> Option<R> {
        self.blocks.find(block_of(slot))?.read()[place_of(slot)].as_ref().map(read)
    }

    /// Writes or removes the record, and returns the previous one.
    pub(crate) fn write(&self, slot: u32, record: Option<T>) -> Option<T> {
        let block = block_of(slot);
        let block = if record.is_some() { self.blocks.entry(block) } else { self.blocks.find(block)? };
        std::mem::replace(&mut block.write()[place_of(slot)], record)
    }

    /// Changes the record in place, if there is one.
    pub(crate) fn update(&self, slot: u32, change: impl FnOnce(&mut T)) {
        if let Some(block) = self.blocks.find(block_of(slot)) {
            block.write()[place_of(slot)].as_mut().map(change);
        }
    }

    /// Changes the record in place, creates it or removes it.
    pub(crate) fn alter(&self, slot: u32, change: impl FnOnce(&mut Option<T>)) {
        change(&mut self.blocks.entry(block_of(slot)).write()[place_of(slot)]);
    }
}

impl<T: Clone> Slab<T> {
    /// A copy of the record.
    pub(crate) fn get(&self, slot: u32) -> Option<T> {
        self.read(slot, T::clone)
    }

    /// Copies the records that `wanted` admits, in the order of the slots, and returns their number. All slots must be
    /// of one block, which is locked once.
    pub(crate) fn copy_of_block(
        &self,
        slots: &[u32],
        wanted: impl Fn(&T) -> bool,
        into: &mut [Option<T>; BLOCK],
    ) -> usize {
        let block = slots.first().and_then(|slot| self.blocks.find(block_of(*slot)));
        let Some(block) = block.map(RwLock::read) else {
            return 0;
        };
        let records = slots.iter().filter_map(|slot| block[place_of(*slot)].as_ref());
        let mut count = 0;
        for (copy, record) in into.iter_mut().zip(records.filter(|record| wanted(record))) {
            *copy = Some(record.clone());
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_stays_in_its_slot_until_it_is_removed() {
        let slab = Slab::new();
        let slots = [0, 1, 15, 16, 1_023, 1_024, 2_097_152, SLOT_MAX];
        for slot in slots {
            assert_eq!(slab.get(slot), None);
            assert_eq!(slab.write(slot, Some(slot)), None);
        }
        for slot in slots {
            assert_eq!(slab.get(slot), Some(slot));
            slab.update(slot, |record| *record ^= 1);
            assert_eq!(slab.write(slot, None), Some(slot ^ 1));
            assert_eq!(slab.get(slot), None);
        }
    }

    #[test]
    fn removing_a_record_that_does_not_exist_allocates_nothing() {
        let slab = Slab::<u64>::new();
        assert_eq!(slab.write(77, None), None);
        assert!(slab.blocks.find(block_of(77)).is_none());
    }

    #[test]
    fn ids_above_the_last_slot_have_no_slot() {
        assert_eq!(slot(u64::from(SLOT_MAX)), Some(SLOT_MAX));
        assert_eq!(slot(u64::from(SLOT_MAX) + 1), None);
        assert_eq!(slot(u64::MAX), None);
    }

    #[test]
    fn a_block_is_copied_in_the_order_of_the_slots() {
        let slab = Slab::new();
        for slot in [32, 33, 40, 47, 48] {
            slab.write(slot, Some(slot));
        }
        let mut copies = [const { None }; BLOCK];
        assert_eq!(slab.copy_of_block(&[47, 41, 40, 33, 32], |slot| *slot != 40, &mut copies), 3);
        assert_eq!(copies[..3], [Some(47), Some(33), Some(32)]);
        assert_eq!(slab.copy_of_block(&[1_000_000], |_| true, &mut copies), 0);
    }
}
