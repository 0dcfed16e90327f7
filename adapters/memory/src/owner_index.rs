//! SlotSet that belong to another slot: the orders of a pet.

use petstore_ports::PageOrder;
use roaring::RoaringBitmap;

use crate::index_search::{Seek, SlotSet};
use crate::slab::Slab;

/// SlotSet that are kept as a list: to put one into its middle moves no more than a page of memory.
const LISTED_MAX: usize = 1_024;

/// Sets of slots, in a table by the slot that they belong to. In a tree of pairs, as for names, an order in memory took 4%
/// more time: each level of the tree was a cache miss.
pub(crate) struct OwnerIndex {
    sets: Slab<Set>,
}

impl OwnerIndex {
    pub(crate) fn new() -> Self {
        Self { sets: Slab::new() }
    }

    /// Adds a slot to those of `owner`.
    pub(crate) fn add(&self, owner: u32, slot: u32) {
        self.sets.alter(owner, |set| set.get_or_insert_with(|| Set::Listed(Vec::new())).add(slot));
    }

    /// Removes a slot from those of `owner`.
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

    /// Searches the slots of `owner`; none if it has none. They do not change meanwhile: the search must be short.
    pub(crate) fn search<R>(&self, owner: u32, search: impl FnOnce(&dyn SlotSet) -> R) -> Option<R> {
        self.sets.read(owner, |set| search(set))
    }
}

enum Set {
    /// Rising.
    Listed(Vec<u32>),
    Mapped(Box<RoaringBitmap>),
}

impl Set {
    fn add(&mut self, slot: u32) {
        match self {
            // New slots are the highest, nearly always.
            Self::Listed(slots) if slots.last().is_none_or(|last| *last < slot) => slots.push(slot),
            Self::Listed(slots) => {
                if let Err(place) = slots.binary_search(&slot) {
                    slots.insert(place, slot);
                }
            }
            Self::Mapped(slots) => drop(slots.insert(slot)),
        }
        if let Self::Listed(slots) = self
            && slots.len() > LISTED_MAX
        {
            *self = Self::Mapped(Box::new(slots.iter().copied().collect()));
        }
    }

    fn remove(&mut self, slot: u32) {
        match self {
            Self::Listed(slots) => {
                if let Ok(place) = slots.binary_search(&slot) {
                    slots.remove(place);
                }
            }
            Self::Mapped(slots) => drop(slots.remove(slot)),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Listed(slots) => slots.is_empty(),
            Self::Mapped(slots) => slots.is_empty(),
        }
    }
}

impl SlotSet for Set {
    fn seek(&self, order: PageOrder) -> Seek<'_> {
        let slots = match self {
            Self::Listed(slots) => slots,
            Self::Mapped(slots) => return slots.seek(order),
        };
        Box::new(move |place| match order {
            PageOrder::Ascending => slots.get(slots.partition_point(|slot| *slot < place)).copied(),
            PageOrder::Descending => slots[..slots.partition_point(|slot| *slot <= place)].last().copied(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index_search::check_ends_and_gap;

    #[test]
    fn an_owner_shows_its_own_slots_only_in_both_directions() {
        let index = OwnerIndex::new();
        for (owner, slot) in [(7, u32::MAX), (7, 0), (7, 5), (7, 5), (8, 3), (6, u32::MAX)] {
            index.add(owner, slot);
        }
        let first = |from, order| index.search(7, |slots| slots.seek(order)(from)).flatten();
        check_ends_and_gap(first);
        index.remove(7, u32::MAX);
        assert_eq!(first(6, PageOrder::Ascending), None);
        assert!(index.search(9, |_| ()).is_none());
    }

    #[test]
    fn a_list_that_becomes_a_map_holds_the_same_and_an_empty_one_is_gone() {
        let index = OwnerIndex::new();
        let most = u32::try_from(LISTED_MAX).unwrap();
        let is_mapped = || index.sets.read(1, |set| matches!(set, Set::Mapped(_))) == Some(true);
        // From the highest to the lowest, so that each is put in front.
        for slot in (0..=most).rev() {
            assert!(!is_mapped());
            index.add(1, 2 * slot);
        }
        assert!(is_mapped());
        for slot in 0..=most {
            let next = |place| index.search(1, |slots| slots.seek(PageOrder::Ascending)(place)).flatten();
            assert_eq!(next(2 * slot), Some(2 * slot));
            index.remove(1, 2 * slot);
            assert_eq!(next(0), (slot < most).then_some(2 * slot + 2));
        }
        assert!(index.search(1, |_| ()).is_none());
    }
}
