//! The shop as a reader of events knows it: a snapshot, and the events applied to it.

use std::collections::BTreeMap;

use petstore_domain::*;

use super::Shop;

/// The resources, without their versions.
#[derive(Debug, Clone, PartialEq)]
struct Fold {
    pets: BTreeMap<PetId, Pet>,
    items: BTreeMap<PetId, InventoryItem>,
    categories: BTreeMap<CategoryId, Category>,
    orders: BTreeMap<OrderId, Order>,
}

/// Checks that `events`, applied to the shop `before`, give the shop `after`, and that the old values in the events are
/// those of the shop `before`.
pub(super) fn assert_told(before: &Shop, events: &[Happening], after: &Shop) {
    let old = Fold::of(before);
    let mut told = old.clone();
    for event in events {
        assert!(old.holds_the_old_values_of(event), "{event:?} of {old:?}");
        told.apply(event.clone());
    }
    assert_eq!(told, Fold::of(after), "{events:?}");
    if old == told {
        let is_private = |event: &Happening| event.private_to().is_some();
        assert!(events.iter().all(is_private), "nothing changed, and yet {events:?}");
    }
    assert!(is_one_group_each(events), "{events:?}");
}

/// Returns `true` if the events of each kind of resource stand together, and the kinds of resources are in the order of
/// the contract.
fn is_one_group_each(events: &[Happening]) -> bool {
    let groups = ["order", "pet", "category", "inventory", "key", "webhook"];
    events.is_sorted_by_key(|event| groups.iter().position(|group| *group == event.kind().resource()))
}

/// Returns whether the old values are those of the members that differ.
fn told<R: Members + Clone>(previous: &Previous<R>, old: &R, new: &R) -> bool {
    let differ = R::MEMBERS.iter().filter(|entry| !(entry.is_same)(old, new));
    previous.changed().map(|(member, _)| member.json).eq(differ.map(|entry| entry.member.json))
}

impl Fold {
    fn of(shop: &Shop) -> Self {
        Self {
            pets: shop.pets.iter().map(|(id, record)| (*id, record.pet.clone())).collect(),
            items: shop.pets.iter().map(|(id, record)| (*id, record.item())).collect(),
            categories: shop.categories.iter().map(|(id, record)| (*id, record.category.clone())).collect(),
            orders: shop.orders.iter().map(|(id, record)| (*id, record.order.clone())).collect(),
        }
    }

    fn holds_the_old_values_of(&self, event: &Happening) -> bool {
        match event {
            Happening::PetStatusChanged { pet, previous } => self.pets[&pet.id].status == *previous,
            Happening::PetUpdated { pet, previous } => {
                let old = Pet { status: pet.status, ..self.pets[&pet.id].clone() };
                *previous.record() == old && told(previous, &old, pet)
            }
            Happening::CategoryUpdated { category, previous } => {
                let old = &self.categories[&category.id];
                previous.record() == old && told(previous, old, category)
            }
            Happening::OrderUpdated { order, previous } => {
                let old = &self.orders[&order.id];
                previous.record() == old && told(previous, old, order)
            }
            Happening::InventoryUpdated { item, previous } => {
                let old = &self.items[&item.pet_id];
                previous.record() == old && told(previous, old, item)
            }
            _ => true,
        }
    }

    fn apply(&mut self, event: Happening) {
        match event {
            Happening::OrderPlaced(order)
            | Happening::OrderUpdated { order, .. }
            | Happening::OrderCompleted(order) => _ = self.orders.insert(order.id, order),
            Happening::OrderCancelled(order) => assert_eq!(self.orders.remove(&order.id), Some(order)),
            Happening::PetCreated(pet) => {
                let quantity = u64::from(pet.status != PetStatus::Sold);
                self.items.insert(pet.id, InventoryItem { pet_id: pet.id, quantity, status: pet.status });
                assert_eq!(self.pets.insert(pet.id, pet), None);
            }
            Happening::PetStatusChanged { pet, .. } | Happening::PetUpdated { pet, .. } => {
                _ = self.pets.insert(pet.id, pet);
            }
            Happening::PetDeleted(pet) => {
                self.items.remove(&pet.id);
                assert_eq!(self.pets.remove(&pet.id), Some(pet));
            }
            Happening::CategoryCreated(category) | Happening::CategoryUpdated { category, .. } => {
                _ = self.categories.insert(category.id, category);
            }
            Happening::CategoryDeleted(category) => {
                assert_eq!(self.categories.remove(&category.id), Some(category));
            }
            Happening::InventoryUpdated { item, .. } => _ = self.items.insert(item.pet_id, item),
            Happening::KeyBanned(_) | Happening::KeyUnbanned(_) | Happening::WebhookDisabled(_) => {}
        }
    }
}
