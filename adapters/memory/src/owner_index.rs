//! An index from an owner's slot to the slots of the records that belong to the owner. It leads from a pet to its
//! orders.

use petstore_ports::SortDirection;
use roaring::RoaringBitmap;

use crate::slab::Slab;
use crate::slot_set::{Seek, SlotSet};

/// Maximum length of a list of slots. An insertion in the middle of a list moves at most 4 KiB.
const LIST_MAX: usize = 1_024;

/// Sets of slots, in a slab that is addressed by the slot of the owner. A tree of pairs, like that of the name index,
/// would cost a cache miss at each level.
pub(crate) struct OwnerIndex {
    sets: Slab<Set>,
}

impl OwnerIndex {
    pub(crate) fn new() -> Self {
        Self { sets: Slab::new() }
    }

    /// Adds a slot to the slots of `owner`.
    pub(crate) fn add(&self, owner: u32, slot: u32) {
        self.sets.alter(owner, |set| set.get_or_insert_with(|| Set::List(Vec::new())).add(slot));
    }

    /// Removes a slot from the slots of `owner`.
    pub(crate) fn remove(&self, owner: u32, slot: u32) {
        self.sets.alter(owner, |set| {
            if let Some(slots) = set {
                slots.remove(slot);
                if slots.is_empty() {
                    *set = None;
                }
            }
        });
    }

    /// Searches the slots of `owner`, if it has any. The slots are locked meanwhile, so the search must be short.
    pub(crate) fn search<R>(&self, owner: u32, search: impl FnOnce(&dyn SlotSet) -> R) -> Option<R> {
        self.sets.read(owner, |set| search(set))
    }
}

enum Set {
    /// Slots in ascending order.
    List(Vec<u32>),
    Bitmap(Box<RoaringBitmap>),
}

impl Set {
    fn add(&mut self, slot: u32) {
        match self {
            // A new slot is nearly always the highest.
            Self::List(slots) if slots.last().is_none_or(|last| *last < slot) => slots.push(slot),
            Self::List(slots) => {
                if let Err(index) = slots.binary_search(&slot) {
                    slots.insert(index, slot);
                }
            }
            Self::Bitmap(slots) => drop(slots.insert(slot)),
        }
        if let Self::List(slots) = self
            && slots.len() > LIST_MAX
        {
            *self = Self::Bitmap(Box::new(slots.iter().copied().collect()));
        }
    }

    fn remove(&mut self, slot: u32) {
        match self {
            Self::List(slots) => {
                if let Ok(index) = slots.binary_search(&slot) {
                    slots.remove(index);
                }
            }
            Self::Bitmap(slots) => drop(slots.remove(slot)),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::List(slots) => slots.is_empty(),
            Self::Bitmap(slots) => slots.is_empty(),
        }
    }
}

impl SlotSet for Set {
    fn seek(&self, order: SortDirection) -> Seek<'_> {
        let slots = match self {
            Self::List(slots) => slots,
            Self::Bitmap(slots) => return slots.seek(order),
        };
        Box::new(move |position| match order {
            SortDirection::Ascending => slots.get(slots.partition_point(|slot| *slot < position)).copied(),
            SortDirection::Descending => {
                slots[..slots.partition_point(|slot| *slot <= position)].last().copied()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot_set::check_ends_and_gap;

    #[test]
    fn an_owner_has_its_own_slots_in_both_directions() {
        let index = OwnerIndex::new();
        for (owner, slot) in [(7, u32::MAX), (7, 0), (7, 5), (7, 5), (8, 3), (6, u32::MAX)] {
            index.add(owner, slot);
        }
        let first = |from, order| index.search(7, |slots| slots.seek(order)(from)).flatten();
        check_ends_and_gap(first);
        index.remove(7, u32::MAX);
        assert_eq!(first(6, SortDirection::Ascending), None);
        assert!(index.search(9, |_| ()).is_none());
    }

    #[test]
    fn a_list_that_becomes_a_bitmap_keeps_its_slots_and_an_empty_set_is_removed() {
        let index = OwnerIndex::new();
        let most = u32::try_from(LIST_MAX).unwrap();
        let is_bitmap = || index.sets.read(1, |set| matches!(set, Set::Bitmap(_))) == Some(true);
        // Descending, so that each slot is inserted at the front.
        for slot in (0..=most).rev() {
            assert!(!is_bitmap());
            index.add(1, 2 * slot);
        }
        assert!(is_bitmap());
        for slot in 0..=most {
            let next = |place| index.search(1, |slots| slots.seek(SortDirection::Ascending)(place)).flatten();
            assert_eq!(next(2 * slot), Some(2 * slot));
            index.remove(1, 2 * slot);
            assert_eq!(next(0), (slot < most).then_some(2 * slot + 2));
        }
        assert!(index.search(1, |_| ()).is_none());
    }
}
