//! The shop as rebuilt from its events: each event is applied to the state that the earlier events have left.

use std::collections::BTreeMap;

use petstore_domain::{
    Category, CategoryId, Event, Happening, InventoryItem, Order, OrderId, Pet, PetId, PetRecord,
};

use crate::listing::Snapshot;

/// Pets, inventory items, categories and orders, without versions and counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Fold {
    pets: BTreeMap<PetId, Pet>,
    items: BTreeMap<PetId, InventoryItem>,
    categories: BTreeMap<CategoryId, Category>,
    orders: BTreeMap<OrderId, Order>,
}

impl Fold {
    /// The shop as the tables show it.
    pub(crate) fn of(tables: &Snapshot) -> Self {
        Self {
            pets: tables.pets.iter().map(|record| (record.pet.id, record.pet.clone())).collect(),
            items: tables.pets.iter().map(|record| (record.pet.id, record.item())).collect(),
            categories: tables.categories.iter().map(|one| (one.category.id, one.category.clone())).collect(),
            orders: tables.orders.iter().map(|record| (record.order.id, record.order.clone())).collect(),
        }
    }

    /// Applies events. Panics if an event does not follow from the state before it. The event's old values must equal
    /// the current ones, so that a lost, repeated or transposed event is detected.
    pub(crate) fn apply_all(&mut self, events: &[Event]) {
        for event in events {
            self.apply(&event.happening, event);
        }
    }

    fn apply(&mut self, happening: &Happening, event: &Event) {
        match happening {
            Happening::OrderPlaced(order) => {
                assert_eq!(self.orders.insert(order.id, order.clone()), None, "placed once: {event:?}");
            }
            Happening::OrderUpdated { order, previous } => {
                let found = self.orders.insert(order.id, order.clone());
                assert_eq!(
                    found.as_ref(),
                    Some(previous.record()),
                    "an order is changed as it was: {event:?}"
                );
            }
            Happening::OrderCompleted(order) => {
                let before = self.orders.get(&order.id).cloned();
                let open = before.filter(|before| !before.complete).unwrap_or_else(|| {
                    panic!("an order that is completed is there, and open: {event:?}");
                });
                let expected = Order { complete: true, ship_date: order.ship_date, ..open };
                assert_eq!(*order, expected, "an order is completed as it was: {event:?}");
                self.orders.insert(order.id, order.clone());
            }
            Happening::OrderCancelled(order) => {
                let gone = self.orders.remove(&order.id);
                assert_eq!(gone.as_ref(), Some(order), "an order is cancelled as it was: {event:?}");
            }
            Happening::PetCreated(pet) => self.create_pet(pet, event),
            Happening::PetStatusChanged { pet, previous } => self.change_status(pet, *previous, event),
            Happening::PetUpdated { pet, previous } => {
                let found = self.pets.insert(pet.id, pet.clone());
                assert_eq!(found.as_ref(), Some(previous.record()), "a pet is changed as it was: {event:?}");
            }
            Happening::PetDeleted(pet) => {
                assert_eq!(self.pets.remove(&pet.id).as_ref(), Some(pet), "deleted as it was: {event:?}");
                assert!(self.items.remove(&pet.id).is_some(), "its item goes with it: {event:?}");
            }
            Happening::CategoryCreated(category) => {
                let found = self.categories.insert(category.id, category.clone());
                assert_eq!(found, None, "created once: {event:?}");
            }
            Happening::CategoryUpdated { category, previous } => {
                let found = self.categories.insert(category.id, category.clone());
                let before = Some(previous.record());
                assert_eq!(found.as_ref(), before, "a category is changed as it was: {event:?}");
            }
            Happening::CategoryDeleted(category) => {
                let gone = self.categories.remove(&category.id);
                assert_eq!(gone.as_ref(), Some(category), "deleted as it was: {event:?}");
            }
            Happening::InventoryUpdated { item, previous } => {
                let found = self.items.insert(item.pet_id, *item);
                assert_eq!(
                    found.as_ref(),
                    Some(previous.record()),
                    "an item is changed as it was: {event:?}"
                );
            }
            Happening::KeyBanned(_) | Happening::KeyUnbanned(_) | Happening::WebhookDisabled(_) => {}
        }
    }

    /// Creates a pet with its item, which has no separate event.
    fn create_pet(&mut self, pet: &Pet, event: &Event) {
        let item = PetRecord::new(pet.id, pet.clone().into()).item();
        assert_eq!(self.pets.insert(pet.id, pet.clone()), None, "created once: {event:?}");
        assert_eq!(self.items.insert(pet.id, item), None, "its item comes with it: {event:?}");
    }

    /// Changes only the status. If the same decision changed other fields, a separate event for these follows.
    fn change_status(&mut self, pet: &Pet, previous: petstore_domain::PetStatus, event: &Event) {
        let found = self.pets.get_mut(&pet.id).unwrap_or_else(|| panic!("the pet is there: {event:?}"));
        assert_eq!(found.status, previous, "a status is changed as it was: {event:?}");
        found.status = pet.status;
    }
}
