//! Setting and adjusting the stock.

mod common;

use petstore_domain::PetStatus::{Available, Pending, Sold};
use petstore_domain::*;

use common::{
    ITEM_VERSION, PET_VERSION, REX, Shop, adjust, delta, level, only, order, order_id, pet_id, shop, version,
};

const MAX: u64 = StockLevel::MAX as u64;

/// Status, free units, open orders.
type State = (PetStatus, u64, u32);

/// States, the stock that each gets, and the status that follows from it.
const TABLE: [(State, u64, PetStatus); 17] = [
    ((Available, 3, 0), 8, Available),
    ((Available, 3, 0), 3, Available),
    ((Available, 3, 0), 0, Sold),
    ((Available, 3, 2), 1, Available),
    ((Available, 3, 2), 0, Pending),
    ((Available, 3, 1), 0, Pending),
    // A hold stays a hold, however many units there are, until none is left.
    ((Pending, 3, 0), 8, Pending),
    ((Pending, 3, 0), 1, Pending),
    ((Pending, 3, 0), 0, Sold),
    ((Pending, 3, 2), 8, Pending),
    ((Pending, 3, 2), 0, Pending),
    ((Pending, 3, 1), 0, Pending),
    ((Pending, 0, 2), 1, Available),
    ((Pending, 0, 2), 0, Pending),
    ((Sold, 0, 0), 1, Available),
    ((Sold, 0, 0), 0, Sold),
    ((Sold, 0, 0), MAX, Available),
];

fn set(units: u64) -> SetStock {
    SetStock { id: REX, level: level(units.cast_signed()), precondition: Precondition::None }
}

/// Makes a shop in `state`, calls `run` on it, and checks that the record, its versions and the answer have the expected
/// stock and status.
fn check(
    state: State,
    stock: u64,
    status: PetStatus,
    run: impl FnOnce(&mut Shop) -> Versioned<InventoryItem>,
) {
    let (from, units, open_orders) = state;
    let mut shop = shop(from, units, open_orders);
    let mut after = shop.rex().clone();
    after.stock = stock;
    after.pet.status = status;
    // The units are a member of the item only; the status is a member of the item and of the pet.
    after.version = version(PET_VERSION + u64::from(status != from));
    after.item_version = version(ITEM_VERSION + u64::from(stock != units || status != from));
    assert_eq!(run(&mut shop), after.versioned_item(), "{state:?} to {stock}");
    assert_eq!(*shop.rex(), after, "{state:?} to {stock}");
}

#[test]
fn a_stock_that_is_set_has_the_status_that_follows_from_it() {
    for (state, stock, status) in TABLE {
        check(state, stock, status, |shop| shop.run(&set(stock)).unwrap());
    }
}

#[test]
fn an_adjusted_stock_has_the_status_that_follows_from_it() {
    for (state, stock, status) in TABLE {
        let difference = stock.cast_signed() - state.1.cast_signed();
        if difference != 0 {
            check(state, stock, status, |shop| shop.run(&adjust(difference)).unwrap());
        }
    }
}

#[test]
fn a_stock_that_is_set_to_what_it_is_writes_nothing() {
    for (status, stock, open_orders) in [(Available, 3, 2), (Pending, 3, 0), (Pending, 0, 2), (Sold, 0, 0)] {
        let shop = shop(status, stock, open_orders);
        let unchanged = (Changes::none(), shop.rex().versioned_item());
        assert_eq!(shop.decide(&set(stock)), Ok(unchanged), "{status} {stock} {open_orders}");
    }
}

#[test]
fn the_precondition_of_an_item_is_checked_against_the_item_and_not_its_pet() {
    let current = version(ITEM_VERSION);
    let failed = Some(PreconditionError::Failed { current });
    let cases = [
        (only(ITEM_VERSION), None),
        (Precondition::Exists, None),
        (only(PET_VERSION), failed),
        (Precondition::AnyOf(Vec::new()), failed),
        (Precondition::Required, Some(PreconditionError::Required { current })),
    ];
    for (precondition, error) in cases {
        // Sets the current level: the precondition is checked even where nothing would change.
        let set = SetStock { precondition, ..set(3) };
        let rejection = shop(Available, 3, 0).decide(&set).err();
        assert_eq!(rejection, error.map(SetStockRejection::Precondition), "{set:?}");
    }
}

#[test]
fn rejects_setting_or_adjusting_an_item_that_is_not_there() {
    let shop = shop(Available, 3, 0);
    let id = pet_id(8);
    let set = SetStock { id, level: level(1), precondition: only(1) };
    assert_eq!(shop.decide(&set), Err(SetStockRejection::NotFound));
    let adjust = AdjustStock { id, delta: delta(1) };
    assert_eq!(shop.decide(&adjust), Err(AdjustStockRejection::NotFound));
}

#[test]
fn rejects_taking_out_more_than_is_free_with_the_free_units() {
    for (state, units, left) in [
        ((Available, 3, 0), -4, 3),
        ((Available, 3, 2), -5, 3),
        ((Pending, 3, 0), -1_000_000, 3),
        ((Pending, 0, 2), -1, 0),
        ((Sold, 0, 0), -1, 0),
    ] {
        let (status, stock, open_orders) = state;
        let rejected = Err(AdjustStockRejection::InsufficientStock { left });
        assert_eq!(shop(status, stock, open_orders).decide(&adjust(units)), rejected, "{state:?} {units}");
    }
}

#[test]
fn a_rise_ends_at_the_maximum() {
    let almost = MAX - 3;
    check((Available, almost, 0), MAX, Available, |shop| shop.run(&adjust(3)).unwrap());
    for (stock, units) in [(almost, 4), (MAX, 1), (1, 1_000_000), (MAX + 5, 1)] {
        let rejected = Err(AdjustStockRejection::AboveMaximum { stock });
        assert_eq!(shop(Available, stock, 0).decide(&adjust(units)), rejected, "{stock} {units}");
    }
}

#[test]
fn a_stock_above_the_maximum_comes_down_in_steps() {
    check((Available, MAX + 5, 0), MAX + 4, Available, |shop| shop.run(&adjust(-1)).unwrap());
    check((Available, MAX + 5, 0), 5, Available, |shop| shop.run(&adjust(-1_000_000)).unwrap());
    check((Available, MAX + 5, 0), MAX, Available, |shop| shop.run(&set(MAX)).unwrap());
}

#[test]
fn only_a_cancelled_order_takes_the_stock_above_the_maximum() {
    let mut shop = shop(Available, 10, 0).with_order(order(order_id(1), 4));
    shop.run(&adjust(999_990)).unwrap();
    assert_eq!(shop.run(&adjust(1)), Err(AdjustStockRejection::AboveMaximum { stock: MAX }));
    shop.run(&CancelOrder { id: order_id(1), precondition: Precondition::None }).unwrap();
    assert_eq!(shop.rex().stock, MAX + 4);
    assert_eq!(shop.run(&adjust(1)), Err(AdjustStockRejection::AboveMaximum { stock: MAX + 4 }));
}

#[test]
fn levels_and_deltas_have_bounds() {
    for (units, taken) in [(-1, false), (0, true), (1_000_000, true), (1_000_001, false), (i64::MAX, false)] {
        assert_eq!(StockLevel::new(units).is_ok(), taken, "{units}");
    }
    for (units, taken) in [
        (-1_000_001, false),
        (-1_000_000, true),
        (-1, true),
        (0, false),
        (1, true),
        (1_000_000, true),
        (1_000_001, false),
        (i64::MIN, false),
    ] {
        assert_eq!(StockDelta::new(units).is_ok(), taken, "{units}");
    }
}
