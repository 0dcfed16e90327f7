//! New ids.

use std::sync::atomic::{AtomicU64, Ordering};

use petstore_domain::IdError;
use petstore_ports::StoreError;

use crate::slab::SLOT_MAX;

/// Gives ids: rising, none of them twice. One that its operation does not use is given to the next, unless another was given
/// meanwhile: then it leaves a gap.
#[derive(Default)]
pub(crate) struct IdCounter {
    /// The last id that was given or written.
    last: AtomicU64,
}

impl IdCounter {
    /// The next id, as `id` makes it of its number.
    pub(crate) fn next<Id>(&self, id: fn(u64) -> Result<Id, IdError>) -> Result<Id, StoreError> {
        let number = self.last.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        match id(number) {
            Ok(id) if number <= u64::from(SLOT_MAX) => Ok(id),
            _ => Err(StoreError::busy(format!("all {SLOT_MAX} ids of a table have been given"))),
        }
    }

    /// Takes an id back that nothing was written with. Records lie where their ids say, sixteen to a block: if each refusal
    /// left a gap, a shop that refuses fifteen orders for one that it takes would have a block for each order.
    pub(crate) fn give_back(&self, id: u64) {
        let _ = self.last.compare_exchange(id, id - 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The last id that was given or written; 0 before the first.
    pub(crate) fn last(&self) -> u64 {
        // More may have been asked for than there are.
        self.last.load(Ordering::Relaxed).min(u64::from(SLOT_MAX))
    }

    /// The last id that was given is this one. Not while ids are being given.
    pub(crate) fn set_last(&self, id: u64) {
        self.last.store(id, Ordering::Relaxed);
    }

    /// Makes sure that an id which was written is not given again: a record may come with its own.
    pub(crate) fn skip_to(&self, id: u64) {
        if self.last.load(Ordering::Relaxed) < id {
            self.last.fetch_max(id, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::PetId;

    use petstore_ports::StoreErrorKind;

    use super::*;

    #[test]
    fn ids_rise_from_one_and_pass_over_what_was_written() {
        let ids = IdCounter::default();
        assert_eq!(ids.next(PetId::new), Ok(PetId::FIRST));
        ids.skip_to(10);
        ids.skip_to(5);
        assert_eq!(ids.next(PetId::new).map(PetId::get), Ok(11));
    }

    #[test]
    fn an_id_that_is_given_back_is_the_next_one_unless_another_was_given_meanwhile() {
        let ids = IdCounter::default();
        let next = || ids.next(PetId::new).map(PetId::get).unwrap();
        assert_eq!((next(), next()), (1, 2));
        ids.give_back(2);
        assert_eq!((next(), next()), (2, 3));
        ids.give_back(2);
        assert_eq!(next(), 4);
        ids.skip_to(10);
        ids.give_back(4);
        assert_eq!(next(), 11);
    }

    #[test]
    fn the_last_slot_is_the_last_id() {
        let ids = IdCounter::default();
        ids.skip_to(u64::from(SLOT_MAX) - 1);
        assert_eq!(ids.next(PetId::new).map(PetId::get), Ok(u64::from(SLOT_MAX)));
        for _ in 0..3 {
            assert!(matches!(ids.next(PetId::new), Err(error) if error.kind() == StoreErrorKind::Busy));
        }
    }
}
