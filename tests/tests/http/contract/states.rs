//! Refusals by the shop's state: references and rules.

use serde_json::{Value, json};

use super::checker::Checker;
use super::document;
use super::stock::{
    self, COMPLETE_ORDER, EMPTY_CATEGORY, FREE_UNITS, FULL_CATEGORY, PET, SOLD_OUT_PET, UNKNOWN_ID,
};
use super::valid_request::ValidRequest;

/// An operation, its path and its body, and the status and code of its refusal.
type Case = (&'static str, String, Value, u16, &'static str);

fn cases() -> Vec<Case> {
    let unknown: u64 = UNKNOWN_ID.parse().unwrap();
    let (full_category, name) = FULL_CATEGORY;
    let pets = |id: u64| format!("/pets/{id}");
    let categories = |id: u64| format!("/categories/{id}");
    let orders = |id: u64| format!("/store/orders/{id}");
    let adjustments = |id: u64| format!("/inventory/{id}/adjustments");
    // Names are compared without regard to case.
    let name = json!({"name": name.to_uppercase()});
    let rex = |category: u64| json!({"name": "Rex", "categoryId": category});
    let sold = json!({"name": "Rex", "categoryId": full_category, "status": "sold"});
    vec![
        ("createPet", "/pets".into(), rex(unknown), 400, "unknown_reference"),
        ("replacePet", pets(PET), rex(unknown), 400, "unknown_reference"),
        ("updatePet", pets(PET), json!({"categoryId": unknown}), 400, "unknown_reference"),
        ("replacePet", pets(SOLD_OUT_PET), sold, 409, "invalid_status_transition"),
        ("updatePet", pets(SOLD_OUT_PET), json!({"status": "sold"}), 409, "invalid_status_transition"),
        ("deletePet", pets(SOLD_OUT_PET), Value::Null, 409, "pet_has_open_orders"),
        ("createCategory", "/categories".into(), name.clone(), 409, "category_exists"),
        ("replaceCategory", categories(EMPTY_CATEGORY), name.clone(), 409, "category_exists"),
        ("updateCategory", categories(EMPTY_CATEGORY), name.clone(), 409, "category_exists"),
        ("deleteCategory", categories(full_category), Value::Null, 409, "category_in_use"),
        ("placeOrder", "/store/orders".into(), json!({"petId": unknown}), 400, "unknown_reference"),
        ("placeOrder", "/store/orders".into(), json!({"petId": SOLD_OUT_PET}), 409, "pet_not_available"),
        (
            "placeOrder",
            "/store/orders".into(),
            json!({"petId": PET, "quantity": FREE_UNITS + 1}),
            409,
            "insufficient_stock",
        ),
        ("updateOrder", orders(COMPLETE_ORDER), json!({"complete": false}), 409, "order_already_complete"),
        ("cancelOrder", orders(COMPLETE_ORDER), Value::Null, 409, "order_already_complete"),
        ("adjustInventory", adjustments(PET), json!({"delta": -FREE_UNITS - 1}), 409, "insufficient_stock"),
        ("adjustInventory", adjustments(PET), json!({"delta": 1_000_000}), 400, "validation_failed"),
    ]
}

pub(super) fn provoke(checker: &mut Checker) {
    // A refused request changes nothing, so one shop is enough.
    let (_shop, client) = stock::open();
    for (id, path, body, status, code) in cases() {
        let operation = document::operation(id);
        let mut request = ValidRequest::of(operation).at_path(&path);
        if operation.takes_body() {
            request = request.with_body(body.to_string());
        }
        checker.expect(operation, &request.send(&client), status, code);
        if operation.takes("Idempotency-Key") {
            // A refusal that depends on the state is recorded and replayed. A refusal of the request itself is not.
            let request = request.with_header("idempotency-key", code);
            let [first, again] = [request.send(&client), request.send(&client)];
            checker.expect(operation, &first, status, code);
            checker.expect(operation, &again, status, code);
            assert_eq!(again.header("idempotent-replayed").is_some(), status == 409, "{id} {code}");
        }
    }
}
