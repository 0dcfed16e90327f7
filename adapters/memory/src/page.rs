//! A page: candidates from an index, judged by their records.

use petstore_ports::{PageEnd, PageRequest};

use crate::index_search::{Found, SlotCursor};
use crate::slab::{BLOCK, Slab, block_of};

/// Candidates that are asked for at once: whatever the page's limit, an index is never held for more.
const CANDIDATES_MAX: usize = 1_024;

/// Hands the records of a page to the sink.
///
/// `candidates` gives slots that may be of the page and misses none that is; `admits` decides. The page ends where its
/// records are not shown any more: those that were copied meanwhile are nobody's business. No lock is held while
/// the sink runs: it is foreign code, and may well ask the store something else.
pub(crate) fn fill<T: Clone>(
    page: &PageRequest,
    records: &Slab<T>,
    candidates: impl Fn(SlotCursor, usize) -> Found,
    admits: impl Fn(&T) -> bool,
    is_shown: &dyn Fn() -> bool,
    mut sink: impl FnMut(&T),
) -> PageEnd {
    let mut walk = SlotCursor::new(page);
    let mut left = page.limit;
    let mut copies = [const { None }; BLOCK];
    while !walk.is_over() {
        // One more than the page takes: whether it is there decides how the page ends.
        let found = candidates(walk, left.saturating_add(1).min(CANDIDATES_MAX));
        for slots in found.slots.chunk_by(|one, next| block_of(*one) == block_of(*next)) {
            let count = records.copy_of_block(slots, &admits, &mut copies);
            if !is_shown() {
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
        walk = found.rest;
    }
    PageEnd::Last
}

/// Every record of a table, by id. `candidates` gives slots as for [`fill`]. No lock is held between two of them.
pub(crate) fn all<T: Clone>(
    records: &Slab<T>,
    candidates: impl Fn(SlotCursor, usize) -> Found,
) -> impl Iterator<Item = T> {
    let mut walk = SlotCursor::of_all();
    let runs = std::iter::from_fn(move || {
        (!walk.is_over()).then(|| {
            let found = candidates(walk, CANDIDATES_MAX);
            walk = found.rest;
            found.slots
        })
    });
    runs.flatten().filter_map(|slot| records.get(slot))
}
