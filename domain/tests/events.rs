//! The events of each row in the tables of the API contract: their kinds, their order, and their old values.
//!
//! In addition, every test that runs an operation in a shop applies its events to a snapshot and compares the result
//! with the records.

mod common;

use petstore_domain::PetStatus::{Available, Pending, Sold};
use petstore_domain::*;

use common::{
    DOGS, REX, Shop, account_id, adjust, cats, create_key, delta, description, hours, idempotent, key_id,
    level, new_category, new_pet, now, order, order_id, pet_name, place, shop,
};

/// The names of the events' types.
fn kinds(events: &[Happening]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind().as_str()).collect()
}

fn patch(patch: PetPatch) -> UpdatePet {
    UpdatePet { id: REX, patch, precondition: Precondition::None }
}

fn status(status: PetStatus) -> UpdatePet {
    patch(PetPatch { status: Some(status), ..PetPatch::default() })
}

fn update(ship_date: Patch<Timestamp>, complete: Option<bool>) -> UpdateOrder {
    let patch = OrderPatch { ship_date, ..OrderPatch::new(complete) };
    UpdateOrder { id: OrderId::FIRST, patch, precondition: Precondition::None, now: now() }
}

/// A pet with this many units and one open order of two.
fn with_open_order(status: PetStatus, stock: u64) -> Shop {
    shop(status, stock, 0).with_order(order(OrderId::FIRST, 2))
}

#[test]
fn each_row_of_the_state_table_has_its_events() {
    let created = CreatePet { new: new_pet("Bella", DOGS, None) };
    assert_eq!(kinds(&shop(Available, 1, 0).events(&created)), ["pet.created"]);

    let rows: [(Shop, PlaceOrder, &[&str]); 3] = [
        (shop(Available, 3, 0), place(1), &["order.placed", "inventory.updated"]),
        (shop(Available, 3, 0), place(3), &["order.placed", "pet.status_changed", "inventory.updated"]),
        (shop(Sold, 0, 0), place(1), &[]),
    ];
    for (mut shop, operation, expected) in rows {
        assert_eq!(kinds(&shop.events(&operation)), expected);
    }

    let rows: [(Shop, UpdateOrder, &[&str]); 5] = [
        (with_open_order(Available, 1), update(Patch::Keep, Some(true)), &["order.completed"]),
        (
            with_open_order(Pending, 0),
            update(Patch::Set(hours(1)), Some(true)),
            &["order.completed", "pet.status_changed", "inventory.updated"],
        ),
        (with_open_order(Available, 1), update(Patch::Set(hours(1)), None), &["order.updated"]),
        (with_open_order(Available, 1), update(Patch::Keep, Some(false)), &[]),
        (with_open_order(Available, 1), update(Patch::Keep, None), &[]),
    ];
    for (mut shop, operation, expected) in rows {
        assert_eq!(kinds(&shop.events(&operation)), expected, "{operation:?}");
    }

    let cancel = CancelOrder { id: OrderId::FIRST, precondition: Precondition::None };
    let back = ["order.cancelled", "pet.status_changed", "inventory.updated"];
    let mut shop_on_hold = with_open_order(Pending, 0);
    assert_eq!(kinds(&shop_on_hold.events(&cancel)), back);
    assert!(shop_on_hold.events(&cancel).is_empty(), "the second cancel finds no order");
    assert_eq!(
        kinds(&with_open_order(Available, 1).events(&cancel)),
        ["order.cancelled", "inventory.updated"]
    );

    let set = |units| SetStock { id: REX, level: level(units), precondition: Precondition::None };
    let moved: &[&str] = &["pet.status_changed", "inventory.updated"];
    assert_eq!(kinds(&shop(Available, 3, 0).events(&set(0))), moved);
    assert_eq!(kinds(&shop(Sold, 0, 0).events(&set(2))), moved);
    assert_eq!(kinds(&shop(Available, 3, 0).events(&set(2))), ["inventory.updated"]);
    assert!(shop(Available, 3, 0).events(&set(3)).is_empty());
    assert_eq!(kinds(&shop(Available, 3, 0).events(&adjust(-1))), ["inventory.updated"]);
    assert_eq!(kinds(&shop(Available, 1, 0).events(&adjust(-1))), moved);
    let too_many = AdjustStock { id: REX, delta: delta(-4) };
    assert!(shop(Available, 3, 0).events(&too_many).is_empty());

    let delete = DeletePet { id: REX, precondition: Precondition::None };
    assert_eq!(kinds(&shop(Available, 3, 0).events(&delete)), ["pet.deleted"]);
    let delete = DeleteCategory { id: cats(), precondition: Precondition::None };
    assert_eq!(kinds(&shop(Available, 3, 0).events(&delete)), ["category.deleted"]);
}

#[test]
fn each_allowed_move_of_a_status_has_its_events() {
    let both = ["pet.status_changed", "inventory.updated"];
    for (from, stock, to) in [
        (Available, 2, Pending),
        (Available, 2, Sold),
        (Pending, 2, Available),
        (Pending, 2, Sold),
        (Sold, 0, Available),
        (Sold, 0, Pending),
    ] {
        let events = shop(from, stock, 0).events(&status(to));
        assert_eq!(kinds(&events), both, "{from} to {to}");
        let Happening::PetStatusChanged { pet, previous } = &events[0] else { panic!("{events:?}") };
        assert_eq!((pet.status, *previous), (to, from));
    }
    for same in [Available, Pending] {
        assert!(shop(same, 2, 0).events(&status(same)).is_empty());
    }
}

#[test]
fn a_change_of_status_and_of_other_members_is_two_events_of_the_pet() {
    let all = PetPatch::new(Some(pet_name("Max")), Some(cats()), Some(Pending));
    let events = shop(Available, 2, 0).events(&patch(all));
    assert_eq!(kinds(&events), ["pet.status_changed", "pet.updated", "inventory.updated"]);
    let Happening::PetUpdated { pet, previous } = &events[1] else { panic!("{events:?}") };
    assert_eq!((pet.name.as_str(), pet.status), ("Max", Pending));
    let changed: Vec<_> = previous.changed().map(|(member, old)| (member.json, old)).collect();
    assert_eq!(changed, [("name", Value::Text("Rex")), ("categoryId", Value::Number(DOGS.get()))]);
}

#[test]
fn a_category_that_gets_or_loses_a_pet_emits_nothing() {
    let moved = PetPatch { category_id: Some(cats()), ..PetPatch::default() };
    assert_eq!(kinds(&shop(Available, 2, 0).events(&patch(moved))), ["pet.updated"]);
    let new = NewCategory { description: Some(description("Purrs")), ..new_category("Lions") };
    assert_eq!(kinds(&shop(Available, 2, 0).events(&CreateCategory { new })), ["category.created"]);
    let clear = CategoryPatch { description: Patch::Set(description("Barks")), ..CategoryPatch::default() };
    let update = |patch| UpdateCategory { id: DOGS, patch, precondition: Precondition::None };
    let mut shop = shop(Available, 2, 0);
    let events = shop.events(&update(clear.clone()));
    assert_eq!(kinds(&events), ["category.updated"]);
    let Happening::CategoryUpdated { previous, .. } = &events[0] else { panic!("{events:?}") };
    let changed: Vec<_> = previous.changed().map(|(member, old)| (member.json, old)).collect();
    assert_eq!(changed, [("description", Value::Absent)]);
    assert!(shop.events(&update(clear)).is_empty());
}

#[test]
fn a_replayed_request_emits_nothing() {
    let mut shop = shop(Available, 3, 0);
    let request = idempotent(place(1), 1);
    assert_eq!(kinds(&shop.events(&request)), ["order.placed", "inventory.updated"]);
    assert!(shop.events(&request).is_empty());
}

#[test]
fn only_a_ban_that_is_lifted_ends_with_an_event() {
    let mut shop = Shop::default();
    shop.run(&create_key(KeyHolder::New { plan: Plan::Free })).unwrap();
    let id = key_id(1);
    let mut banned = shop.keys[&id].clone();
    banned.ban = Some(BanPolicy::DEFAULT.next_ban(None, None, now()));
    let mut view = View::default();
    view.load_key(id, Some(shop.keys[&id].clone()));
    let events = happenings(&view, &[Change::Key(Box::new(banned.clone()))]);
    assert_eq!(kinds(&events), ["key.banned"]);
    assert_eq!(events[0].private_to(), Some(account_id(1)));

    shop = shop.with_key(banned.clone());
    let lift = |minutes: u64| LiftBan { id, now: now().plus(std::time::Duration::from_mins(minutes)) };
    assert!(shop.clone().events(&lift(3)).is_empty(), "it is over");
    let events = shop.events(&lift(1));
    assert_eq!(kinds(&events), ["key.unbanned"]);
    let Happening::KeyUnbanned(ban) = &events[0] else { panic!("{events:?}") };
    assert_eq!(ban.until, lift(1).now);
    assert!(shop.events(&lift(1)).is_empty(), "it was lifted already");
}

#[test]
fn an_order_keeps_its_old_ship_date_in_the_event() {
    let mut shop = with_open_order(Available, 1);
    shop.run(&update(Patch::Set(hours(1)), None)).unwrap();
    let events = shop.events(&update(Patch::Clear, None));
    let Happening::OrderUpdated { order, previous } = &events[0] else { panic!("{events:?}") };
    assert_eq!((order.id, order.ship_date, previous.record().ship_date), (order_id(1), None, Some(hours(1))));
}
