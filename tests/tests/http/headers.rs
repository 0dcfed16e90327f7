//! The headers of every answer.

use std::collections::HashSet;

use petstore_domain::Plan;
use serde_json::json;

use crate::fixture::{Fixture, request};
use crate::harness::{Answer, Connection, Shop};

/// One answer of each kind, from 200 to 415.
fn answers(fixture: &Fixture) -> Vec<Answer> {
    let client = &fixture.client;
    let pet = format!("/v1/pets/{}", fixture.pet());
    let tag = client.get(&pet).header("etag").unwrap().to_owned();
    vec![
        client.get("/v1/pets"),
        client.get(&pet),
        client.send("GET", &pet, &[("if-none-match", &tag)], None),
        client.post("/v1/categories", &json!({"name": "Cats"})),
        client.delete("/v1/categories/2"),
        client.get("/v1/rate-limit"),
        client.get("/v1/pets/999"),
        client.get("/v1/pets?x=1"),
        client.send("TRACE", "/v1/pets", &[], None),
        client.send("OPTIONS", "/v1/pets", &[], None),
        client.send("POST", "/v1/pets", &[], None),
        client.send("GET", "/v1/pets", &[("host", "second")], None),
        client.get(&format!("/v1/pets?{}", "x".repeat(9_000))),
        fixture.shop.anonymous().get("/v1/pets"),
        client.get("/health"),
        client.get("/ready"),
        client.get("/openapi.yaml"),
        client.get("/docs"),
        client.get("/docs/nothing"),
        client.get("/nothing"),
    ]
}

#[test]
fn nosniff_is_on_every_answer_and_server_and_date_show_no_version() {
    for answer in answers(&Fixture::open()) {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer:?}");
        assert_eq!((answer.header("server"), answer.header("x-powered-by")), (None, None));
    }
}

#[test]
fn an_answer_with_a_tag_must_be_revalidated_and_no_other_may_be_stored() {
    for answer in answers(&Fixture::open()) {
        let expected = if answer.header("etag").is_some() { "private, no-cache" } else { "no-store" };
        assert_eq!(answer.header("cache-control"), Some(expected), "{answer:?}");
    }
}

#[test]
fn an_answer_under_the_base_path_varies_by_the_key() {
    let fixture = Fixture::open();
    for answer in answers(&fixture).iter().take(14) {
        let vary =
            answer.header("vary").unwrap_or_else(|| panic!("no Vary in {answer:?}")).to_ascii_lowercase();
        assert!(vary.contains("authorization") && vary.contains("x-api-key"), "{vary}");
    }
}

#[test]
fn a_good_request_id_comes_back_and_another_is_replaced() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    let longest = "x".repeat(64);
    for id in ["a", "checkout-7f3a.1", "A_b-c.9", &longest] {
        for path in ["/v1/pets", "/v1/nothing", "/health"] {
            let answer = client.send("GET", path, &[("x-request-id", id)], None);
            assert_eq!(answer.header("x-request-id"), Some(id));
        }
    }
    let (longer, key) = ("x".repeat(65), client.key.as_deref().unwrap());
    // The first two values contain the whole key; the last one does not.
    let [before, behind, near] =
        [format!("pet_.{key}"), format!("{key}.checkout"), format!("a.{}", &key[1..])];
    for id in [&near, &key[..12], &format!("a.{}-1", &key[..12])] {
        let answer = client.send("GET", "/v1/pets", &[("x-request-id", id)], None);
        assert_eq!(answer.header("x-request-id"), Some(id));
    }
    let mut beginnings = vec!["a.pet_4fW1abcDe".to_owned(), "pet_4fW1abcDefG-1".to_owned()];
    beginnings.extend([24, 30, 52].map(|length| format!("a.{}", &key[..length])));
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let mut refused =
        vec!["", "two words", "a/b", "a:b", "\u{e9}", "<script>", &longer, key, &before, &behind, secret];
    refused.extend(beginnings.iter().map(|id| &**id));
    for id in refused {
        let answer = client.send("GET", "/v1/pets", &[("x-request-id", id)], None);
        assert_eq!(answer.status, 200, "it is never a fault");
        let made = answer.header("x-request-id").unwrap();
        assert_ne!(made, id);
        assert!(is_request_id(made), "{made}");
    }
}

fn is_request_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

#[test]
fn every_answer_has_a_unique_request_id() {
    let fixture = Fixture::open();
    let mut seen = HashSet::new();
    for _ in 0..5 {
        for answer in answers(&fixture) {
            let id = answer.header("x-request-id").unwrap_or_else(|| panic!("no id in {answer:?}"));
            assert!(is_request_id(id) && seen.insert(id.to_owned()), "{id}");
        }
        // The requests can be repeated, because they delete the category that they create.
    }
}

#[test]
fn an_answer_without_content_has_no_content_type() {
    let fixture = Fixture::open();
    for answer in answers(&fixture) {
        let has_body = !matches!(answer.status, 204 | 304);
        assert_eq!(answer.header("content-type").is_some(), has_body, "{answer:?}");
        if has_body {
            assert_eq!(answer.number("content-length"), answer.body.len() as u64);
        }
    }
}

#[test]
fn the_contract_is_served_in_both_forms() {
    let shop = Shop::open();
    let yaml = shop.anonymous().get("/openapi.yaml");
    assert_eq!((yaml.status, yaml.header("content-type")), (200, Some("application/yaml")));
    assert_eq!(yaml.text(), crate::harness::OPENAPI);
    let json = shop.anonymous().get("/openapi.json");
    assert_eq!((json.status, json.header("content-type")), (200, Some("application/json")));
}

#[test]
fn each_answer_has_its_own_headers_however_late_its_client_reads() {
    let fixture = Fixture::open();
    for number in 0..80 {
        let category = json!({"name": format!("c{number}"), "description": "x".repeat(1_000)});
        assert_eq!(fixture.client.post("/v1/categories", &category).status, 201);
    }
    // The answers total 24 MB, more than the buffers between client and server hold. Some are short, some are long, and
    // some follow a 100.
    let asked = |number: usize| match number % 4 {
        0 => ("GET", "/v1/categories?limit=1", 1),
        1 => ("GET", "/v1/categories?limit=10", 10),
        2 => ("GET", "/v1/categories?limit=80", 80),
        _ => ("POST", "/v1/categories", 0),
    };
    let mut connection = Connection::open(fixture.client.address);
    let mut batch = Vec::new();
    for number in 0..1_000 {
        let (method, path, items) = asked(number);
        let id = number.to_string();
        let body =
            if items == 0 { json!({"name": format!("made{number}")}).to_string() } else { String::new() };
        let expects = [("x-request-id", id.as_str()), ("expect", "100-continue")];
        let headers = if items == 0 { &expects[..] } else { &expects[..1] };
        batch.extend(request(&fixture.client, method, path, headers, body.as_bytes()));
    }
    connection.send(&batch);
    // Another client is served meanwhile, and does not get any answer of this connection.
    for _ in 0..20 {
        assert_eq!(fixture.client.get("/v1/categories?limit=10").json().as_array().unwrap().len(), 10);
    }
    for number in 0..1_000 {
        let mut answer = connection.read_answer(false).unwrap();
        if answer.status == 100 {
            assert_eq!(answer.headers, [], "{number}");
            answer = connection.read_answer(false).unwrap();
        }
        let (_, _, items) = asked(number);
        assert_eq!(answer.header("x-request-id"), Some(number.to_string().as_str()));
        for name in
            ["date", "vary", "etag", "content-type", "x-ratelimit-remaining", "x-content-type-options"]
        {
            assert!(answer.header(name).is_some(), "{number}: {name}");
        }
        match items {
            0 => {
                assert_eq!((answer.status, answer.header("link")), (201, None));
                assert_eq!(answer.json()["name"], format!("made{number}"));
                let id = answer.json()["id"].to_string();
                assert_eq!(answer.header("location"), Some(format!("/v1/categories/{id}").as_str()));
            }
            items => {
                assert_eq!((answer.status, answer.header("location")), (200, None));
                assert!(answer.header("link").is_some());
                assert_eq!(answer.json().as_array().unwrap().len(), items);
            }
        }
    }
}
