//! Sample events, which a client sends to its own receiver to test it. They are in no log.

use petstore_domain::{
    AccountId, Category, CategoryBefore, CategoryId, CategoryName, DisabledReason, Event, EventId, EventKind,
    Happening, InventoryItem, ItemBefore, KeyBan, KeyId, KeyLabel, Order, OrderId, OrderQuantity, Pet,
    PetBefore, PetId, PetName, PetStatus, Position, Timestamp, WebhookId, WebhookStop,
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
    Order { id, pet_id, quantity: OrderQuantity::ONE, ship_date: None, complete: false }
}

fn pet(status: PetStatus) -> Pet {
    let name = PetName::parse("Hazel").expect("short and visible");
    Pet { id: PetId::FIRST, name, category_id: CategoryId::FIRST, status }
}

fn category() -> Category {
    let name = CategoryName::parse("Rabbits").expect("short and visible");
    Category { id: CategoryId::FIRST, name, description: None }
}

fn ban(account: AccountId, until: Timestamp) -> KeyBan {
    let label = KeyLabel::parse("sample").expect("short and visible");
    KeyBan { key: KeyId::FIRST, account, label, until }
}

fn happening(kind: EventKind, account: AccountId, webhook: WebhookId, now: Timestamp) -> Happening {
    match kind {
        EventKind::OrderPlaced => Happening::OrderPlaced(order()),
        EventKind::OrderUpdated => {
            let order = Order { ship_date: Some(now), ..order() };
            Happening::OrderUpdated { order, previous_ship_date: None }
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
            let name = Some(PetName::parse("Fiver").expect("short and visible"));
            Happening::PetUpdated {
                pet: pet(PetStatus::Available),
                previous: PetBefore { name, category_id: None },
            }
        }
        EventKind::PetDeleted => Happening::PetDeleted(pet(PetStatus::Available)),
        EventKind::CategoryCreated => Happening::CategoryCreated(category()),
        EventKind::CategoryUpdated => {
            let name = Some(CategoryName::parse("Hares").expect("short and visible"));
            let previous = Box::new(CategoryBefore { name, description: None });
            Happening::CategoryUpdated { category: category(), previous }
        }
        EventKind::CategoryDeleted => Happening::CategoryDeleted(category()),
        EventKind::InventoryUpdated => {
            let item = InventoryItem { pet_id: PetId::FIRST, quantity: 4, status: PetStatus::Available };
            Happening::InventoryUpdated { item, previous: ItemBefore { quantity: Some(5), status: None } }
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
