//! Placing, changing, completing and cancelling orders.

mod common;

use petstore_domain::PetStatus::{Available, Pending, Sold};
use petstore_domain::*;

use common::{
    ITEM_VERSION, ORDER_VERSION, PET_VERSION, REX, Shop, hours, now, only, order, order_id, pet_id, place,
    quantity, shop, version,
};

/// The first order that [`shop`] makes.
const FIRST: OrderId = OrderId::FIRST;

fn update(ship_date: Patch<Timestamp>, complete: Option<bool>) -> UpdateOrder {
    let patch = OrderPatch { ship_date, ..OrderPatch::new(complete) };
    UpdateOrder { id: FIRST, patch, precondition: Precondition::None, now: now() }
}

fn complete() -> UpdateOrder {
    update(Patch::Keep, Some(true))
}

fn cancel(id: OrderId) -> CancelOrder {
    CancelOrder { id, precondition: Precondition::None }
}

/// Rex with an order that has been fulfilled, shipped two hours ago.
fn shop_with_complete_order() -> Shop {
    let mut record = order(FIRST, 2);
    record.order.complete = true;
    record.order.ship_date = Some(hours(-2));
    shop(Available, 3, 0).with_order(record)
}

/// Compares Rex with the expected state. A change of status changes both versions, a change of units only the item's.
fn check_rex(shop: &Shop, was: (PetStatus, u64), is: (PetStatus, u64, u32), context: &str) {
    let (status, stock, _) = is;
    let rex = shop.rex();
    assert_eq!((rex.pet.status, rex.stock, rex.open_orders), is, "{context}");
    assert_eq!(rex.version, version(PET_VERSION + u64::from(was.0 != status)), "{context}");
    assert_eq!(rex.item_version, version(ITEM_VERSION + u64::from(was != (status, stock))), "{context}");
}

#[test]
fn an_order_takes_its_units_at_once_and_the_last_one_puts_the_pet_on_hold() {
    for (stock, open_orders, units, status) in [
        (3, 0, 1, Available),
        (3, 2, 2, Available),
        (3, 0, 3, Pending),
        (3, 2, 3, Pending),
        (1, 0, 1, Pending),
    ] {
        let mut shop = shop(Available, stock, open_orders);
        let placed = shop.run(&place(units)).unwrap();
        let id = order_id(u64::from(open_orders) + 1);
        let order = Order::new(id, REX, quantity(units));
        assert_eq!(placed, Versioned { value: order, version: Version::FIRST });
        assert_eq!(shop.orders[&id].versioned(), placed);
        let left = stock - units.cast_unsigned();
        let context = format!("{units} of {stock}");
        check_rex(&shop, (Available, stock), (status, left, open_orders + 1), &context);
    }
}

#[test]
fn an_order_keeps_the_ship_date_that_it_came_with() {
    let ship_date = Some(hours(48));
    let new = NewOrder { ship_date, ..place(1).new };
    let placed = shop(Available, 3, 0).run(&PlaceOrder { new }).unwrap();
    assert_eq!(placed.value.ship_date, ship_date);
}

#[test]
fn rejects_an_order_of_a_pet_that_is_not_there() {
    let new = NewOrder { pet_id: pet_id(8), ..place(1).new };
    let rejected = Err(PlaceOrderRejection::UnknownPet(pet_id(8)));
    assert_eq!(shop(Available, 3, 0).decide(&PlaceOrder { new }), rejected);
}

#[test]
fn rejects_an_order_of_a_pet_that_is_not_available_however_many_units_it_has() {
    for (status, stock, open_orders, units) in
        [(Pending, 3, 0, 1), (Pending, 3, 2, 4), (Pending, 0, 2, 1), (Sold, 0, 0, 1)]
    {
        let rejected = Err(PlaceOrderRejection::PetNotAvailable { status });
        assert_eq!(shop(status, stock, open_orders).decide(&place(units)), rejected, "{status} {stock}");
    }
}

#[test]
fn rejects_an_order_larger_than_the_stock_with_the_units_left() {
    for (stock, units) in [(3, 4), (1, 10_000), (9_999, 10_000)] {
        let rejected = Err(PlaceOrderRejection::InsufficientStock { left: stock });
        assert_eq!(shop(Available, stock, 0).decide(&place(units)), rejected, "{units} of {stock}");
    }
}

#[test]
fn of_many_buyers_of_one_unit_exactly_one_gets_it() {
    let mut shop = shop(Available, 1, 0);
    assert!(shop.run(&place(1)).is_ok());
    for _ in 0..9 {
        assert_eq!(shop.run(&place(1)), Err(PlaceOrderRejection::PetNotAvailable { status: Pending }));
    }
    check_rex(&shop, (Available, 1), (Pending, 0, 1), "one order");
}

#[test]
fn a_ship_date_is_set_and_removed_and_the_pet_stays_unchanged() {
    for (before, patch, after) in [
        (None, Patch::Set(hours(1)), Some(hours(1))),
        (Some(hours(1)), Patch::Set(hours(2)), Some(hours(2))),
        (Some(hours(1)), Patch::Clear, None),
    ] {
        let mut shop = shop(Available, 3, 1);
        shop.orders.get_mut(&FIRST).unwrap().order.ship_date = before;
        let rex = shop.rex().clone();
        let updated = shop.run(&update(patch, Some(false))).unwrap();
        assert_eq!(updated.value.ship_date, after, "{before:?} {patch:?}");
        assert_eq!(updated.version, version(ORDER_VERSION + 1));
        assert_eq!(shop.orders[&FIRST].versioned(), updated);
        assert_eq!(*shop.rex(), rex);
    }
}

#[test]
fn a_patch_that_changes_nothing_writes_nothing() {
    let open = shop(Available, 3, 1);
    let fulfilled = shop_with_complete_order();
    let cases = [
        (&open, update(Patch::Keep, None)),
        (&open, update(Patch::Keep, Some(false))),
        (&open, update(Patch::Clear, None)),
        // Completing a complete order changes nothing either, not even its ship date.
        (&fulfilled, complete()),
        (&fulfilled, update(Patch::Keep, None)),
        (&fulfilled, update(Patch::Set(hours(-2)), None)),
        (&fulfilled, update(Patch::Set(hours(-2)), Some(true))),
    ];
    for (shop, update) in cases {
        let unchanged = (Changes::none(), shop.orders[&FIRST].versioned());
        assert_eq!(shop.decide(&update), Ok(unchanged), "{update:?}");
    }
}

#[test]
fn rejects_every_change_of_a_complete_order() {
    let shop = shop_with_complete_order();
    for (ship_date, complete) in [
        (Patch::Keep, Some(false)),
        (Patch::Set(hours(-2)), Some(false)),
        (Patch::Set(hours(1)), None),
        (Patch::Set(hours(1)), Some(true)),
        (Patch::Clear, None),
        (Patch::Clear, Some(true)),
    ] {
        let update = update(ship_date, complete);
        assert_eq!(shop.decide(&update), Err(UpdateOrderRejection::AlreadyComplete), "{update:?}");
    }
}

#[test]
fn the_ship_date_of_a_completed_order_is_the_new_one_the_old_one_or_now() {
    for (before, patch, after) in [
        (None, Patch::Keep, now()),
        (None, Patch::Clear, now()),
        (None, Patch::Set(hours(1)), hours(1)),
        (Some(hours(5)), Patch::Keep, hours(5)),
        (Some(hours(5)), Patch::Set(hours(1)), hours(1)),
        (Some(hours(5)), Patch::Clear, now()),
    ] {
        let mut shop = shop(Available, 3, 1);
        shop.orders.get_mut(&FIRST).unwrap().order.ship_date = before;
        let completed = shop.run(&update(patch, Some(true))).unwrap();
        assert_eq!((completed.value.complete, completed.value.ship_date), (true, Some(after)), "{patch:?}");
        assert_eq!(completed.version, version(ORDER_VERSION + 1), "{patch:?}");
        assert_eq!(shop.orders[&FIRST].versioned(), completed, "{patch:?}");
    }
}

#[test]
fn the_last_open_order_of_a_pet_without_units_sells_it() {
    for (status, stock, open_orders, after) in [
        (Available, 3, 1, Available),
        (Available, 3, 2, Available),
        (Pending, 3, 1, Pending),
        (Pending, 0, 2, Pending),
        (Pending, 0, 1, Sold),
    ] {
        let mut shop = shop(status, stock, open_orders);
        shop.run(&complete()).unwrap();
        let context = format!("{status} {stock} {open_orders}");
        check_rex(&shop, (status, stock), (after, stock, open_orders - 1), &context);
    }
}

#[test]
fn a_cancelled_order_gives_its_units_back() {
    for (status, stock, open_orders, after) in [
        (Available, 3, 0, Available),
        (Available, 3, 2, Available),
        // A caller put the pet on hold while units were free. Cancelling an order does not end that hold.
        (Pending, 3, 0, Pending),
        (Pending, 3, 2, Pending),
        (Pending, 0, 0, Available),
        (Pending, 0, 2, Available),
    ] {
        let id = order_id(u64::from(open_orders) + 1);
        let mut shop = shop(status, stock, open_orders).with_order(order(id, 4));
        assert_eq!(shop.run(&cancel(id)), Ok(()));
        assert!(!shop.orders.contains_key(&id));
        let context = format!("{status} {stock} {open_orders}");
        check_rex(&shop, (status, stock), (after, stock + 4, open_orders), &context);
    }
}

#[test]
fn an_order_is_cancelled_once() {
    let mut shop = shop(Available, 3, 1);
    shop.run(&cancel(FIRST)).unwrap();
    let after = shop.clone();
    assert_eq!(shop.run(&cancel(FIRST)), Err(CancelOrderRejection::NotFound));
    assert_eq!(shop, after);
}

#[test]
fn rejects_cancelling_a_complete_order() {
    let rejected = Err(CancelOrderRejection::AlreadyComplete);
    assert_eq!(shop_with_complete_order().decide(&cancel(FIRST)), rejected);
}

#[test]
fn existence_comes_before_the_precondition_before_the_state() {
    let shop = shop_with_complete_order();
    let current = version(ORDER_VERSION);
    let failed = PreconditionError::Failed { current };
    let required = PreconditionError::Required { current };
    for (id, precondition, updated, cancelled) in [
        (order_id(8), only(1), UpdateOrderRejection::NotFound, CancelOrderRejection::NotFound),
        (FIRST, only(1), failed.into(), failed.into()),
        (FIRST, Precondition::Required, required.into(), required.into()),
        (
            FIRST,
            only(ORDER_VERSION),
            UpdateOrderRejection::AlreadyComplete,
            CancelOrderRejection::AlreadyComplete,
        ),
    ] {
        let cancel = CancelOrder { id, precondition: precondition.clone() };
        assert_eq!(shop.decide(&cancel), Err(cancelled), "{cancel:?}");
        let update = UpdateOrder { id, precondition, ..update(Patch::Clear, Some(false)) };
        assert_eq!(shop.decide(&update), Err(updated), "{update:?}");
    }
}

#[test]
fn the_quantity_of_an_order_has_bounds() {
    for (units, taken) in [(-1, false), (0, false), (1, true), (10_000, true), (10_001, false)] {
        assert_eq!(OrderQuantity::new(units).is_ok(), taken, "{units}");
    }
}
