//! Methods and paths of operations, and unknown ones.

use std::collections::BTreeSet;

use petstore_domain::Plan;
use serde_json::json;

use crate::fixture::Fixture;
use crate::harness::{Shop, ShopOptions};

#[test]
fn other_methods_are_405_with_allow() {
    let fixture = Fixture::open();
    fixture.pet();
    let methods = [
        "GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "BREW", "get", "Post", "PROPFIND",
        "QUERY",
    ];
    for (path, allowed) in [
        ("/v1/pets", "GET HEAD POST OPTIONS"),
        ("/v1/pets/1", "GET HEAD PUT PATCH DELETE OPTIONS"),
        ("/v1/categories", "GET HEAD POST OPTIONS"),
        ("/v1/categories/1", "GET HEAD PUT PATCH DELETE OPTIONS"),
        ("/v1/store/orders", "GET HEAD POST OPTIONS"),
        ("/v1/store/orders/1", "GET HEAD PATCH DELETE OPTIONS"),
        ("/v1/inventory", "GET HEAD OPTIONS"),
        ("/v1/inventory/1", "GET HEAD PATCH OPTIONS"),
        ("/v1/inventory/1/adjustments", "POST OPTIONS"),
        ("/v1/rate-limit", "GET HEAD OPTIONS"),
    ] {
        let allowed: BTreeSet<_> = allowed.split(' ').collect();
        for method in methods.iter().filter(|method| !allowed.contains(**method)) {
            let answer = fixture.client.send(method, path, &[], None);
            assert_eq!(answer.outcome(), (405, "method_not_allowed".to_owned()), "{method} {path}");
            let told: BTreeSet<_> = answer.header("allow").unwrap().split(", ").collect();
            assert_eq!(told, allowed, "{path}");
        }
    }
    for method in ["POST", "TRACE", "BREW"] {
        let answer = fixture.client.send(method, "/health", &[], None);
        assert_eq!(answer.outcome(), (405, "method_not_allowed".to_owned()));
        assert_eq!(answer.header("allow"), Some("GET, HEAD, OPTIONS"));
    }
}

#[test]
fn trace_does_not_echo_the_request() {
    let shop = Shop::open();
    let client = shop.client(Plan::Free);
    let answer = client.send("TRACE", "/v1/pets", &[("cookie", "a-secret")], None);
    assert_eq!(answer.status, 405);
    assert!(!answer.text().contains("a-secret") && !answer.text().contains(client.key.as_deref().unwrap()));
}

#[test]
fn a_tunnel_is_not_opened() {
    let shop = Shop::open();
    let client = shop.client(Plan::Free);
    let key = client.key.as_deref().unwrap();
    let connect = |target: &str, host: &str| {
        let request = format!(
            "CONNECT {target} HTTP/1.1\r\nhost: {host}\r\nx-api-key: {key}\r\nconnection: close\r\n\r\n"
        );
        client.exchange(request.as_bytes(), false)
    };
    assert_eq!(connect("/v1/pets", "pets").outcome(), (405, "method_not_allowed".to_owned()));
    assert_eq!(connect("pets.example:443", "pets.example:443").outcome(), (404, "not_found".to_owned()));
    assert_eq!(connect("evil.example:443", "pets.example").outcome(), (400, "invalid_host".to_owned()));
}

#[test]
fn head_is_get_without_a_body() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(2);
    let order = fixture.order(pet, 1);
    for path in [
        "/v1/pets".to_owned(),
        format!("/v1/pets/{pet}"),
        "/v1/pets/999".to_owned(),
        "/v1/pets?limit=0".to_owned(),
        "/v1/nothing".to_owned(),
        "/v1/categories".to_owned(),
        format!("/v1/categories/{}", fixture.category),
        "/v1/store/orders".to_owned(),
        format!("/v1/store/orders/{order}"),
        "/v1/inventory".to_owned(),
        format!("/v1/inventory/{pet}"),
        "/v1/rate-limit".to_owned(),
        "/health".to_owned(),
        "/ready".to_owned(),
        "/openapi.yaml".to_owned(),
    ] {
        let get = fixture.client.get(&path);
        let mut connection = crate::harness::Connection::open(fixture.client.address);
        connection.send(&crate::fixture::request(&fixture.client, "HEAD", &path, &[], b""));
        let head = connection.read_answer(true).unwrap();
        assert_eq!(head.status, get.status, "{path}");
        for header in ["content-type", "content-length", "etag", "cache-control", "link", "deprecation"] {
            assert_eq!(head.header(header), get.header(header), "{header} of {path}");
        }
        // No body follows the head, so the next answer begins directly after it.
        connection.send(&crate::fixture::request(
            &fixture.client,
            "GET",
            "/health",
            &[("connection", "close")],
            b"",
        ));
        assert_eq!(connection.read_answer(false).unwrap().json(), json!({"status": "ok"}), "{path}");
    }
}

#[test]
fn paths_are_not_normalised() {
    let fixture = Fixture::open();
    let pet = fixture.pet();
    for path in
        ["/v1/Pets", "/v1/pets/", "/v1//pets", "/v1/pets/1/", "/v1/pets//1", "/v1/./pets", "/v1/x/../pets"]
            .into_iter()
            .chain([
                "/v1/pets/.",
                "/v1/pets/..",
                "/v1/pets/%2e%2e",
                "/v1/pets/%2E",
                "/v1",
                "/v1/",
                "/v1/pets%2F1",
            ])
            .chain([
                "/v1/pets/1/2",
                "/v1/store",
                "/v1/orders",
                "/v1/pets/%",
                "/v1/pets/%zz",
                "/v1/pets/%ff",
                "/v1/pets;a=b",
            ])
            .chain([
                "/v1/inventory/1/Adjustments",
                "/v1/inventory/1%2Fadjustments",
                "/v1/store%2forders",
                "/v1%2Fpets",
                "/v1/store/orders/1/2/3/4/5",
            ])
    {
        let answer = fixture.client.get(path);
        assert_eq!(answer.outcome(), (404, "not_found".to_owned()), "{path}");
        assert_eq!(answer.header("location"), None, "there is no redirect");
    }
    // The server decodes percent-encoding exactly once.
    assert_eq!(fixture.client.get(&format!("/v1/%70et%73/%3{pet}")).status, 200);
    assert_eq!(
        fixture.client.get(&format!("/v1/pets/%253{pet}")).outcome(),
        (400, "invalid_parameter".to_owned())
    );
}

#[test]
fn outside_the_base_path_the_404_names_it() {
    let shop = Shop::open();
    for path in ["/pets", "/v1x/pets", "/V1/pets", "/v2/pets", "/Health", "/health/", "/healthz"] {
        let answer = shop.anonymous().get(path);
        assert_eq!(answer.outcome(), (404, "not_found".to_owned()), "{path}");
        assert!(answer.json()["message"].as_str().unwrap().contains("/v1"), "{}", answer.text());
    }
}

#[test]
fn the_base_path_is_a_setting() {
    let mut options = ShopOptions::default();
    options.http.base_path = "/shop/api".to_owned();
    let shop = Shop::open_as(options);
    let client = shop.client(Plan::Business);
    let made = client.post("/shop/api/categories", &json!({"name": "Dogs"}));
    assert_eq!(made.header("location"), Some("/shop/api/categories/1"));
    assert_eq!(client.get("/shop/api/categories/1").status, 200);
    let outside = client.get("/v1/categories");
    assert_eq!(outside.outcome(), (404, "not_found".to_owned()));
    assert!(outside.json()["message"].as_str().unwrap().contains("/shop/api"));
    assert_eq!(client.get("/shop/pets").status, 404);
    assert!(
        client.get("/shop/api/pets/1").link("successor-version").unwrap().contains("/shop/api/pets?id=1")
    );
}

#[test]
fn the_base_path_may_be_empty() {
    let mut options = ShopOptions::default();
    options.http.base_path = String::new();
    let shop = Shop::open_as(options);
    let client = shop.client(Plan::Business);
    assert_eq!(
        client.post("/categories", &json!({"name": "Dogs"})).header("location"),
        Some("/categories/1")
    );
    assert_eq!(client.get("/nothing").outcome(), (404, "not_found".to_owned()));
    for path in ["/health", "/ready", "/openapi.yaml", "/openapi.json", "/docs"] {
        assert_eq!(shop.anonymous().get(path).status, 200, "{path}");
    }
}
