//! The order of the checks. A request that breaks two rules gets the error of the rule that is checked first.

use petstore_domain::{AccountName, KeyHolder, KeyLabel, Limit, Limits, Plan, Scopes};
use petstore_ports::api::NewKey;
use petstore_service::Policy;
use serde_json::json;

use crate::fixture::{Fixture, hold};
use crate::harness::{Answer, Client, PATIENT, Shop, ShopOptions};

const JSON: (&str, &str) = ("content-type", "application/json");
const TEXT: (&str, &str) = ("content-type", "text/plain");
const HTML_ALONE: (&str, &str) = ("accept", "text/html");
const LOST: (&str, &str) = ("if-match", "\"lost\"");
const MALFORMED: &str = "no tag";

#[track_caller]
fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.outcome(), (status, code.to_owned()));
}

#[test]
fn form_then_host_then_preflight_then_key() {
    let shop = Shop::open();
    let anonymous = shop.anonymous();
    let long = format!("/v1/pets?{}", "x".repeat(9_000));
    is(&anonymous.send("GET", &long, &[("host", "second")], None), 414, "uri_too_long");
    is(&anonymous.send("OPTIONS", "/v1/pets", &[("host", "second")], None), 400, "invalid_host");
    is(&anonymous.send("GET", "/v1/pets", &[("host", "second")], None), 400, "invalid_host");
    assert_eq!(anonymous.send("OPTIONS", "/v1/pets", &[("x-api-key", "junk")], None).status, 204);
}

#[test]
fn key_then_requests_in_flight_then_ban_then_quota_then_path() {
    let policy = Policy { in_flight_max: 1, ..PATIENT };
    let shop = Shop::open_as(ShopOptions { policy, ..ShopOptions::default() });
    let limits = Limits { minute: Limit::new(2).unwrap(), day: Limit::new(100).unwrap() };
    let key = || {
        let name = AccountName::parse("kennel").unwrap();
        let holder = KeyHolder::Named { name, plan: Some(Plan::Enterprise(limits)) };
        let label = KeyLabel::parse("").unwrap();
        shop.client_for(NewKey { holder, label, scopes: Scopes::DEFAULT, expires_at: None }).0
    };
    let (client, banned) = (key(), key());
    banned.get("/v1/pets");
    let mut held = hold(&client, b"{}");
    is(&Client { key: Some("junk".to_owned()), ..client.clone() }.get("/v1/pets"), 401, "invalid_api_key");
    is(&banned.get("/v1/pets"), 429, "too_many_concurrent_requests");
    held.send(b"{}");
    is(&held.read_answer(false).unwrap(), 400, "validation_failed");
    // The minute is used up at this point.
    for _ in 0..10 {
        is(&banned.get("/v1/nothing"), 429, "rate_limit_exceeded");
    }
    is(&banned.get("/v1/pets"), 403, "key_banned");
    is(&client.get("/v1/nothing"), 429, "rate_limit_exceeded");
    // One request is in flight and the key is banned. The limit on requests in flight is checked before the ban.
    shop.clock.set("2030-01-01T12:01:00Z");
    let _held = hold(&client, b"{}");
    is(&banned.get("/v1/pets"), 429, "too_many_concurrent_requests");
}

#[test]
fn path_and_method_then_scope_then_accept_then_type_then_size() {
    let shop = Shop::open();
    let reader = shop.client_with(Plan::Business, Scopes::parse("read").unwrap());
    is(&reader.send("POST", "/v1/nothing", &[], None), 404, "not_found");
    is(&reader.send("PUT", "/v1/pets", &[], None), 405, "method_not_allowed");
    is(&reader.send("POST", "/v1/pets", &[HTML_ALONE], None), 403, "insufficient_scope");
    let client = shop.client(Plan::Business);
    is(&client.send("PUT", "/v1/pets", &[HTML_ALONE], None), 405, "method_not_allowed");
    let large = vec![b' '; 2 << 20];
    is(&client.send_bytes("POST", "/v1/pets", &[HTML_ALONE, TEXT], Some(b"{}")), 406, "not_acceptable");
    is(&client.send_bytes("POST", "/v1/pets", &[TEXT], Some(&large)), 415, "unsupported_media_type");
    is(&client.send_bytes("PUT", "/v1/pets/abc", &[TEXT], Some(b"{}")), 415, "unsupported_media_type");
    is(&client.send_bytes("PUT", "/v1/pets/abc?x=1", &[JSON], Some(&large)), 413, "body_too_large");
}

#[test]
fn validation_order_is_path_then_query_then_headers_and_body() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    for path in ["/pets/abc", "/categories/abc", "/store/orders/abc", "/inventory/abc"] {
        let answer = client.get(&format!("/v1{path}?x=1"));
        is(&answer, 400, "invalid_parameter");
        assert_eq!(answer.details()[0].1, "invalid_format");
        assert_eq!(answer.details().len(), 1, "the query has not been looked at");
    }
    let if_match = [JSON, ("if-match", MALFORMED)];
    is(&client.send_bytes("PATCH", "/v1/pets/1?x=1", &if_match, Some(b"{")), 400, "invalid_parameter");
    is(&client.send_bytes("PATCH", "/v1/pets/1", &if_match, Some(b"{")), 400, "invalid_header");
    let known = [("if-none-match", MALFORMED)];
    is(&client.send("GET", "/v1/pets?x=1", &known, None), 400, "invalid_parameter");
    is(&client.send("GET", "/v1/pets?cursor=x", &known, None), 400, "invalid_cursor");
    is(&client.send("GET", "/v1/pets", &known, None), 400, "invalid_header");
    let retry = [JSON, ("idempotency-key", "two words")];
    is(&client.send_bytes("POST", "/v1/pets?x=1", &retry, Some(b"{")), 400, "invalid_parameter");
    is(&client.send_bytes("POST", "/v1/pets", &retry, Some(b"{")), 400, "invalid_header");
}

#[test]
fn validation_comes_before_existence() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    // No pet has the id 999. The other numbers are outside the range of ids.
    for id in ["999", "0", "9007199254740992", "99999999999999999999"] {
        for path in [format!("/v1/pets/{id}"), format!("/v1/categories/{id}"), format!("/v1/inventory/{id}")]
        {
            is(&client.get(&format!("{path}?x=1")), 400, "invalid_parameter");
            is(&client.send("GET", &path, &[("if-none-match", MALFORMED)], None), 400, "invalid_header");
            is(&client.patch(&path, &json!({"no": 1})), 400, "validation_failed");
            is(&client.send_bytes("PATCH", &path, &[JSON], Some(b"{")), 400, "invalid_json");
        }
        for path in [format!("/v1/pets/{id}"), format!("/v1/categories/{id}")] {
            is(&client.put(&path, &json!({})), 400, "validation_failed");
            is(&client.send("DELETE", &path, &[("if-match", MALFORMED)], None), 400, "invalid_header");
        }
        let order = format!("/v1/store/orders/{id}");
        is(&client.patch(&order, &json!({"complete": 1})), 400, "validation_failed");
        is(&client.delete(&format!("{order}?x=1")), 400, "invalid_parameter");
        let adjustments = format!("/v1/inventory/{id}/adjustments");
        is(&client.post(&adjustments, &json!({"delta": 0})), 400, "validation_failed");
        is(&client.post(&adjustments, &json!({"delta": 1})), 404, "not_found");
    }
}

#[test]
fn the_body_is_validated_before_the_idempotency_record_and_that_comes_before_existence() {
    let fixture = Fixture::open();
    let pet = fixture.pet();
    let path = format!("/v1/inventory/{pet}/adjustments");
    let adjust = |body| fixture.client.send("POST", &path, &[("idempotency-key", "once")], Some(&body));
    assert_eq!(adjust(json!({"delta": 1})).status, 200);
    is(&adjust(json!({"delta": "1"})), 400, "validation_failed");
    assert_eq!(fixture.client.delete(&format!("/v1/pets/{pet}")).status, 204);
    assert_eq!(adjust(json!({"delta": 1})).status, 200);
    is(&adjust(json!({"delta": 2})), 422, "idempotency_key_reused");
}

#[test]
fn existence_then_precondition_then_references_then_state() {
    let fixture = Fixture::open();
    let client = &fixture.client;
    let pet = fixture.pet();
    fixture.order(pet, 1);
    let nowhere = json!({"name": "Rex", "categoryId": 999, "status": "sold"});
    let send = |method, path: &str, body| client.send(method, path, &[LOST], body);
    is(&send("PUT", "/v1/pets/999", Some(&nowhere)), 404, "not_found");
    is(&send("DELETE", "/v1/pets/999", None), 404, "not_found");
    is(&client.put("/v1/pets/999", &nowhere), 404, "not_found");
    let pet = format!("/v1/pets/{pet}");
    is(&send("PUT", &pet, Some(&nowhere)), 412, "precondition_failed");
    is(&send("DELETE", &pet, None), 412, "precondition_failed");
    is(&client.put(&pet, &nowhere), 400, "unknown_reference");
    is(&client.patch(&pet, &json!({"status": "sold"})), 409, "invalid_status_transition");
    is(&send("DELETE", &format!("/v1/categories/{}", fixture.category), None), 412, "precondition_failed");
}
