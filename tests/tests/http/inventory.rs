//! The inventory: setting and adjusting the stock.

use serde_json::json;

use crate::fixture::Fixture;

#[test]
fn an_item_shows_the_pet_its_free_units_and_its_status() {
    let fixture = Fixture::open();
    let pet = fixture.pet();
    let item = fixture.client.get(&format!("/v1/inventory/{pet}"));
    assert_eq!(item.json(), json!({"petId": pet, "quantity": 1, "status": "available"}));
    assert_eq!(fixture.client.get("/v1/inventory").json(), json!([item.json()]));
    let set = fixture.client.patch(&format!("/v1/inventory/{pet}"), &json!({"quantity": 7}));
    assert_eq!(set.json(), json!({"petId": pet, "quantity": 7, "status": "available"}));
}

#[test]
fn the_status_follows_the_stock() {
    let fixture = Fixture::open();
    // A stock that rises from zero makes the pet available. A stock that falls to zero makes the pet sold, or pending
    // if the pet has an open order.
    let pet = fixture.pet_of(2);
    fixture.set_stock(pet, 0);
    assert_eq!(fixture.state(pet), ("sold".to_owned(), 0));
    fixture.set_stock(pet, 2);
    assert_eq!(fixture.state(pet), ("available".to_owned(), 2));
    let order = fixture.order(pet, 1);
    fixture.set_stock(pet, 0);
    assert_eq!(fixture.state(pet), ("pending".to_owned(), 0));
    fixture.set_stock(pet, 4);
    assert_eq!(fixture.state(pet), ("available".to_owned(), 4));
    fixture.set_stock(pet, 0);
    fixture.complete(order);
    assert_eq!(fixture.state(pet), ("sold".to_owned(), 0));
    // A change between two stocks above zero does not change the status.
    let held = fixture.pet_of(2);
    fixture.client.patch(&format!("/v1/pets/{held}"), &json!({"status": "pending"}));
    fixture.set_stock(held, 5);
    assert_eq!(fixture.state(held), ("pending".to_owned(), 5), "a hold stays a hold");
    fixture.set_stock(held, 0);
    assert_eq!(fixture.state(held), ("sold".to_owned(), 0));
}

#[test]
fn an_adjustment_has_the_effect_of_setting_the_sum() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(2);
    let adjust = |delta: i64| {
        fixture.client.post(&format!("/v1/inventory/{pet}/adjustments"), &json!({"delta": delta}))
    };
    let three = adjust(1);
    assert_eq!(
        (three.status, three.json()),
        (200, json!({"petId": pet, "quantity": 3, "status": "available"}))
    );
    assert_eq!(three.header("location"), None);
    assert_eq!(adjust(-3).json(), json!({"petId": pet, "quantity": 0, "status": "sold"}));
    assert_eq!(adjust(1).json()["status"], "available");
    fixture.order(pet, 1);
    let refused = adjust(-1);
    assert_eq!(refused.outcome(), (409, "insufficient_stock".to_owned()));
    assert!(refused.json()["message"].as_str().unwrap().contains('0'));
    assert_eq!(adjust(2).json(), json!({"petId": pet, "quantity": 2, "status": "available"}));
    assert_eq!(adjust(-2).json()["status"], "pending", "an order is open");
}

#[test]
fn a_raise_is_limited_to_a_million() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(1);
    let adjust = |delta: i64| {
        fixture.client.post(&format!("/v1/inventory/{pet}/adjustments"), &json!({"delta": delta}))
    };
    let refused = adjust(1_000_000);
    assert_eq!(refused.outcome(), (400, "validation_failed".to_owned()));
    assert_eq!(refused.details(), [("delta".to_owned(), "out_of_range".to_owned())]);
    assert_eq!(adjust(999_999).json()["quantity"], 1_000_000);
    assert_eq!(adjust(-1_000_000).json()["quantity"], 0);
}

#[test]
fn quantities_and_deltas_have_their_ranges() {
    let fixture = Fixture::open();
    let path = format!("/v1/inventory/{}", fixture.pet());
    for quantity in [0, 1_000_000] {
        assert_eq!(fixture.client.patch(&path, &json!({"quantity": quantity})).status, 200);
    }
    for quantity in [-1, 1_000_001, i64::MAX] {
        let refused = fixture.client.patch(&path, &json!({"quantity": quantity}));
        assert_eq!(refused.details(), [("quantity".to_owned(), "out_of_range".to_owned())]);
    }
    let adjustments = format!("{path}/adjustments");
    for delta in [0, 1_000_001, -1_000_001, i64::MIN] {
        let refused = fixture.client.post(&adjustments, &json!({"delta": delta}));
        assert_eq!(refused.details(), [("delta".to_owned(), "out_of_range".to_owned())]);
    }
    for (member, code) in [("petId", "read_only"), ("status", "read_only"), ("delta", "unknown_member")] {
        let refused = fixture.client.patch(&path, &json!({"quantity": 1, member: 1}));
        assert_eq!(refused.details(), [(member.to_owned(), code.to_owned())]);
    }
    let missing = ("required".to_owned(), fixture.client.patch(&path, &json!({})).details()[0].1.clone());
    assert_eq!(missing.0, missing.1);
    assert_eq!(fixture.client.post(&adjustments, &json!({})).details()[0].1, "required");
}

#[test]
fn stock_of_a_pet_that_does_not_exist_is_not_found() {
    let fixture = Fixture::open();
    let not_found = (404, "not_found".to_owned());
    assert_eq!(fixture.client.get("/v1/inventory/999").outcome(), not_found);
    assert_eq!(fixture.client.patch("/v1/inventory/999", &json!({"quantity": 1})).outcome(), not_found);
    assert_eq!(
        fixture.client.post("/v1/inventory/999/adjustments", &json!({"delta": 1})).outcome(),
        not_found
    );
}
