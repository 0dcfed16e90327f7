//! Intersection of slot sets without a scan of any of them.

use petstore_ports::{PageRequest, SortDirection};
use roaring::{MultiOps, RoaringBitmap};

use crate::slab::{SLOT_MAX, slot};
use crate::slot_set::{Seek, SlotSet, Union};

/// Maximum number of steps of one search. It limits the time for which an index is locked.
const STEPS_MAX: usize = 4_096;

/// The position of a search through slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotCursor {
    order: SortDirection,
    /// The next slot to examine; none at the end.
    next: Option<u32>,
}

impl SlotCursor {
    /// The start of a page: the position after the end of the previous page.
    pub(crate) fn new(page: &PageRequest) -> Self {
        let next = match (page.order, page.after) {
            (SortDirection::Ascending, None) => Some(0),
            (SortDirection::Ascending, Some(after)) => after.checked_add(1).and_then(slot),
            (SortDirection::Descending, None) => Some(SLOT_MAX),
            (SortDirection::Descending, Some(after)) => {
                after.checked_sub(1).map(|next| slot(next).unwrap_or(SLOT_MAX))
            }
        };
        Self { order: page.order, next }
    }

    /// The start of a search through all slots, ascending.
    pub(crate) const fn of_all() -> Self {
        Self { order: SortDirection::Ascending, next: Some(0) }
    }

    /// Returns true at the end.
    pub(crate) const fn is_over(self) -> bool {
        self.next.is_none()
    }

    const fn at(self, next: Option<u32>) -> Self {
        Self { order: self.order, next }
    }

    const fn past(self, slot: u32) -> Self {
        self.at(match self.order {
            SortDirection::Ascending => slot.checked_add(1),
            SortDirection::Descending => slot.checked_sub(1),
        })
    }
}

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FoundSlots {
    /// Slots in the order of the search.
    pub(crate) slots: Vec<u32>,
    /// The start of the next search.
    pub(crate) rest: SlotCursor,
}

impl FoundSlots {
    /// The result of a search that finds no slot and has reached the end.
    pub(crate) const fn nothing(cursor: SlotCursor) -> Self {
        Self { slots: Vec::new(), rest: cursor.at(None) }
    }
}

/// Finds the next slots that are in all of the sets, at most `max` of them, by a leapfrog join. The search may stop
/// early, before it has found `max` slots or reached the end.
///
/// In turn, each set searches its first slot at or after the position that the previous set has found. So a large set
/// is read only near the slots of a small set.
pub(crate) fn leapfrog(sets: &[&dyn SlotSet], mut cursor: SlotCursor, max: usize) -> FoundSlots {
    let mut seeks: Vec<Seek<'_>> = sets.iter().map(|set| set.seek(cursor.order)).collect();
    let mut slots = Vec::with_capacity(max.min(STEPS_MAX));
    for _ in 0..STEPS_MAX {
        let Some(position) = cursor.next.filter(|_| slots.len() < max) else {
            break;
        };
        cursor = match join_step(&mut seeks, position) {
            JoinStep::Common(slot) => {
                slots.push(slot);
                cursor.past(slot)
            }
            JoinStep::NotBefore(slot) => cursor.at(Some(slot)),
            JoinStep::End => cursor.at(None),
        };
    }
    FoundSlots { slots, rest: cursor }
}

/// Finds the next slots of one set, at most `max` of them. A [`leapfrog`] of this set would find the same slots, but
/// would take longer.
pub(crate) fn scan(set: &RoaringBitmap, cursor: SlotCursor, max: usize) -> FoundSlots {
    let Some(position) = cursor.next else {
        return FoundSlots::nothing(cursor);
    };
    let max = max.min(STEPS_MAX);
    let mut set = set.iter();
    let slots = match cursor.order {
        SortDirection::Ascending => {
            set.advance_to(position);
            let mut slots = vec![0; max];
            let found = set.next_many(&mut slots).len();
            slots.truncate(found);
            slots
        }
        SortDirection::Descending => {
            set.advance_back_to(position);
            set.rev().take(max).collect()
        }
    };
    let rest = match slots.last() {
        _ if slots.len() < max => cursor.at(None),
        Some(last) => cursor.past(*last),
        None => cursor,
    };
    FoundSlots { slots, rest }
}

/// The result of one step of a [`leapfrog`].
enum JoinStep {
    /// This slot is in all sets.
    Common(u32),
    /// No slot before this one is in all sets.
    NotBefore(u32),
    /// No further slot is in all sets.
    End,
}

fn join_step(seeks: &mut [Seek<'_>], position: u32) -> JoinStep {
    let mut agreed = None;
    for seek in seeks {
        match (seek(agreed.unwrap_or(position)), agreed) {
            (None, _) => return JoinStep::End,
            (Some(slot), Some(agreed)) if slot != agreed => return JoinStep::NotBefore(slot),
            (slot, _) => agreed = slot,
        }
    }
    agreed.map_or(JoinStep::End, JoinStep::Common)
}

/// Finds the next slots that all filters admit, at most `max` of them. If `other` is given, the slots must also be in
/// `other`. The search may stop early, before it has found `max` slots or reached the end.
pub(crate) fn search(
    filters: &[Union<'_>],
    other: Option<&dyn SlotSet>,
    cursor: SlotCursor,
    max: usize,
) -> FoundSlots {
    let sets: Vec<&dyn SlotSet> = filters.iter().map(|filter| filter as &dyn SlotSet).chain(other).collect();
    let mut found = leapfrog(&sets, cursor, max);
    if filters.len() < 2 || found.rest.is_over() || found.slots.len() == max {
        return found;
    }
    // The filters are large sets that may have a small intersection. A join would need a step for each gap in the sets.
    // So the bitmaps are intersected first, in one pass over their words of 64 slots each. If the intersection is
    // large, it soon fills the page. If it is small, the search through it is short.
    let common = filters.iter().map(|filter| filter.0.iter().copied().union()).intersection();
    let sets: Vec<&dyn SlotSet> = std::iter::once(&common as &dyn SlotSet).chain(other).collect();
    let more = leapfrog(&sets, found.rest, max - found.slots.len());
    found.slots.extend(more.slots);
    FoundSlots { slots: found.slots, rest: more.rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(order: SortDirection, after: Option<u64>) -> SlotCursor {
        SlotCursor::new(&PageRequest { order, after, limit: 0 })
    }

    #[test]
    fn a_cursor_starts_after_any_number_and_ends_at_either_end_of_the_slots() {
        use SortDirection::{Ascending, Descending};
        let last = u64::from(SLOT_MAX);
        for (order, after, next) in [
            (Ascending, None, Some(0)),
            (Ascending, Some(0), Some(1)),
            (Ascending, Some(last - 1), Some(SLOT_MAX)),
            (Ascending, Some(last), None),
            (Ascending, Some(u64::MAX), None),
            (Descending, None, Some(SLOT_MAX)),
            (Descending, Some(u64::MAX), Some(SLOT_MAX)),
            (Descending, Some(last + 1), Some(SLOT_MAX)),
            (Descending, Some(last), Some(SLOT_MAX - 1)),
            (Descending, Some(1), Some(0)),
            (Descending, Some(0), None),
        ] {
            assert_eq!(cursor(order, after).next, next, "{order:?} after {after:?}");
        }
        assert!(cursor(Ascending, None).past(SLOT_MAX).is_over());
        assert!(cursor(Descending, None).past(0).is_over());
    }

    #[test]
    fn large_sets_with_a_small_intersection_are_searched_to_the_end_in_one_call() {
        let even: RoaringBitmap = (0..1_000_000).step_by(2).collect();
        let odd: RoaringBitmap = (1..1_000_000).step_by(2).chain([999_998]).collect();
        for order in [SortDirection::Ascending, SortDirection::Descending] {
            let filters = [Union(vec![&even]), Union(vec![&odd])];
            let found = search(&filters, None, cursor(order, None), 10);
            assert_eq!((found.slots.as_slice(), found.rest.is_over()), ([999_998].as_slice(), true));
        }
    }

    #[test]
    fn a_search_that_stops_early_continues_where_it_stopped() {
        let even: RoaringBitmap = (0..100_000).step_by(2).collect();
        let odd: RoaringBitmap = (1..100_000).step_by(2).chain([99_998]).collect();
        let sets: [&dyn SlotSet; 2] = [&even, &odd];
        let (mut slots, mut rest, mut searches) = (vec![], cursor(SortDirection::Ascending, None), 0);
        while !rest.is_over() {
            let found = leapfrog(&sets, rest, 10);
            (slots, rest, searches) = ([slots, found.slots].concat(), found.rest, searches + 1);
        }
        assert_eq!(slots, [99_998]);
        assert!(searches > 1);
    }

    #[test]
    fn a_scan_of_one_set_finds_the_same_slots_as_a_join() {
        let dense: RoaringBitmap = (0..100).chain(70_000..200_000).collect();
        let sparse: RoaringBitmap = (0..1_000).map(|n| n * n * 7).chain([SLOT_MAX]).collect();
        for set in [&dense, &sparse, &RoaringBitmap::new()] {
            for order in [SortDirection::Ascending, SortDirection::Descending] {
                for after in [None, Some(0), Some(98), Some(50_000), Some(199_998), Some(u64::MAX)] {
                    for max in [1, 2, 101, 1_024] {
                        let (start, sets): (_, [&dyn SlotSet; 1]) = (cursor(order, after), [set]);
                        let (mut scanned, mut joined) = (scan(set, start, max), leapfrog(&sets, start, max));
                        assert_eq!(scanned.slots, joined.slots, "{order:?} after {after:?}, at most {max}");
                        // Each function continues from the position that it returned, because the two positions may
                        // differ at the end of the set.
                        (scanned, joined) = (scan(set, scanned.rest, max), leapfrog(&sets, joined.rest, max));
                        assert_eq!(
                            scanned.slots, joined.slots,
                            "{order:?} after {after:?}, at most {max}, second call"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_slot_in_two_states_is_found_once() {
        let (one, two): (RoaringBitmap, RoaringBitmap) = ((0..10).collect(), (5..15).collect());
        let filter = [Union(vec![&one, &two])];
        let found = search(&filter, None, cursor(SortDirection::Descending, Some(13)), 100);
        assert_eq!(found.slots, (0..13).rev().collect::<Vec<u32>>());
    }
}
