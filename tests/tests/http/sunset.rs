//! getPet is deprecated, and ends on a day.

use petstore_domain::Scopes;
use serde_json::json;

use crate::fixture::{Fixture, PLENTY};
use crate::harness::{Answer, ShopOptions};

#[track_caller]
fn is_deprecated(answer: &Answer, status: u16) {
    assert_eq!(answer.status, status);
    assert_eq!(answer.header("deprecation"), Some("@1752019200"));
    assert_eq!(answer.header("sunset"), Some("Thu, 05 Dec 2030 00:00:00 GMT"));
    for rel in ["deprecation", "sunset", "successor-version"] {
        assert!(answer.link(rel).is_some(), "no {rel} in {:?}", answer.header("link"));
    }
}

#[track_caller]
fn is_not_deprecated(answer: &Answer) {
    assert_eq!((answer.header("deprecation"), answer.header("sunset")), (None, None));
    assert_eq!(answer.header("link"), None);
}

#[test]
fn every_answer_to_get_and_head_of_a_pet_is_marked_deprecated() {
    let fixture = Fixture::open();
    let pet = format!("/v1/pets/{}", fixture.pet());
    let tag = fixture.client.get(&pet).header("etag").unwrap().to_owned();
    let writer = fixture.shop.client_with(PLENTY, Scopes::parse("write").unwrap());
    let other = fixture.shop.client(PLENTY);
    for method in ["GET", "HEAD"] {
        let send = |path: &str, headers: &[(&str, &str)]| fixture.client.send(method, path, headers, None);
        is_deprecated(&send(&pet, &[]), 200);
        is_deprecated(&send(&pet, &[("if-none-match", &tag)]), 304);
        is_deprecated(&send(&pet, &[("if-none-match", "x")]), 400);
        is_deprecated(&send(&pet, &[("host", "second")]), 400);
        is_deprecated(&send(&pet, &[("x-api-key", other.key.as_deref().unwrap())]), 400);
        is_deprecated(&send(&pet, &[("accept", "text/html")]), 406);
        is_deprecated(&send("/v1/pets/abc", &[]), 400);
        is_deprecated(&send("/v1/pets/999", &[]), 404);
        is_deprecated(&send("/v1/pets/0", &[]), 404);
        is_deprecated(&fixture.shop.anonymous().send(method, &pet, &[], None), 401);
        is_deprecated(&writer.send(method, &pet, &[], None), 403);
        is_deprecated(&send(&format!("{pet}?{}", "x".repeat(9_000)), &[]), 414);
        is_deprecated(&send(&pet, &[("x-long", &"x".repeat(17_000))]), 431);
    }
}

#[test]
fn the_successor_is_the_list_with_this_id() {
    let fixture = Fixture::open();
    let pet = fixture.pet();
    let read = fixture.client.get(&format!("/v1/pets/{pet}"));
    let successor = read.link("successor-version").unwrap();
    let expected = format!("/v1/pets?id={pet}");
    assert!(successor.ends_with(&expected), "{successor}");
    assert_eq!(fixture.client.get(&expected).json(), json!([read.json()]));
}

#[test]
fn nothing_else_is_deprecated() {
    let fixture = Fixture::open();
    let pet = format!("/v1/pets/{}", fixture.pet());
    let whole = json!({"name": "Rex", "categoryId": fixture.category});
    is_not_deprecated(&fixture.client.put(&pet, &whole));
    is_not_deprecated(&fixture.client.patch(&pet, &json!({})));
    is_not_deprecated(&fixture.client.patch(&pet, &json!({"name": 1})));
    is_not_deprecated(&fixture.client.send("OPTIONS", &pet, &[], None));
    is_not_deprecated(&fixture.client.send("TRACE", &pet, &[], None));
    is_not_deprecated(&fixture.client.delete(&pet));
    is_not_deprecated(&fixture.client.get(&format!("/v1/inventory/{}", fixture.pet())));
    assert_eq!(fixture.client.get("/v1/pets").header("deprecation"), None);
}

#[test]
fn from_the_sunset_on_get_and_head_are_410_and_the_rest_is_served() {
    let fixture = Fixture::open();
    let pet = format!("/v1/pets/{}", fixture.pet());
    fixture.shop.clock.set("2030-12-04T23:59:59.999Z");
    is_deprecated(&fixture.client.get(&pet), 200);
    fixture.shop.clock.set("2030-12-05T00:00:00.000Z");
    for path in [&pet, "/v1/pets/999", "/v1/pets/abc"] {
        let gone = fixture.client.get(path);
        is_deprecated(&gone, 410);
        assert_eq!(gone.outcome(), (410, "operation_sunset".to_owned()));
        is_deprecated(&fixture.client.send("HEAD", path, &[], None), 410);
    }
    is_deprecated(&fixture.shop.anonymous().get(&pet), 401);
    assert_eq!(fixture.client.patch(&pet, &json!({"name": "Max"})).status, 200);
    assert_eq!(fixture.client.get("/v1/pets?id=1").status, 200);
    assert_eq!(fixture.client.delete(&pet).status, 204);
}

#[test]
fn the_sunset_can_be_disabled() {
    let mut options = ShopOptions::default();
    options.http.enforce_sunset = false;
    let fixture = Fixture::open_as(options);
    let pet = format!("/v1/pets/{}", fixture.pet());
    fixture.shop.clock.set("2031-06-01T00:00:00Z");
    is_deprecated(&fixture.client.get(&pet), 200);
}
