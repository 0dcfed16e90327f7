//! Pages: candidates from an index, compared by their records.

use petstore_ports::{PageEnd, PageRequest};

use crate::index_search::{FoundSlots, SlotCursor};
use crate::slab::{BLOCK, Slab, block_of};

/// Maximum number of candidates of one search, even if the page's limit is higher. It bounds the time for which an
/// index is locked.
const CANDIDATES_MAX: usize = 1_024;

/// Passes the records of a page to the sink.
///
/// `candidates` returns all slots of the page and possibly others. `admits` decides which of their records are on the
/// page. The page ends once `is_visible` returns false. Records that were already copied, but not passed to the sink,
/// are then discarded. No lock is held while the sink runs, because the sink is foreign code and may call the store.
pub(crate) fn fill<T: Clone>(
    page: &PageRequest,
    records: &Slab<T>,
    candidates: impl Fn(SlotCursor, usize) -> FoundSlots,
    admits: impl Fn(&T) -> bool,
    is_visible: &dyn Fn() -> bool,
    mut sink: impl FnMut(&T),
) -> PageEnd {
    let mut cursor = SlotCursor::new(page);
    let mut left = page.limit;
    let mut copies = [const { None }; BLOCK];
    while !cursor.is_over() {
        // The search asks for one candidate more than the page has room for. This candidate shows if more records
        // follow.
        let found = candidates(cursor, left.saturating_add(1).min(CANDIDATES_MAX));
        for slots in found.slots.chunk_by(|one, next| block_of(*one) == block_of(*next)) {
            let count = records.copy_of_block(slots, &admits, &mut copies);
            if !is_visible() {
                return PageEnd::Last;
            }
            for record in copies[..count].iter().flatten() {
                if left == 0 {
                    return PageEnd::More;
                }
                sink(record);
                left -= 1;
            }
        }
        cursor = found.rest;
    }
    PageEnd::Last
}

/// All records of a table, by id. `candidates` has the same meaning as in [`fill`]. No lock is held between two
/// records.
pub(crate) fn all<T: Clone>(
    records: &Slab<T>,
    candidates: impl Fn(SlotCursor, usize) -> FoundSlots,
) -> impl Iterator<Item = T> {
    let mut cursor = SlotCursor::of_all();
    let runs = std::iter::from_fn(move || {
        (!cursor.is_over()).then(|| {
            let found = candidates(cursor, CANDIDATES_MAX);
            cursor = found.rest;
            found.slots
        })
    });
    runs.flatten().filter_map(|slot| records.get(slot))
}
