//! Orders: their effect on the stock when they are placed, completed and cancelled.

use serde_json::json;

use crate::fixture::Fixture;
use crate::harness::NOON;

const NOON_MILLIS: &str = "2030-01-01T12:00:00.000Z";

#[test]
fn an_order_takes_its_units_off_the_stock_and_begins_open() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(5);
    let made = fixture.client.post("/v1/store/orders", &json!({"petId": pet}));
    let id = made.id();
    assert_eq!(made.json(), json!({"id": id, "petId": pet, "quantity": 1, "complete": false}));
    assert_eq!(made.header("location"), Some(format!("/v1/store/orders/{id}").as_str()));
    assert_eq!(fixture.state(pet), ("available".to_owned(), 4));
    let dated = json!({"petId": pet, "quantity": 3, "shipDate": "2030-02-01T01:30:00.123456+01:00"});
    let dated = fixture.client.post("/v1/store/orders", &dated);
    assert_eq!(dated.json()["shipDate"], "2030-02-01T00:30:00.123Z", "in UTC, to the millisecond");
    assert_eq!(fixture.state(pet), ("available".to_owned(), 1));
    assert_eq!(fixture.client.get(&format!("/v1/store/orders/{}", dated.id())).json(), dated.json());
}

#[test]
fn the_last_unit_makes_the_pet_pending() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(2);
    fixture.order(pet, 2);
    assert_eq!(fixture.state(pet), ("pending".to_owned(), 0));
    let refused = fixture.client.post("/v1/store/orders", &json!({"petId": pet}));
    assert_eq!(refused.outcome(), (409, "pet_not_available".to_owned()));
}

#[test]
fn an_order_needs_a_pet_that_exists_is_available_and_has_enough() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(3);
    let order = |pet: u64, units: u64| {
        fixture.client.post("/v1/store/orders", &json!({"petId": pet, "quantity": units}))
    };
    assert_eq!(order(999, 1).outcome(), (400, "unknown_reference".to_owned()));
    let refused = order(pet, 4);
    assert_eq!(refused.outcome(), (409, "insufficient_stock".to_owned()));
    assert!(refused.json()["message"].as_str().unwrap().contains('3'), "{}", refused.text());
    for status in ["pending", "sold"] {
        fixture.client.patch(&format!("/v1/pets/{pet}"), &json!({"status": status}));
        assert_eq!(order(pet, 4).outcome(), (409, "pet_not_available".to_owned()), "{status}");
    }
    assert_eq!(fixture.state(pet), ("sold".to_owned(), 0));
}

#[test]
fn completing_keeps_the_ship_date_or_sets_one() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(10);
    let date = "2030-03-01T00:00:00.000Z";
    let complete = |new: serde_json::Value, patch: serde_json::Value| {
        let order = fixture.client.post("/v1/store/orders", &new).id();
        fixture.client.patch(&format!("/v1/store/orders/{order}"), &patch).json()
    };
    let plain = json!({"petId": pet});
    let dated = json!({"petId": pet, "shipDate": date});
    let later = "2030-04-01T00:00:00.000Z";
    for (new, patch, expected) in [
        (&plain, json!({"complete": true}), NOON_MILLIS),
        (&dated, json!({"complete": true}), date),
        (&dated, json!({"complete": true, "shipDate": later}), later),
        (&dated, json!({"complete": true, "shipDate": null}), NOON_MILLIS),
    ] {
        let order = complete(new.clone(), patch.clone());
        assert_eq!(
            (order["complete"].clone(), order["shipDate"].clone()),
            (json!(true), json!(expected)),
            "{patch}"
        );
    }
}

#[test]
fn the_last_open_order_of_an_empty_stock_sells_the_pet() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(3);
    let orders = [fixture.order(pet, 1), fixture.order(pet, 1), fixture.order(pet, 1)];
    for (order, status) in orders.into_iter().zip(["pending", "pending", "sold"]) {
        fixture.complete(order);
        assert_eq!(fixture.state(pet), (status.to_owned(), 0));
    }
    let other = fixture.pet_of(2);
    fixture.complete(fixture.order(other, 1));
    assert_eq!(fixture.state(other), ("available".to_owned(), 1), "a unit is left");
}

#[test]
fn a_complete_order_is_final() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(2);
    let path = format!("/v1/store/orders/{}", fixture.order(pet, 1));
    let complete = fixture.client.patch(&path, &json!({"complete": true}));
    let shown = complete.json()["shipDate"].clone();
    // A patch that changes nothing is accepted even for a complete order.
    for patch in [json!({"complete": true}), json!({}), json!({"shipDate": shown}), json!({"shipDate": NOON})]
    {
        let same = fixture.client.patch(&path, &patch);
        assert_eq!((same.status, same.json()), (200, complete.json()), "{patch}");
        assert_eq!(same.header("etag"), complete.header("etag"));
    }
    let later = "2031-01-01T00:00:00Z";
    for patch in [
        json!({"complete": false}),
        json!({"shipDate": null}),
        json!({"shipDate": later}),
        json!({"complete": true, "shipDate": later}),
    ] {
        let refused = fixture.client.patch(&path, &patch);
        assert_eq!(refused.outcome(), (409, "order_already_complete".to_owned()), "{patch}");
    }
    assert_eq!(fixture.client.delete(&path).outcome(), (409, "order_already_complete".to_owned()));
    assert_eq!(fixture.client.get(&path).json(), complete.json());
}

#[test]
fn the_ship_date_of_an_open_order_is_set_kept_and_deleted() {
    let fixture = Fixture::open();
    let path = format!("/v1/store/orders/{}", fixture.order(fixture.pet(), 1));
    let after = |body| fixture.client.patch(&path, &body).json();
    let date = json!("2030-03-01T00:00:00.000Z");
    assert_eq!(after(json!({"shipDate": "2030-03-01T00:00:00Z"}))["shipDate"], date);
    assert_eq!(after(json!({"complete": false}))["shipDate"], date, "an open order stays open");
    assert_eq!(after(json!({"shipDate": null})).get("shipDate"), None);
    for member in ["id", "petId", "quantity"] {
        let refused = fixture.client.patch(&path, &json!({member: 1}));
        assert_eq!(refused.details(), [(member.to_owned(), "read_only".to_owned())]);
    }
}

#[test]
fn cancelling_gives_the_units_back_once() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(5);
    let (two, three) = (fixture.order(pet, 2), fixture.order(pet, 3));
    assert_eq!(fixture.state(pet), ("pending".to_owned(), 0));
    let path = format!("/v1/store/orders/{two}");
    let cancelled = fixture.client.delete(&path);
    assert_eq!((cancelled.status, cancelled.body.len()), (204, 0));
    assert_eq!(fixture.state(pet), ("available".to_owned(), 2), "it had nothing left and has again");
    for gone in
        [fixture.client.delete(&path), fixture.client.get(&path), fixture.client.patch(&path, &json!({}))]
    {
        assert_eq!(gone.outcome(), (404, "not_found".to_owned()));
    }
    assert_eq!(fixture.state(pet), ("available".to_owned(), 2));
    fixture.client.delete(&format!("/v1/store/orders/{three}"));
    assert_eq!(fixture.state(pet), ("available".to_owned(), 5));
}

#[test]
fn a_pet_on_hold_stays_so_when_an_order_is_cancelled_or_completed() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(3);
    let orders = [fixture.order(pet, 1), fixture.order(pet, 1)];
    fixture.client.patch(&format!("/v1/pets/{pet}"), &json!({"status": "pending"}));
    fixture.client.delete(&format!("/v1/store/orders/{}", orders[0]));
    assert_eq!(fixture.state(pet), ("pending".to_owned(), 2));
    fixture.complete(orders[1]);
    assert_eq!(fixture.state(pet), ("pending".to_owned(), 2));
}

#[test]
fn a_cancelled_order_may_raise_the_stock_above_the_settable_maximum() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(10);
    let order = fixture.order(pet, 10);
    fixture.set_stock(pet, 1_000_000);
    fixture.client.delete(&format!("/v1/store/orders/{order}"));
    assert_eq!(fixture.state(pet), ("available".to_owned(), 1_000_010));
    // A stock above the maximum may be reduced, but not raised.
    let adjust = |delta: i64| {
        fixture.client.post(&format!("/v1/inventory/{pet}/adjustments"), &json!({"delta": delta}))
    };
    assert_eq!(adjust(-5).json()["quantity"], 1_000_005);
    let refused = adjust(1);
    assert_eq!(refused.details(), [("delta".to_owned(), "out_of_range".to_owned())]);
}

#[test]
fn quantities_of_an_order_are_1_to_10000() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(1_000_000);
    let order =
        |quantity: i64| fixture.client.post("/v1/store/orders", &json!({"petId": pet, "quantity": quantity}));
    for quantity in [1, 10_000] {
        assert_eq!(order(quantity).status, 201);
    }
    for quantity in [0, -1, 10_001, i64::MAX] {
        assert_eq!(order(quantity).details(), [("quantity".to_owned(), "out_of_range".to_owned())]);
    }
}
