//! SlotSet that are in several sets at once, found without a scan of any of them.

use petstore_ports::{PageOrder, PageRequest};
use roaring::{MultiOps, RoaringBitmap};

use crate::slab::{SLOT_MAX, slot};

/// Steps of one search: what a lock is held for, at most some hundred microseconds.
const STEPS_MAX: usize = 4_096;

/// Where a walk over slots stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotCursor {
    order: PageOrder,
    /// The next slot to look at; none at the end.
    next: Option<u32>,
}

impl SlotCursor {
    /// The walk of a page, from where the page before ended.
    pub(crate) fn new(page: &PageRequest) -> Self {
        let next = match (page.order, page.after) {
            (PageOrder::Ascending, None) => Some(0),
            (PageOrder::Ascending, Some(after)) => after.checked_add(1).and_then(slot),
            (PageOrder::Descending, None) => Some(SLOT_MAX),
            (PageOrder::Descending, Some(after)) => {
                after.checked_sub(1).map(|next| slot(next).unwrap_or(SLOT_MAX))
            }
        };
        Self { order: page.order, next }
    }

    /// The walk over all slots, rising.
    pub(crate) const fn of_all() -> Self {
        Self { order: PageOrder::Ascending, next: Some(0) }
    }

    /// Whether there is nothing more to look at.
    pub(crate) const fn is_over(self) -> bool {
        self.next.is_none()
    }

    const fn at(self, next: Option<u32>) -> Self {
        Self { order: self.order, next }
    }

    const fn past(self, slot: u32) -> Self {
        self.at(match self.order {
            PageOrder::Ascending => slot.checked_add(1),
            PageOrder::Descending => slot.checked_sub(1),
        })
    }
}

/// What a search has found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Some slots, in the order of the walk.
    pub(crate) slots: Vec<u32>,
    /// Where the next search goes on.
    pub(crate) rest: SlotCursor,
}

impl Found {
    /// Nothing, and there is nothing more.
    pub(crate) const fn nothing(walk: SlotCursor) -> Self {
        Self { slots: Vec::new(), rest: walk.at(None) }
    }
}

/// Asked for the first slot of a set from a place on, that place included. The places come in the order of the walk.
pub(crate) type Seek<'a> = Box<dyn FnMut(u32) -> Option<u32> + 'a>;

/// A set of slots that a search can leap through.
pub(crate) trait SlotSet {
    /// Begins a walk through the set.
    fn seek(&self, order: PageOrder) -> Seek<'_>;
}

impl SlotSet for RoaringBitmap {
    fn seek(&self, order: PageOrder) -> Seek<'_> {
        let mut slots = self.iter();
        match order {
            PageOrder::Ascending => memoized(order, move |place| {
                slots.advance_to(place);
                slots.next()
            }),
            PageOrder::Descending => memoized(order, move |place| {
                slots.advance_back_to(place);
                slots.next_back()
            }),
        }
    }
}

/// One slot at most.
impl SlotSet for Option<u32> {
    fn seek(&self, order: PageOrder) -> Seek<'_> {
        Box::new(move |place| self.filter(|slot| !is_before(order, *slot, place)))
    }
}

/// SlotSet in any of these bitmaps: the values that one filter admits.
pub(crate) struct Union<'a>(pub(crate) Vec<&'a RoaringBitmap>);

impl SlotSet for Union<'_> {
    fn seek(&self, order: PageOrder) -> Seek<'_> {
        if let [bitmap] = self.0.as_slice() {
            return bitmap.seek(order);
        }
        let mut seeks: Vec<Seek<'_>> = self.0.iter().map(|bitmap| bitmap.seek(order)).collect();
        Box::new(move |place| {
            let slots = seeks.iter_mut().filter_map(|seek| seek(place));
            match order {
                PageOrder::Ascending => slots.min(),
                PageOrder::Descending => slots.max(),
            }
        })
    }
}

/// Makes a [`Seek`] of an iterator that skips: `next_from` is not asked again for what it has passed, so the slot that
/// it gave last is kept until the walk is past it.
pub(crate) fn memoized<'a>(order: PageOrder, mut next_from: impl FnMut(u32) -> Option<u32> + 'a) -> Seek<'a> {
    let mut last = None;
    Box::new(move |place| {
        if last.is_none_or(|last| is_before(order, last, place)) {
            last = next_from(place);
        }
        last
    })
}

/// Whether a walk meets `slot` before `place`.
pub(crate) const fn is_before(order: PageOrder, slot: u32, place: u32) -> bool {
    match order {
        PageOrder::Ascending => slot < place,
        PageOrder::Descending => slot > place,
    }
}

/// The next slots, at most `max` of them, that are in all of the sets. It may stop early, with slots left.
///
/// Each set in turn says where it goes on from the place that the others agree on so far: so a small set leads, and a
/// large one is touched only where the small one is.
pub(crate) fn leapfrog(sets: &[&dyn SlotSet], mut walk: SlotCursor, max: usize) -> Found {
    let mut seeks: Vec<Seek<'_>> = sets.iter().map(|set| set.seek(walk.order)).collect();
    let mut slots = Vec::with_capacity(max.min(STEPS_MAX));
    for _ in 0..STEPS_MAX {
        let Some(place) = walk.next.filter(|_| slots.len() < max) else {
            break;
        };
        walk = match agree(&mut seeks, place) {
            JoinStep::At(slot) => {
                slots.push(slot);
                walk.past(slot)
            }
            JoinStep::NotBefore(slot) => walk.at(Some(slot)),
            JoinStep::Never => walk.at(None),
        };
    }
    Found { slots, rest: walk }
}

/// The next slots of one set, at most `max` of them: what [`leap`] would find in it, in a fifth of the time.
pub(crate) fn scan(set: &RoaringBitmap, walk: SlotCursor, max: usize) -> Found {
    let Some(place) = walk.next else {
        return Found::nothing(walk);
    };
    let max = max.min(STEPS_MAX);
    let mut set = set.iter();
    let slots = match walk.order {
        PageOrder::Ascending => {
            set.advance_to(place);
            let mut slots = vec![0; max];
            let found = set.next_many(&mut slots).len();
            slots.truncate(found);
            slots
        }
        PageOrder::Descending => {
            set.advance_back_to(place);
            set.rev().take(max).collect()
        }
    };
    let rest =
        if slots.len() < max { walk.at(None) } else { slots.last().map_or(walk, |last| walk.past(*last)) };
    Found { slots, rest }
}

/// The first slot that all sets have in common.
enum JoinStep {
    At(u32),
    NotBefore(u32),
    Never,
}

fn agree(seeks: &mut [Seek<'_>], place: u32) -> JoinStep {
    let mut agreed = None;
    for seek in seeks {
        match (seek(agreed.unwrap_or(place)), agreed) {
            (None, _) => return JoinStep::Never,
            (Some(slot), Some(agreed)) if slot != agreed => return JoinStep::NotBefore(slot),
            (slot, _) => agreed = slot,
        }
    }
    agreed.map_or(JoinStep::Never, JoinStep::At)
}

/// The next slots, at most `max` of them, that every filter admits and that are in `other` too. It may stop early, with
/// slots left.
pub(crate) fn search(
    filters: &[Union<'_>],
    other: Option<&dyn SlotSet>,
    walk: SlotCursor,
    max: usize,
) -> Found {
    let sets: Vec<&dyn SlotSet> = filters.iter().map(|filter| filter as &dyn SlotSet).chain(other).collect();
    let mut found = leapfrog(&sets, walk, max);
    if filters.len() < 2 || found.rest.is_over() || found.slots.len() == max {
        return found;
    }
    // Large sets that hardly meet: leaping between them costs a step for each gap. To intersect them costs a pass over
    // their words, 64 slots each, and leaves a set that is small or soon fills the page.
    let common = filters.iter().map(|filter| filter.0.iter().copied().union()).intersection();
    let sets: Vec<&dyn SlotSet> = std::iter::once(&common as &dyn SlotSet).chain(other).collect();
    let more = leapfrog(&sets, found.rest, max - found.slots.len());
    found.slots.extend(more.slots);
    Found { slots: found.slots, rest: more.rest }
}

/// Holds an index against what it must find of a key with the slots 0, 5 and the highest.
#[cfg(test)]
pub(crate) fn check_ends_and_gap(first: impl Fn(u32, PageOrder) -> Option<u32>) {
    for (from, rising, falling) in [
        (0, Some(0), Some(0)),
        (1, Some(5), Some(0)),
        (5, Some(5), Some(5)),
        (6, Some(SLOT_MAX), Some(5)),
        (SLOT_MAX, Some(SLOT_MAX), Some(SLOT_MAX)),
    ] {
        assert_eq!(first(from, PageOrder::Ascending), rising, "from {from} up");
        assert_eq!(first(from, PageOrder::Descending), falling, "from {from} down");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(order: PageOrder, after: Option<u64>) -> SlotCursor {
        SlotCursor::new(&PageRequest { order, after, limit: 0 })
    }

    #[test]
    fn a_walk_starts_after_any_number_and_ends_at_both_ends_of_the_slots() {
        use PageOrder::{Ascending, Descending};
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
            assert_eq!(walk(order, after).next, next, "{order:?} after {after:?}");
        }
        assert!(walk(Ascending, None).past(SLOT_MAX).is_over());
        assert!(walk(Descending, None).past(0).is_over());
    }

    #[test]
    fn sets_that_never_meet_are_searched_to_the_end_at_once() {
        let even: RoaringBitmap = (0..1_000_000).step_by(2).collect();
        let odd: RoaringBitmap = (1..1_000_000).step_by(2).chain([999_998]).collect();
        for order in [PageOrder::Ascending, PageOrder::Descending] {
            let filters = [Union(vec![&even]), Union(vec![&odd])];
            let found = search(&filters, None, walk(order, None), 10);
            assert_eq!((found.slots.as_slice(), found.rest.is_over()), ([999_998].as_slice(), true));
        }
    }

    #[test]
    fn a_search_that_stops_early_goes_on_where_it_stopped() {
        let even: RoaringBitmap = (0..100_000).step_by(2).collect();
        let odd: RoaringBitmap = (1..100_000).step_by(2).chain([99_998]).collect();
        let sets: [&dyn SlotSet; 2] = [&even, &odd];
        let (mut slots, mut rest, mut searches) = (vec![], walk(PageOrder::Ascending, None), 0);
        while !rest.is_over() {
            let found = leapfrog(&sets, rest, 10);
            (slots, rest, searches) = ([slots, found.slots].concat(), found.rest, searches + 1);
        }
        assert_eq!(slots, [99_998]);
        assert!(searches > 1);
    }

    #[test]
    fn a_run_through_one_set_finds_what_leaping_finds() {
        let dense: RoaringBitmap = (0..100).chain(70_000..200_000).collect();
        let sparse: RoaringBitmap = (0..1_000).map(|n| n * n * 7).chain([SLOT_MAX]).collect();
        for set in [&dense, &sparse, &RoaringBitmap::new()] {
            for order in [PageOrder::Ascending, PageOrder::Descending] {
                for after in [None, Some(0), Some(98), Some(50_000), Some(199_998), Some(u64::MAX)] {
                    for max in [1, 2, 101, 1_024] {
                        let (walk, sets): (_, [&dyn SlotSet; 1]) = (walk(order, after), [set]);
                        let (mut scanned, mut joined) = (scan(set, walk, max), leapfrog(&sets, walk, max));
                        assert_eq!(scanned.slots, joined.slots, "{order:?} after {after:?}, at most {max}");
                        // Where both go on may be told differently, if nothing is there.
                        (scanned, joined) = (scan(set, scanned.rest, max), leapfrog(&sets, joined.rest, max));
                        assert_eq!(
                            scanned.slots, joined.slots,
                            "{order:?} after {after:?}, at most {max}, and on"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_slot_in_two_states_at_once_is_found_once() {
        let (one, two): (RoaringBitmap, RoaringBitmap) = ((0..10).collect(), (5..15).collect());
        let filter = [Union(vec![&one, &two])];
        let found = search(&filter, None, walk(PageOrder::Descending, Some(13)), 100);
        assert_eq!(found.slots, (0..13).rev().collect::<Vec<u32>>());
    }
}
