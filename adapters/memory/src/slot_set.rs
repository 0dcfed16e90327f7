//! Sets of slots. A search can jump from one position to a later one, in ascending or descending order.

use petstore_ports::SortDirection;
use roaring::RoaringBitmap;

#[cfg(test)]
use crate::slab::SLOT_MAX;

/// A function that returns the first slot of a set at or after a position, in the order of the search. The positions of
/// successive calls must also be in this order.
pub(crate) type Seek<'a> = Box<dyn FnMut(u32) -> Option<u32> + 'a>;

/// A set of slots in which a search can jump from one position to a later one.
pub(crate) trait SlotSet {
    /// Begins a search through the set.
    fn seek(&self, order: SortDirection) -> Seek<'_>;
}

impl SlotSet for RoaringBitmap {
    fn seek(&self, order: SortDirection) -> Seek<'_> {
        let mut slots = self.iter();
        match order {
            SortDirection::Ascending => memoized(order, move |position| {
                slots.advance_to(position);
                slots.next()
            }),
            SortDirection::Descending => memoized(order, move |position| {
                slots.advance_back_to(position);
                slots.next_back()
            }),
        }
    }
}

/// At most one slot.
impl SlotSet for Option<u32> {
    fn seek(&self, order: SortDirection) -> Seek<'_> {
        Box::new(move |position| self.filter(|slot| !is_before(order, *slot, position)))
    }
}

/// The union of bitmaps, one for each value that a filter admits.
pub(crate) struct Union<'a>(pub(crate) Vec<&'a RoaringBitmap>);

impl SlotSet for Union<'_> {
    fn seek(&self, order: SortDirection) -> Seek<'_> {
        if let [bitmap] = self.0.as_slice() {
            return bitmap.seek(order);
        }
        let mut seeks: Vec<Seek<'_>> = self.0.iter().map(|bitmap| bitmap.seek(order)).collect();
        Box::new(move |position| {
            let slots = seeks.iter_mut().filter_map(|seek| seek(position));
            match order {
                SortDirection::Ascending => slots.min(),
                SortDirection::Descending => slots.max(),
            }
        })
    }
}

/// Makes a [`Seek`] of `next_from`. `next_from` takes slots from an iterator until one is at or after the position, and
/// the iterator returns each slot only once. So the last slot is kept, and returned again until the position has passed
/// it.
pub(crate) fn memoized<'a>(
    order: SortDirection,
    mut next_from: impl FnMut(u32) -> Option<u32> + 'a,
) -> Seek<'a> {
    let mut last = None;
    Box::new(move |position| {
        if last.is_none_or(|last| is_before(order, last, position)) {
            last = next_from(position);
        }
        last
    })
}

/// Returns true if a search in this order meets `slot` before `position`.
pub(crate) const fn is_before(order: SortDirection, slot: u32, position: u32) -> bool {
    match order {
        SortDirection::Ascending => slot < position,
        SortDirection::Descending => slot > position,
    }
}

/// Checks an index that has the slots 0, 5 and the highest under one key.
#[cfg(test)]
pub(crate) fn check_ends_and_gap(first: impl Fn(u32, SortDirection) -> Option<u32>) {
    for (from, ascending, descending) in [
        (0, Some(0), Some(0)),
        (1, Some(5), Some(0)),
        (5, Some(5), Some(5)),
        (6, Some(SLOT_MAX), Some(5)),
        (SLOT_MAX, Some(SLOT_MAX), Some(SLOT_MAX)),
    ] {
        assert_eq!(first(from, SortDirection::Ascending), ascending, "from {from} up");
        assert_eq!(first(from, SortDirection::Descending), descending, "from {from} down");
    }
}
