//! The version in which each kind of event appeared.

use petstore_domain::EventKind;

/// Returns the first version of the compact form that has events of this kind. Programs of an older version cannot read
/// them. So a store that programs of several releases share writes them only once its saved version has risen that far.
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
        | EventKind::KeyUnbanned => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VERSION;

    #[test]
    fn no_kind_is_of_a_version_that_does_not_exist() {
        for kind in EventKind::ALL {
            assert!((1..=VERSION).contains(&version_of(kind)), "{kind}");
        }
    }
}
