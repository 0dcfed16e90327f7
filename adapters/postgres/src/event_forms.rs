//! The forms of events that may be written.
//!
//! A form is a version of the compact form of events, which rises with each new kind of event and each new member of a
//! record. Events are written in the form in force, so without members that appeared in a later one. The column
//! `schema_version.event_form` is the form in force: events of a kind that appeared in a later form are not written, because
//! a node of an older release that still runs could not read them. The form in force rises once every node knows the next one
//! (see [`crate::nodes`]), and never falls. A program that does not know it is refused.
//!
//! Until then an event of a new kind is left out. The shop then has the events of the older release, whichever node makes a
//! change: the older nodes do not write such events either. Writing them later would need a queue in the database, and
//! they would stand behind events of later changes.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use petstore_domain::{EventKind, Happening};
use petstore_event_codec::is_empty_in;

/// The forms of events that a program knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownForms {
    /// The newest form.
    pub(crate) newest: u32,
    /// Returns the form in which a kind of event appeared.
    pub(crate) of_kind: fn(EventKind) -> u32,
}

impl KnownForms {
    /// The forms that this program knows.
    pub(crate) const THIS: Self =
        Self { newest: petstore_event_codec::VERSION, of_kind: petstore_event_codec::version_of };

    /// The newest form as the database has it.
    pub(crate) fn stored(self) -> i32 {
        i32::try_from(self.newest).unwrap_or(i32::MAX)
    }
}

/// The forms that the program of a handle knows, and the form in force as the handle has last read it.
#[derive(Debug)]
pub(crate) struct EventForms {
    known: KnownForms,
    in_force: AtomicU32,
}

impl EventForms {
    /// The forms of a handle that has read the form in force.
    pub(crate) fn new(known: KnownForms, in_force: u32) -> Arc<Self> {
        Arc::new(Self { known, in_force: AtomicU32::new(in_force) })
    }

    /// The forms that the program knows.
    pub(crate) fn known(&self) -> KnownForms {
        self.known
    }

    /// The form in force.
    pub(crate) fn in_force(&self) -> u32 {
        self.in_force.load(Ordering::Relaxed)
    }

    /// Takes note of the form in force, as it was read.
    pub(crate) fn learn(&self, in_force: u32) {
        self.in_force.store(in_force, Ordering::Relaxed);
    }

    /// The kinds that may be written now.
    pub(crate) fn writable(&self) -> Writable {
        Writable { known: self.known, in_force: self.in_force() }
    }
}

/// The kinds of events that may be written, as of one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writable {
    known: KnownForms,
    in_force: u32,
}

impl Default for Writable {
    /// All kinds that this program knows.
    fn default() -> Self {
        Self { known: KnownForms::THIS, in_force: KnownForms::THIS.newest }
    }
}

impl Writable {
    /// The form in which events are written.
    pub(crate) const fn form(self) -> u32 {
        self.in_force
    }

    /// The events among these that may be written.
    pub(crate) fn of(self, happenings: &[Happening]) -> Cow<'_, [Happening]> {
        let is_writable = |one: &Happening| {
            (self.known.of_kind)(one.kind()) <= self.in_force && !is_empty_in(self.in_force, one)
        };
        if self.in_force >= self.known.newest || happenings.iter().all(is_writable) {
            return Cow::Borrowed(happenings);
        }
        Cow::Owned(happenings.iter().filter(|one| is_writable(one)).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::{InventoryItem, Order, OrderId, OrderQuantity, PetId, PetStatus, Previous};

    use super::*;

    #[test]
    fn an_event_of_a_kind_that_is_too_new_is_left_out() {
        let of_kind = |kind| if kind == EventKind::OrderPlaced { 2 } else { 1 };
        let forms = EventForms::new(KnownForms { newest: 2, of_kind }, 1);
        let order = Order::new(OrderId::FIRST, PetId::FIRST, OrderQuantity::ONE);
        let item = InventoryItem { pet_id: PetId::FIRST, quantity: 2, status: PetStatus::Available };
        let previous = Previous::none(&item);
        let happenings = [Happening::OrderPlaced(order), Happening::InventoryUpdated { item, previous }];
        let kinds = |forms: &EventForms| {
            forms.writable().of(&happenings).iter().map(Happening::kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&forms), [EventKind::InventoryUpdated]);
        forms.learn(2);
        assert_eq!(kinds(&forms), [EventKind::OrderPlaced, EventKind::InventoryUpdated]);
    }

    /// `bash tests/deep member` runs it.
    #[cfg(petstore_planted_member)]
    #[test]
    fn an_event_that_tells_only_a_member_that_is_too_new_is_left_out() {
        use petstore_domain::{Pet, Sample, sample};
        let pet: Pet = sample(Sample::Fullest);
        let previous = Box::new(Previous::between(&Pet { former_name: None, ..pet.clone() }, &pet));
        let happenings = [Happening::PetUpdated { pet: pet.clone(), previous }, Happening::PetCreated(pet)];
        let forms = EventForms::new(KnownForms::THIS, 1);
        assert_eq!(*forms.writable().of(&happenings), happenings[1..]);
        forms.learn(KnownForms::THIS.newest);
        assert_eq!(*forms.writable().of(&happenings), happenings);
    }
}
