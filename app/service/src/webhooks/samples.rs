//! Sample events, which a client sends to its own receiver to test it. They are in no log.

use petstore_domain::{
    AccountId, Category, CategoryId, CategoryName, DisabledReason, Event, EventId, EventKind, Happening,
    InventoryItem, KeyBan, KeyId, KeyLabel, Order, OrderId, OrderQuantity, Pet, PetId, PetName, PetStatus,
    Position, Previous, Timestamp, WebhookId, WebhookStop,
};

/// Returns a sample of a kind. Its id is random, so that a receiver does not take two samples for one event.
pub(super) fn event(
    kind: EventKind,
    account: AccountId,
    webhook: WebhookId,
    random: [u8; 32],
    now: Timestamp,
) -> Event {
    let mut epoch = [0; 8];
    epoch.copy_from_slice(&random[..8]);
    let id = EventId { epoch: u64::from_be_bytes(epoch), position: Position::START.next() };
    Event { id, at: now, happening: happening(kind, account, webhook, now) }
}

fn order() -> Order {
    let (id, pet_id) = (OrderId::FIRST, PetId::FIRST);
    Order::new(id, pet_id, OrderQuantity::ONE)
}

fn pet(status: PetStatus) -> Pet {
    let name = PetName::parse("Hazel").expect("short and visible");
    Pet::new(PetId::FIRST, name, CategoryId::FIRST, status)
}

fn category() -> Category {
    let name = CategoryName::parse("Rabbits").expect("short and visible");
    Category::new(CategoryId::FIRST, name)
}

fn ban(account: AccountId, until: Timestamp) -> KeyBan {
    let label = KeyLabel::parse("sample").expect("short and visible");
    KeyBan { key: KeyId::FIRST, account, label, until }
}

fn happening(kind: EventKind, account: AccountId, webhook: WebhookId, now: Timestamp) -> Happening {
    match kind {
        EventKind::OrderPlaced => Happening::OrderPlaced(order()),
        EventKind::OrderUpdated => {
            let after = Order { ship_date: Some(now), ..order() };
            let previous = Box::new(Previous::between(&order(), &after));
            Happening::OrderUpdated { order: after, previous }
        }
        EventKind::OrderCompleted => {
            Happening::OrderCompleted(Order { ship_date: Some(now), complete: true, ..order() })
        }
        EventKind::OrderCancelled => Happening::OrderCancelled(order()),
        EventKind::PetCreated => Happening::PetCreated(pet(PetStatus::Available)),
        EventKind::PetStatusChanged => {
            Happening::PetStatusChanged { pet: pet(PetStatus::Pending), previous: PetStatus::Available }
        }
        EventKind::PetUpdated => {
            let pet = pet(PetStatus::Available);
            let name = PetName::parse("Fiver").expect("short and visible");
            let previous = Box::new(Previous::between(&Pet { name, ..pet.clone() }, &pet));
            Happening::PetUpdated { pet, previous }
        }
        EventKind::PetDeleted => Happening::PetDeleted(pet(PetStatus::Available)),
        EventKind::CategoryCreated => Happening::CategoryCreated(category()),
        EventKind::CategoryUpdated => {
            let name = CategoryName::parse("Hares").expect("short and visible");
            let previous = Box::new(Previous::between(&Category { name, ..category() }, &category()));
            Happening::CategoryUpdated { category: category(), previous }
        }
        EventKind::CategoryDeleted => Happening::CategoryDeleted(category()),
        EventKind::InventoryUpdated => {
            let item = InventoryItem { pet_id: PetId::FIRST, quantity: 4, status: PetStatus::Available };
            let before = InventoryItem { quantity: 5, ..item };
            Happening::InventoryUpdated { item, previous: Previous::between(&before, &item) }
        }
        EventKind::KeyBanned => Happening::KeyBanned(ban(account, now)),
        EventKind::KeyUnbanned => Happening::KeyUnbanned(ban(account, now)),
        EventKind::WebhookDisabled => {
            Happening::WebhookDisabled(WebhookStop { webhook, account, reason: DisabledReason::Failing })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_sample() {
        for kind in EventKind::ALL {
            let sample = event(kind, AccountId::FIRST, WebhookId::from_bits(1), [7; 32], Timestamp::EPOCH);
            assert_eq!(sample.happening.kind(), kind);
        }
    }
}
