//! The kinds of events: a closed enum, in the order of the events of one commit.

/// The kind of an event.
///
/// The order of the variants is the order of the events of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// An order was placed.
    OrderPlaced,
    /// The ship date of an order changed.
    OrderUpdated,
    /// An order was fulfilled.
    OrderCompleted,
    /// An order was cancelled.
    OrderCancelled,
    /// A pet was created.
    PetCreated,
    /// The status of a pet changed.
    PetStatusChanged,
    /// Other members of a pet changed.
    PetUpdated,
    /// A pet was deleted.
    PetDeleted,
    /// A category was created.
    CategoryCreated,
    /// The name or the description of a category changed.
    CategoryUpdated,
    /// A category was deleted.
    CategoryDeleted,
    /// The units or the status of an inventory item changed.
    InventoryUpdated,
    /// A key was banned.
    KeyBanned,
    /// The ban of a key was lifted.
    KeyUnbanned,
    /// A webhook was disabled, but not by its account.
    WebhookDisabled,
}

impl EventKind {
    /// Each kind, in the order of the variants.
    pub const ALL: [Self; 15] = [
        Self::OrderPlaced,
        Self::OrderUpdated,
        Self::OrderCompleted,
        Self::OrderCancelled,
        Self::PetCreated,
        Self::PetStatusChanged,
        Self::PetUpdated,
        Self::PetDeleted,
        Self::CategoryCreated,
        Self::CategoryUpdated,
        Self::CategoryDeleted,
        Self::InventoryUpdated,
        Self::KeyBanned,
        Self::KeyUnbanned,
        Self::WebhookDisabled,
    ];

    /// The name of the type for clients, such as `order.placed`: the kind of resource, a full stop, and the change.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OrderPlaced => "order.placed",
            Self::OrderUpdated => "order.updated",
            Self::OrderCompleted => "order.completed",
            Self::OrderCancelled => "order.cancelled",
            Self::PetCreated => "pet.created",
            Self::PetStatusChanged => "pet.status_changed",
            Self::PetUpdated => "pet.updated",
            Self::PetDeleted => "pet.deleted",
            Self::CategoryCreated => "category.created",
            Self::CategoryUpdated => "category.updated",
            Self::CategoryDeleted => "category.deleted",
            Self::InventoryUpdated => "inventory.updated",
            Self::KeyBanned => "key.banned",
            Self::KeyUnbanned => "key.unbanned",
            Self::WebhookDisabled => "webhook.disabled",
        }
    }

    /// Parses a name that [`EventKind::as_str`] returns.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind of resource: the part of the name before the full stop.
    pub fn resource(self) -> &'static str {
        self.as_str().split_once('.').map_or("", |(resource, _)| resource)
    }

    /// The position of the kind of resource in the order of the events of one commit.
    pub(crate) const fn rank(self) -> u8 {
        match self {
            Self::OrderPlaced | Self::OrderUpdated | Self::OrderCompleted | Self::OrderCancelled => 0,
            Self::PetCreated | Self::PetStatusChanged | Self::PetUpdated | Self::PetDeleted => 1,
            Self::CategoryCreated | Self::CategoryUpdated | Self::CategoryDeleted => 2,
            Self::InventoryUpdated => 3,
            Self::KeyBanned | Self::KeyUnbanned => 4,
            Self::WebhookDisabled => 5,
        }
    }
}

impl std::fmt::Display for EventKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_parses_back_and_begins_with_its_resource() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::parse(kind.as_str()), Some(kind));
            assert!(kind.as_str().starts_with(&format!("{}.", kind.resource())));
        }
        assert_eq!(EventKind::parse("order"), None);
        assert_eq!(EventKind::parse("order.*"), None);
    }

    #[test]
    fn the_order_of_the_kinds_is_that_of_their_resources() {
        assert!(EventKind::ALL.is_sorted());
        assert!(EventKind::ALL.is_sorted_by_key(|kind| kind.rank()));
    }
}
