//! Counters of new ids.

use std::sync::atomic::{AtomicU64, Ordering};

use petstore_ports::StoreError;

use crate::slab::SLOT_MAX;

/// Issues ids in ascending order. An id that was issued but not used is issued again, unless a later id was issued
/// meanwhile. In that case the unused id leaves a gap.
#[derive(Default)]
pub(crate) struct IdCounter {
    /// The last id that was issued or written.
    last: AtomicU64,
}

impl IdCounter {
    /// Issues the next id.
    pub(crate) fn next(&self) -> Result<u64, StoreError> {
        let number = self.last.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if number > u64::from(SLOT_MAX) {
            return Err(StoreError::busy(format!("all {SLOT_MAX} ids of a table are used up")));
        }
        Ok(number)
    }

    /// Takes back an id with which nothing was written, unless a later id was issued. Without this, each rejected
    /// operation would leave a gap, and gaps waste memory, because a slab allocates records in blocks of consecutive
    /// ids.
    pub(crate) fn take_back(&self, id: u64) {
        let _ = self.last.compare_exchange(id, id - 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The last id that was issued or written; 0 before the first.
    pub(crate) fn last(&self) -> u64 {
        // The number may exceed the bound, because failed calls of `next` also increment it.
        self.last.load(Ordering::Relaxed).min(u64::from(SLOT_MAX))
    }

    /// Sets the last id issued. The caller ensures that no id is issued meanwhile.
    pub(crate) fn set_last(&self, id: u64) {
        self.last.store(id, Ordering::Relaxed);
    }

    /// Prevents the id of a loaded record from being issued again.
    pub(crate) fn advance_to(&self, id: u64) {
        if self.last.load(Ordering::Relaxed) < id {
            self.last.fetch_max(id, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use petstore_ports::StoreErrorKind;

    use super::*;

    #[test]
    fn ids_ascend_from_one_and_skip_written_ids() {
        let ids = IdCounter::default();
        assert_eq!(ids.next(), Ok(1));
        ids.advance_to(10);
        ids.advance_to(5);
        assert_eq!(ids.next(), Ok(11));
    }

    #[test]
    fn an_id_that_is_taken_back_is_reissued_unless_another_one_was_issued_meanwhile() {
        let ids = IdCounter::default();
        let next = || ids.next().unwrap();
        assert_eq!((next(), next()), (1, 2));
        ids.take_back(2);
        assert_eq!((next(), next()), (2, 3));
        ids.take_back(2);
        assert_eq!(next(), 4);
        ids.advance_to(10);
        ids.take_back(4);
        assert_eq!(next(), 11);
    }

    #[test]
    fn the_last_slot_is_the_last_id() {
        let ids = IdCounter::default();
        ids.advance_to(u64::from(SLOT_MAX) - 1);
        assert_eq!(ids.next(), Ok(u64::from(SLOT_MAX)));
        for _ in 0..3 {
            assert!(matches!(ids.next(), Err(error) if error.kind() == StoreErrorKind::Busy));
        }
    }
}
