//! Locks over names: what makes writes that share a name run one after the other.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use parking_lot::{Mutex, MutexGuard};
use petstore_domain::RecordRef;

/// How many locks all names share. Two names on one lock only wait for each other; with a few writers at a time 1,024
/// make that rare, at 64 KiB.
const STRIPES: usize = 1_024;

/// A lock on a cache line of its own, or writers on other names would still wait for the same line.
#[derive(Default)]
#[repr(align(64))]
struct Stripe(Mutex<()>);

/// A fixed number of locks that all names are spread over.
pub(crate) struct Stripes {
    stripes: Box<[Stripe]>,
    hasher: RandomState,
}

/// The names that this was made for are nobody else's until it is dropped.
#[must_use]
pub(crate) struct Held<'a> {
    _guards: Vec<MutexGuard<'a, ()>>,
}

impl Stripes {
    pub(crate) fn new() -> Self {
        let stripes = (0..STRIPES).map(|_| Stripe::default()).collect();
        Self { stripes, hasher: RandomState::default() }
    }

    /// Waits until nobody else holds one of these names. Who calls must hold none: the stripes of one call are taken
    /// in sorted order, so that no two callers can wait for each other, and a second call would break that order.
    pub(crate) fn hold(&self, names: &[RecordRef]) -> Held<'_> {
        let numbers = self.numbers_of(names);
        Held { _guards: numbers.into_iter().map(|number| self.stripes[number].0.lock()).collect() }
    }

    /// The stripes of some names: sorted, each once.
    fn numbers_of(&self, names: &[RecordRef]) -> Vec<usize> {
        let mut numbers: Vec<usize> = names.iter().filter_map(|name| self.number_of(name)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The stripe of a name. A new id needs none: it comes from a counter, and nobody else is given it.
    fn number_of(&self, name: &RecordRef) -> Option<usize> {
        match name {
            RecordRef::NextPet
            | RecordRef::NextCategory
            | RecordRef::NextOrder
            | RecordRef::NextAccount
            | RecordRef::NextKey => None,
            RecordRef::Pet(_)
            | RecordRef::Category(_)
            | RecordRef::CategoryName(_)
            | RecordRef::Order(_)
            | RecordRef::Account(_)
            | RecordRef::AccountName(_)
            | RecordRef::Key(_)
            | RecordRef::Idempotency(_) => {
                let hash = self.hasher.hash_one(name);
                Some(usize::try_from(hash % STRIPES as u64).expect("below the number of stripes"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::PetId;

    use super::*;

    fn pets(numbers: impl Iterator<Item = u64>) -> Vec<RecordRef> {
        numbers.map(|number| RecordRef::Pet(PetId::new(number).unwrap())).collect()
    }

    #[test]
    fn more_names_than_stripes_are_held_at_once_without_waiting_for_oneself() {
        let stripes = Stripes::new();
        let names = pets(1..=20_000);
        let numbers = stripes.numbers_of(&names);
        assert!(numbers.len() <= STRIPES && numbers.is_sorted_by(|one, next| one < next));
        drop(stripes.hold(&names));
        drop(stripes.hold(&names));
    }

    #[test]
    fn new_ids_wait_for_nobody() {
        let names = [
            RecordRef::NextPet,
            RecordRef::NextCategory,
            RecordRef::NextOrder,
            RecordRef::NextAccount,
            RecordRef::NextKey,
        ];
        assert!(Stripes::new().numbers_of(&names).is_empty());
    }

    #[test]
    fn threads_that_name_the_same_in_any_order_never_wait_for_each_other_for_ever() {
        let stripes = Stripes::new();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let stripes = &stripes;
                scope.spawn(move || {
                    for round in 0..500 {
                        let mut names = pets((0..6).map(|n| (n * 7 + round) % 10 + 1));
                        if thread % 2 == 0 {
                            names.reverse();
                        }
                        drop(stripes.hold(&names));
                    }
                });
            }
        });
    }
}
