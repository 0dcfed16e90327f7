//! Damage that reads of a store have met.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::{StoreError, StoreErrorKind};

/// The maximum number of places that are reported, each once. Contacts with further places are only counted.
const PLACES_MAX: usize = 32;

/// A record of the damaged places of a store that its calls have met while the rest of the store is served. It is kept until
/// the store is opened again.
///
/// ```
/// use petstore_ports::{StoreDamage, StoreError};
///
/// let damage = StoreDamage::default();
/// damage.note(&StoreError::busy("the queue is full"));
/// assert_eq!(damage.contacts(), 0);
///
/// let error = StoreError::corrupt("events from 7 on: the body is cut");
/// damage.note(&error);
/// damage.note(&error);
/// assert_eq!(damage.contacts(), 2);
/// assert_eq!(damage.take_new(), [error]);
/// assert_eq!(damage.take_new(), []);
/// ```
#[derive(Debug, Default)]
pub struct StoreDamage {
    contacts: AtomicU64,
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    known: Vec<StoreError>,
    /// The number of known places that were taken.
    taken: usize,
}

impl StoreDamage {
    /// Takes note of an error. Only [`StoreErrorKind::Corrupt`] counts.
    pub fn note(&self, error: &StoreError) {
        if error.kind() != StoreErrorKind::Corrupt {
            return;
        }
        self.contacts.fetch_add(1, Ordering::Relaxed);
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.known.len() < PLACES_MAX && !places.known.contains(error) {
            places.known.push(error.clone());
        }
    }

    /// The number of calls that have met damage.
    pub fn contacts(&self) -> u64 {
        self.contacts.load(Ordering::Relaxed)
    }

    /// The errors of places that were met for the first time since the last call.
    pub fn take_new(&self) -> Vec<StoreError> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let new = places.known[places.taken..].to_vec();
        places.taken = places.known.len();
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_new_once_up_to_a_bound() {
        let damage = StoreDamage::default();
        for _ in 0..2 {
            for place in 0..2 * PLACES_MAX {
                damage.note(&StoreError::corrupt(format!("row {place}")));
            }
        }
        assert_eq!(damage.take_new().len(), PLACES_MAX);
        damage.note(&StoreError::corrupt("another row"));
        assert_eq!(damage.take_new(), []);
        assert_eq!(damage.contacts(), u64::try_from(4 * PLACES_MAX + 1).unwrap());
    }
}
