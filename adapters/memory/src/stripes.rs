//! Striped locks over records: writes that share a record run one after the other.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use parking_lot::{Mutex, MutexGuard};
use petstore_domain::RecordRef;

/// Number of locks. If two records have the same lock, their writes wait for each other. With few concurrent writers
/// this is rare.
const STRIPES: usize = 1_024;

/// A lock. It has a separate cache line, because otherwise writes of different records would contend for one line.
#[derive(Default)]
#[repr(align(64))]
struct Stripe(Mutex<()>);

/// A fixed number of locks, over which the records are distributed by hash.
pub(crate) struct Stripes {
    stripes: Box<[Stripe]>,
    hasher: RandomState,
}

/// The locked stripes of some records. Dropping this value unlocks the stripes.
#[must_use]
pub(crate) struct Held<'a> {
    _guards: Vec<MutexGuard<'a, ()>>,
}

impl Stripes {
    pub(crate) fn new() -> Self {
        let stripes = (0..STRIPES).map(|_| Stripe::default()).collect();
        Self { stripes, hasher: RandomState::default() }
    }

    /// Locks the stripes of these records. The caller must hold no stripe. A call locks its stripes in ascending order,
    /// so that callers cannot deadlock. A second call while stripes are held would break this order.
    pub(crate) fn hold(&self, records: &[RecordRef]) -> Held<'_> {
        let numbers = self.numbers_of(records);
        Held { _guards: numbers.into_iter().map(|number| self.stripes[number].0.lock()).collect() }
    }

    /// The stripes of some records, in ascending order and without duplicates.
    fn numbers_of(&self, records: &[RecordRef]) -> Vec<usize> {
        let mut numbers: Vec<usize> = records.iter().filter_map(|record| self.number_of(record)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The stripe of a record. A new id needs no stripe, because a counter issues it to one caller only.
    fn number_of(&self, record: &RecordRef) -> Option<usize> {
        record.id_kind().is_none().then(|| {
            let hash = self.hasher.hash_one(record);
            usize::try_from(hash % STRIPES as u64).expect("below the number of stripes")
        })
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::{IdKind, PetId};

    use super::*;

    fn pets(numbers: impl Iterator<Item = u64>) -> Vec<RecordRef> {
        numbers.map(|number| RecordRef::Pet(PetId::new(number).unwrap())).collect()
    }

    #[test]
    fn one_call_with_more_records_than_stripes_does_not_deadlock() {
        let stripes = Stripes::new();
        let records = pets(1..=20_000);
        let numbers = stripes.numbers_of(&records);
        assert!(numbers.len() <= STRIPES && numbers.is_sorted_by(|one, next| one < next));
        drop(stripes.hold(&records));
        drop(stripes.hold(&records));
    }

    #[test]
    fn new_ids_have_no_stripe() {
        let records: Vec<_> = IdKind::ALL.iter().map(|kind| kind.reference()).collect();
        assert!(Stripes::new().numbers_of(&records).is_empty());
    }

    #[test]
    fn threads_with_the_same_records_in_any_order_do_not_deadlock() {
        let stripes = Stripes::new();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let stripes = &stripes;
                scope.spawn(move || {
                    for round in 0..500 {
                        let mut records = pets((0..6).map(|n| (n * 7 + round) % 10 + 1));
                        if thread % 2 == 0 {
                            records.reverse();
                        }
                        drop(stripes.hold(&records));
                    }
                });
            }
        });
    }
}
