//! A shop that is stocked as the document's examples assume.

use petstore_domain::{
    CategoryId, CategoryName, Limit, Limits, NewCategory, NewOrder, NewPet, OrderQuantity, PetId, PetName,
    Plan, Precondition, StockLevel,
};
use petstore_ports::api::{Categories, Inventory, Orders, Pets};

use crate::harness::{Client, Shop, Wish};

/// A pet without orders, with [`FREE_UNITS`] free units.
pub(super) const PET: u64 = 10;
pub(super) const FREE_UNITS: i64 = 5;

/// A pet whose units are all in open orders.
pub(super) const SOLD_OUT_PET: u64 = 11;

/// An order, open like the others.
pub(super) const ORDER: u64 = 7;
pub(super) const ANOTHER_ORDER: u64 = 6;

/// An id that nothing has.
pub(super) const NOBODY: &str = "4711";

/// A category without pets, one with all of them, and their names.
pub(super) const CATEGORIES: [(u64, &str); 2] = [(1, "Reptile"), (2, "Cat")];

/// A plan that admits whatever a test asks.
pub(super) const PLENTY: u32 = 1_000_000;

/// A stocked shop with default settings, and a client that may do anything in it.
pub(super) fn open() -> (Shop, Client) {
    open_as(Wish::default())
}

/// A stocked shop, and a client that may do anything in it.
pub(super) fn open_as(wish: Wish) -> (Shop, Client) {
    let shop = Shop::open_as(wish);
    fill(&shop);
    let client = shop.client(plan(PLENTY, PLENTY));
    (shop, client)
}

/// Puts the stock into an empty shop.
pub(super) fn fill(shop: &Shop) {
    let service = &*shop.service;
    shop.block_on(async {
        for (id, name) in CATEGORIES {
            let new = NewCategory { name: CategoryName::parse(name).unwrap(), description: None };
            let made = service.create_category(new, None).await.unwrap().result.unwrap();
            assert_eq!(made.value.id.get(), id);
        }
        for id in 1..=SOLD_OUT_PET {
            let name = PetName::parse("Bella").unwrap();
            let new = NewPet { name, category_id: CategoryId::new(CATEGORIES[1].0).unwrap(), status: None };
            let made = service.create_pet(new, None).await.unwrap().result.unwrap();
            assert_eq!(made.value.id.get(), id);
        }
        let orders = ORDER + 1;
        for (pet, units) in [(PET, FREE_UNITS), (SOLD_OUT_PET, orders.cast_signed())] {
            let (pet, level) = (PetId::new(pet).unwrap(), StockLevel::new(units).unwrap());
            service.set_stock(pet, level, Precondition::None).await.unwrap();
        }
        for id in 1..=orders {
            let (pet_id, quantity) = (PetId::new(SOLD_OUT_PET).unwrap(), OrderQuantity::new(1).unwrap());
            let new = NewOrder { pet_id, quantity, ship_date: None };
            let placed = service.place_order(new, None).await.unwrap().result.unwrap();
            assert_eq!(placed.value.id.get(), id);
        }
    });
}

/// A plan with these limits.
pub(super) fn plan(minute: u32, day: u32) -> Plan {
    Plan::Enterprise(Limits { minute: Limit::new(minute).unwrap(), day: Limit::new(day).unwrap() })
}
