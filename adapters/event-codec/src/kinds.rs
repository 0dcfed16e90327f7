//! The number of each kind of event, and the form in which it appeared.

use petstore_domain::{Category, EventKind, Happening, InventoryItem, Members, Order, Pet, Previous};

/// Returns the number of a kind in the format. A new kind has the next number.
pub(crate) const fn number_of(kind: EventKind) -> u32 {
    match kind {
        EventKind::OrderPlaced => 0,
        EventKind::OrderUpdated => 1,
        EventKind::OrderCompleted => 2,
        EventKind::OrderCancelled => 3,
        EventKind::PetCreated => 4,
        EventKind::PetStatusChanged => 5,
        EventKind::PetUpdated => 6,
        EventKind::PetDeleted => 7,
        EventKind::CategoryCreated => 8,
        EventKind::CategoryUpdated => 9,
        EventKind::CategoryDeleted => 10,
        EventKind::InventoryUpdated => 11,
        EventKind::KeyBanned => 12,
        EventKind::KeyUnbanned => 13,
        EventKind::WebhookDisabled => 14,
    }
}

/// Returns the kind that has a number.
pub(crate) fn kind_of(number: u32) -> Option<EventKind> {
    EventKind::ALL.into_iter().find(|kind| number_of(*kind) == number)
}

/// Returns the first form that has events of this kind. Programs of an older form cannot read them. So a store that programs
/// of several releases share writes them only once its form in force has risen that far.
pub const fn version_of(kind: EventKind) -> u32 {
    match kind {
        EventKind::OrderPlaced
        | EventKind::OrderUpdated
        | EventKind::OrderCompleted
        | EventKind::OrderCancelled
        | EventKind::PetCreated
        | EventKind::PetStatusChanged
        | EventKind::PetUpdated
        | EventKind::PetDeleted
        | EventKind::CategoryCreated
        | EventKind::CategoryUpdated
        | EventKind::CategoryDeleted
        | EventKind::InventoryUpdated
        | EventKind::KeyBanned
        | EventKind::KeyUnbanned
        | EventKind::WebhookDisabled => 1,
    }
}

/// Returns the newest form in which a kind or a member appeared.
pub(crate) const fn newest() -> u32 {
    const fn later(one: u32, other: u32) -> u32 {
        if one > other { one } else { other }
    }
    const fn of<R: Members>(mut newest: u32) -> u32 {
        let mut place = 0;
        while place < R::MEMBERS.len() {
            newest = later(newest, R::MEMBERS[place].member.since);
            place += 1;
        }
        newest
    }
    let (mut newest, mut place) = (1, 0);
    while place < EventKind::ALL.len() {
        newest = later(newest, version_of(EventKind::ALL[place]));
        place += 1;
    }
    of::<InventoryItem>(of::<Order>(of::<Category>(of::<Pet>(newest))))
}

/// Returns whether a form has nothing of an event: it tells only the old values of members that the form does not have.
pub fn is_empty_in(form: u32, happening: &Happening) -> bool {
    fn is_newer<R: Members + Clone>(form: u32, previous: &Previous<R>) -> bool {
        !previous.is_empty() && previous.changed().all(|(member, _)| member.since > form)
    }
    match happening {
        Happening::OrderUpdated { previous, .. } => is_newer(form, previous),
        Happening::PetUpdated { previous, .. } => is_newer(form, previous),
        Happening::CategoryUpdated { previous, .. } => is_newer(form, previous),
        Happening::InventoryUpdated { previous, .. } => is_newer(form, previous),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_number_of_its_own_and_a_form_that_exists() {
        for kind in EventKind::ALL {
            assert!((1..=newest()).contains(&version_of(kind)), "{kind}");
            assert_eq!(kind_of(number_of(kind)), Some(kind));
        }
    }
}
