//! The shop that the document's examples assume. Each resource that the examples change has been changed once before,
//! so that all are in their second version, and one entity tag is valid for all.

use petstore_domain::{
    CategoryId, CategoryName, CategoryPatch, Description, Limit, Limits, NewCategory, NewOrder, NewPet,
    OrderId, OrderPatch, OrderQuantity, Patch, PetId, PetName, PetPatch, Plan, Precondition, StockLevel,
    Timestamp,
};
use petstore_domain::{KeyHolder, KeyLabel, Scopes};
use petstore_http::QuotaForm;
use petstore_ports::api::{Categories, Inventory, NewKey, Orders, Pets};

use super::webhook_stock;

use crate::harness::{Client, Shop, ShopOptions};

/// The time of the examples: seventeen seconds before a minute ends.
pub(super) const NOW: &str = "2026-11-21T12:00:43Z";

/// A pet without orders, with [`FREE_UNITS`] free units.
pub(super) const PET: u64 = 10;
pub(super) const FREE_UNITS: i64 = 5;

/// A pet all of whose units are in open orders.
pub(super) const SOLD_OUT_PET: u64 = 11;

/// An open order, which is not the only order of its pet, and a complete order.
pub(super) const ORDER: u64 = 7;
pub(super) const COMPLETE_ORDER: u64 = 6;

/// The units of the orders for the sold-out pet, beginning with the complete order.
const UNITS: [i64; 3] = [1, 2, 1];

/// An id that no resource has.
pub(super) const UNKNOWN_ID: &str = "4711";

/// A category with one of the pets, and one without any.
pub(super) const FULL_CATEGORY: (u64, &str) = (1, "Dog");
pub(super) const EMPTY_CATEGORY: u64 = 3;

/// The id of the position before the first event of the log, which no event has, and an id of another log.
pub(super) const FIRST_PLACE: &str = "evt_4GzozDqipuZAzAldp7sbFg";
pub(super) const OTHER_LOG: &str = "evt_4GzozDqipuYp0UU3o1iJiE";

/// A text in the form of an id of an event that no log can have, because it stands for more than 128 bits.
pub(super) const NO_LOG: &str = "evt_zzzzzzzzzzzzzzzzzzzzzz";

/// A limit that no test reaches.
pub(super) const PLENTY: u32 = 1_000_000;

/// A stocked shop with default settings, and a client that may do anything in it.
pub(super) fn open() -> (Shop, Client) {
    open_as(ShopOptions::default())
}

/// A stocked shop, and a client that may do anything in it.
pub(super) fn open_as(options: ShopOptions) -> (Shop, Client) {
    let shop = Shop::open_as(with_both_forms(options));
    let client = fill(&shop);
    (shop, client)
}

/// Options with which answers have the quota headers of both forms that the document describes.
pub(super) fn with_both_forms(mut options: ShopOptions) -> ShopOptions {
    options.http.quota_headers = QuotaForm::Both;
    options
}

/// Puts the stock into an empty shop, and returns a client that may do anything in it. The client's account has webhooks.
pub(super) fn fill(shop: &Shop) -> Client {
    shop.clock.set(NOW);
    shop.block_on(async {
        categories(shop).await;
        pets(shop).await;
        orders(shop).await;
    });
    let (holder, label) = (KeyHolder::New { plan: plan(PLENTY, PLENTY) }, KeyLabel::parse("").unwrap());
    let (client, made) = shop.client_for(NewKey { holder, label, scopes: Scopes::ALL, expires_at: None });
    webhook_stock::fill(shop, made.account.id);
    client
}

async fn categories(shop: &Shop) {
    let about = |text| Some(Description::parse(text).unwrap());
    for (name, description) in
        [(FULL_CATEGORY.1, about("Loyal and always hungry.")), ("Cat", None), ("Reptile", None)]
    {
        let new = NewCategory { description, ..NewCategory::new(CategoryName::parse(name).unwrap()) };
        shop.service.create_category(new, None).await.unwrap();
    }
    let description = Patch::Set(about("Quiet and fond of the sun.").unwrap());
    let patch = CategoryPatch { description, ..CategoryPatch::default() };
    let id = CategoryId::new(EMPTY_CATEGORY).unwrap();
    shop.service.update_category(id, patch, Precondition::None).await.unwrap();
}

async fn pets(shop: &Shop) {
    let name = |name| PetName::parse(name).unwrap();
    for id in 1..=SOLD_OUT_PET {
        let (name, category) =
            if id == SOLD_OUT_PET { (name("Milo"), 2) } else { (name("Bell"), FULL_CATEGORY.0) };
        let new = NewPet::new(name, CategoryId::new(category).unwrap());
        let made = shop.service.create_pet(new, None).await.unwrap().result.unwrap();
        assert_eq!(made.value.id.get(), id);
        // Pets with lower ids only use up their ids, and are deleted again.
        if id < PET {
            shop.service.delete_pet(made.value.id, Precondition::None).await.unwrap();
        }
    }
    let patch = PetPatch { name: Some(name("Bella")), ..PetPatch::default() };
    shop.service.update_pet(PetId::new(PET).unwrap(), patch, Precondition::None).await.unwrap();
    let units: i64 = UNITS.iter().sum();
    for (pet, units) in [(PET, FREE_UNITS), (SOLD_OUT_PET, units)] {
        let (pet, level) = (PetId::new(pet).unwrap(), StockLevel::new(units).unwrap());
        shop.service.set_stock(pet, level, Precondition::None).await.unwrap();
    }
}

async fn orders(shop: &Shop) {
    let pet_id = PetId::new(SOLD_OUT_PET).unwrap();
    let place = async |units: i64| {
        let new = NewOrder::new(pet_id, OrderQuantity::new(units).unwrap());
        shop.service.place_order(new, None).await.unwrap().result.unwrap().value.id
    };
    for id in 1..COMPLETE_ORDER {
        let placed = place(1).await;
        assert_eq!(placed.get(), id);
        shop.service.cancel_order(placed, Precondition::None).await.unwrap();
    }
    for units in UNITS {
        place(units).await;
    }
    let date = |text| Patch::Set(Timestamp::parse(text).unwrap());
    for (id, patch) in [
        (COMPLETE_ORDER, OrderPatch { complete: Some(true), ..OrderPatch::default() }),
        (ORDER, OrderPatch { ship_date: date("2026-12-01T08:30:00Z"), ..OrderPatch::default() }),
    ] {
        shop.service.update_order(OrderId::new(id).unwrap(), patch, Precondition::None).await.unwrap();
    }
}

/// A plan with these limits.
pub(super) fn plan(minute: u32, day: u32) -> Plan {
    Plan::Enterprise(Limits { minute: Limit::new(minute).unwrap(), day: Limit::new(day).unwrap() })
}
