//! Events: what each commit changed in the shop, as clients read it.
//!
//! An event is derived from the records that an operation read and the changes that it decided ([`happenings`](crate::happenings)), in
//! one place, so that no operation can forget one. The store gives it its position when the change is committed.

mod filter;
mod id;
mod kind;

pub use filter::{EventFilter, EventKinds, EventSummary};
pub use id::{EventId, EventIdError, Position};
pub use kind::EventKind;

use crate::{
    AccountId, Category, DisabledReason, InventoryItem, KeyId, KeyLabel, Order, Pet, PetStatus, Previous,
    Timestamp, WebhookId,
};

/// An event as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its id: the epoch of the log and the position in it.
    pub id: EventId,
    /// The time of the operation that caused it.
    pub at: Timestamp,
    /// The change.
    pub happening: Happening,
}

/// The content of an event: the resource after the change, or its last state if it was deleted. Some kinds of events
/// also have the old values of the members that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// An order was placed.
    OrderPlaced(Order),
    /// The ship date of an order changed.
    OrderUpdated {
        /// The order after the change.
        order: Order,
        /// The old values of the members that changed.
        previous: Box<Previous<Order>>,
    },
    /// An order was fulfilled.
    OrderCompleted(Order),
    /// An order was cancelled.
    OrderCancelled(Order),
    /// A pet was created.
    PetCreated(Pet),
    /// The status of a pet changed, by a request or because its stock did.
    PetStatusChanged {
        /// The pet after the change.
        pet: Pet,
        /// The status before it.
        previous: PetStatus,
    },
    /// Other members of a pet changed.
    PetUpdated {
        /// The pet after the change.
        pet: Pet,
        /// The old values of the members that changed, except the status.
        previous: Box<Previous<Pet>>,
    },
    /// A pet was deleted.
    PetDeleted(Pet),
    /// A category was created.
    CategoryCreated(Category),
    /// A category changed.
    CategoryUpdated {
        /// The category after the change.
        category: Category,
        /// The old values of the members that changed.
        previous: Box<Previous<Category>>,
    },
    /// A category was deleted.
    CategoryDeleted(Category),
    /// The units or the status of an inventory item changed. The item is created and deleted with its pet, and the
    /// events of the pet report that.
    InventoryUpdated {
        /// The item after the change.
        item: InventoryItem,
        /// The old values of the members that changed.
        previous: Previous<InventoryItem>,
    },
    /// A key was banned.
    KeyBanned(KeyBan),
    /// The ban of a key was lifted by an operator. The end of a ban by time is no event.
    KeyUnbanned(KeyBan),
    /// A webhook was disabled, but not by its account.
    WebhookDisabled(WebhookStop),
}

/// The ban of a key as its account sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyBan {
    /// The key.
    pub key: KeyId,
    /// The account of the key. No other account sees the event.
    pub account: AccountId,
    /// The label of the key.
    pub label: KeyLabel,
    /// The end of the ban. If the ban was lifted, this is the time of the lift.
    pub until: Timestamp,
}

/// The end of the deliveries of a webhook as its account sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookStop {
    /// The webhook.
    pub webhook: WebhookId,
    /// The account of the webhook. No other account sees the event.
    pub account: AccountId,
    /// The reason.
    pub reason: DisabledReason,
}

impl Happening {
    /// The kind of event.
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::OrderPlaced(_) => EventKind::OrderPlaced,
            Self::OrderUpdated { .. } => EventKind::OrderUpdated,
            Self::OrderCompleted(_) => EventKind::OrderCompleted,
            Self::OrderCancelled(_) => EventKind::OrderCancelled,
            Self::PetCreated(_) => EventKind::PetCreated,
            Self::PetStatusChanged { .. } => EventKind::PetStatusChanged,
            Self::PetUpdated { .. } => EventKind::PetUpdated,
            Self::PetDeleted(_) => EventKind::PetDeleted,
            Self::CategoryCreated(_) => EventKind::CategoryCreated,
            Self::CategoryUpdated { .. } => EventKind::CategoryUpdated,
            Self::CategoryDeleted(_) => EventKind::CategoryDeleted,
            Self::InventoryUpdated { .. } => EventKind::InventoryUpdated,
            Self::KeyBanned(_) => EventKind::KeyBanned,
            Self::KeyUnbanned(_) => EventKind::KeyUnbanned,
            Self::WebhookDisabled(_) => EventKind::WebhookDisabled,
        }
    }

    /// The only account that sees the event; none if every account with the scope `read` sees it.
    pub const fn private_to(&self) -> Option<AccountId> {
        match self {
            Self::KeyBanned(ban) | Self::KeyUnbanned(ban) => Some(ban.account),
            Self::WebhookDisabled(stop) => Some(stop.account),
            _ => None,
        }
    }
}
