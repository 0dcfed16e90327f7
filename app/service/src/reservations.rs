//! Requests under an idempotency key that are still running.
//!
//! A record in the store shows that a first request was *answered*; a reservation in the process shows that the request
//! is still *running*. There are at most as many reservations as requests in flight.

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use petstore_domain::IdempotencyId;

#[derive(Default)]
pub(crate) struct Reservations(DashMap<IdempotencyId, (), foldhash::fast::RandomState>);

impl Reservations {
    /// Reserves a request until the returned reservation is dropped. Returns none if the request is reserved already.
    pub(crate) fn reserve(&self, id: &IdempotencyId) -> Option<Reservation<'_>> {
        match self.0.entry(id.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(place) => {
                place.insert(());
                Some(Reservation { reservations: self, id: id.clone() })
            }
        }
    }
}

pub(crate) struct Reservation<'a> {
    reservations: &'a Reservations,
    id: IdempotencyId,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.reservations.0.remove(&self.id);
    }
}
