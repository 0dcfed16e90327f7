//! Records, addressed by their id.

use parking_lot::RwLock;

use crate::directory::Directory;

/// The largest id that a slab holds. It has no place for a record above it: reads find none, writes are refused.
pub(crate) const SLOT_MAX: u32 = u32::MAX;

const BLOCK_BITS: u32 = 4;

/// Records under one lock: a lock is then half a byte a record, and a page takes a few locks instead of a hundred.
pub(crate) const BLOCK: usize = 1 << BLOCK_BITS;

const _: () = assert!(SLOT_MAX >> BLOCK_BITS < Directory::<()>::LEN);

/// The place of an id, if the slabs reach that far.
pub(crate) fn slot(id: u64) -> Option<u32> {
    u32::try_from(id).ok()
}

/// The block that a slot is in.
pub(crate) const fn block_of(slot: u32) -> u32 {
    slot >> BLOCK_BITS
}

/// The place of a slot in its block.
pub(crate) const fn place_of(slot: u32) -> usize {
    slot as usize % BLOCK
}

type Block<T> = RwLock<[Option<T>; BLOCK]>;

/// Records by slot. Each is in one piece in its block, so that reading one touches no chain of pointers.
///
/// The lock of a block is a leaf: while it is held, a record is read or written and nothing else is done.
pub(crate) struct Slab<T> {
    blocks: Directory<Block<T>>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { blocks: Directory::new() }
    }

    /// What `read` takes from the record. It must be short, and take no other lock.
    pub(crate) fn read<R>(&self, slot: u32, read: impl FnOnce(&T) -> R) -> Option<R> {
        self.blocks.find(block_of(slot))?.read()[place_of(slot)].as_ref().map(read)
    }

    /// Writes the record, or removes it, and returns the one that was there.
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

    /// Changes the record in place, makes it or removes it.
    pub(crate) fn alter(&self, slot: u32, change: impl FnOnce(&mut Option<T>)) {
        change(&mut self.blocks.entry(block_of(slot)).write()[place_of(slot)]);
    }
}

impl<T: Clone> Slab<T> {
    /// A copy of the record.
    pub(crate) fn get(&self, slot: u32) -> Option<T> {
        self.read(slot, T::clone)
    }

    /// Copies those of the records that are wanted, in the order of the slots, which must be of one block, and returns how
    /// many there are. Its lock is taken once.
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
    fn a_record_is_where_it_was_written_until_it_is_removed() {
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
    fn removing_what_was_never_there_makes_no_room_for_it() {
        let slab = Slab::<u64>::new();
        assert_eq!(slab.write(77, None), None);
        assert!(slab.blocks.find(block_of(77)).is_none());
    }

    #[test]
    fn ids_above_the_last_slot_have_no_place() {
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
