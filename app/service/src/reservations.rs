//! Requests under an idempotency key that are still running.
//!
//! That a first request has been *answered* is known by its record in the store; that it is still *running*, by a
//! reservation in the process. There are never more of them than requests in flight.

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use petstore_domain::IdempotencyId;

#[derive(Default)]
pub(crate) struct Reservations(DashMap<IdempotencyId, (), foldhash::fast::RandomState>);

impl Reservations {
    /// The right to run this request, until it is dropped; none while another holds it.
    pub(crate) fn reserve(&self, name: &IdempotencyId) -> Option<Reservation<'_>> {
        match self.0.entry(name.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(place) => {
                place.insert(());
                Some(Reservation { reservations: self, name: name.clone() })
            }
        }
    }
}

pub(crate) struct Reservation<'a> {
    reservations: &'a Reservations,
    name: IdempotencyId,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.reservations.0.remove(&self.name);
    }
}
