//! Keys: the headers that present a key, and the answers to invalid keys.

use std::time::Duration;

use petstore_domain::{ApiKey, KeyHolder, KeyId, KeyLabel, KeyPatch, Patch, Plan, Scopes, Timestamp};
use petstore_ports::api::{Administration, NewKey};
use serde_json::json;

use crate::harness::{Answer, Client, Shop};

const CHALLENGE: Option<&str> = Some("Bearer realm=\"petstore\"");
const INVALID_TOKEN: Option<&str> = Some("Bearer realm=\"petstore\", error=\"invalid_token\"");

/// A client whose key expires at this time, and the key's id.
fn key(shop: &Shop, expires_at: Option<&str>) -> (Client, KeyId) {
    let expires_at = expires_at.map(|end| Timestamp::parse(end).unwrap());
    let holder = KeyHolder::New { plan: Plan::Free };
    let new = NewKey { holder, label: KeyLabel::parse("").unwrap(), scopes: Scopes::DEFAULT, expires_at };
    let (client, made) = shop.client_for(new);
    (client, made.key.id)
}

/// The answer to a client that presents its key in these headers alone.
fn with(shop: &Shop, headers: &[(&str, &str)]) -> Answer {
    shop.anonymous().send("GET", "/v1/pets", headers, None)
}

#[track_caller]
fn is_401(answer: &Answer, code: &str, challenge: Option<&str>) {
    assert_eq!(answer.outcome(), (401, code.to_owned()));
    assert_eq!(answer.header("www-authenticate"), challenge);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[test]
fn a_key_comes_as_a_bearer_token_in_any_case_or_in_x_api_key() {
    let shop = Shop::open();
    let key = shop.client(Plan::Free).key.unwrap();
    for scheme in ["Bearer ", "bearer ", "BEARER ", "bEaReR   "] {
        assert_eq!(with(&shop, &[("authorization", &format!("{scheme}{key}"))]).status, 200, "{scheme}");
    }
    assert_eq!(with(&shop, &[("x-api-key", &key)]).status, 200);
    assert_eq!(with(&shop, &[("X-API-KEY", &format!("  {key}  "))]).status, 200);
}

#[test]
fn no_key_another_scheme_or_an_empty_token_is_a_missing_key() {
    let shop = Shop::open();
    let key = shop.client(Plan::Free).key.unwrap();
    let basic = format!("Basic {key}");
    let cases: [&[(&str, &str)]; 7] = [
        &[],
        &[("authorization", &basic)],
        &[("authorization", &key)],
        &[("authorization", "Bearer")],
        &[("authorization", "Bearer   ")],
        &[("authorization", "")],
        &[("x-api-key", "")],
    ];
    for headers in cases {
        is_401(&with(&shop, headers), "missing_api_key", CHALLENGE);
    }
}

#[test]
fn malformed_keys_and_keys_that_were_never_issued_are_invalid() {
    let shop = Shop::open();
    let key = shop.client(Plan::Free).key.unwrap();
    let invented = ApiKey::from_entropy([0xAB; 32]);
    let (shorter, longer, upper) = (&key[..52], format!("{key}0"), key.to_uppercase());
    for junk in ["x", "pet_", shorter, &longer, &upper, invented.reveal(), "\u{e9}", &"k".repeat(5_000)] {
        is_401(&with(&shop, &[("x-api-key", junk)]), "invalid_api_key", INVALID_TOKEN);
        let bearer = format!("Bearer {junk}");
        is_401(&with(&shop, &[("authorization", &bearer)]), "invalid_api_key", INVALID_TOKEN);
    }
}

#[test]
fn one_usable_key_is_the_key_however_often_it_is_repeated_and_whatever_stands_beside_it() {
    let shop = Shop::open();
    let key = shop.client(Plan::Business).key.unwrap();
    let bearer = format!("Bearer {key}");
    let joined = format!("{bearer}, {bearer}");
    let cases: [&[(&str, &str)]; 9] = [
        &[("authorization", &bearer), ("x-api-key", "")],
        &[("authorization", &bearer), ("x-api-key", &key)],
        &[("authorization", &bearer), ("authorization", &bearer)],
        &[("x-api-key", &key), ("x-api-key", &key), ("x-api-key", " ")],
        &[("authorization", "Basic abc"), ("x-api-key", &key)],
        &[("authorization", ""), ("x-api-key", &key)],
        &[("authorization", "Bearer "), ("authorization", "Bearer junk"), ("x-api-key", &key)],
        &[("x-api-key", "{{apiKey}}"), ("authorization", &bearer)],
        &[("authorization", &joined)],
    ];
    for headers in cases {
        let answer = with(&shop, headers);
        assert_eq!(answer.status, 200, "{headers:?}");
        assert_eq!(answer.header("x-ratelimit-resource"), Some("minute"));
    }
}

#[test]
fn two_different_usable_keys_are_ambiguous_and_without_one_the_first_value_is_judged() {
    let shop = Shop::open();
    let [one, other] = [(); 2].map(|()| shop.client(Plan::Free).key.unwrap());
    let nobodys = ApiKey::from_entropy([0xAB; 32]);
    let (bearer, others) = (format!("Bearer {one}"), format!("Bearer {other}"));
    let cases: [&[(&str, &str)]; 5] = [
        &[("authorization", &bearer), ("x-api-key", &other)],
        &[("authorization", &bearer), ("authorization", &others)],
        &[("x-api-key", &one), ("x-api-key", &other)],
        &[("authorization", &bearer), ("x-api-key", nobodys.reveal())],
        &[("authorization", &bearer), ("x-api-key", "junk"), ("x-api-key", &other), ("x-api-key", "")],
    ];
    for headers in cases {
        let answer = with(&shop, headers);
        assert_eq!(answer.outcome(), (400, "ambiguous_credentials".to_owned()), "{headers:?}");
        assert_eq!(answer.header("www-authenticate"), None);
    }
    for headers in [
        [("authorization", "Bearer junk"), ("x-api-key", "")],
        [("authorization", "Basic x"), ("x-api-key", "junk")],
    ] {
        is_401(&with(&shop, &headers), "invalid_api_key", INVALID_TOKEN);
    }
    is_401(&with(&shop, &[("authorization", "Basic x"), ("x-api-key", " ")]), "missing_api_key", CHALLENGE);
}

#[test]
fn the_query_is_never_read_for_a_key() {
    let shop = Shop::open();
    let key = shop.client(Plan::Free).key.unwrap();
    for parameter in ["api_key", "key", "access_token", "X-API-Key", "authorization"] {
        let answer = shop.anonymous().get(&format!("/v1/pets?{parameter}={key}"));
        is_401(&answer, "missing_api_key", CHALLENGE);
        assert!(!answer.text().contains(&key));
    }
}

#[test]
fn a_key_expires_to_the_millisecond() {
    let shop = Shop::open();
    let (client, _) = key(&shop, Some("2030-01-01T12:00:30.500Z"));
    shop.clock.set("2030-01-01T12:00:30.499Z");
    assert_eq!(client.get("/v1/pets").status, 200);
    shop.clock.set("2030-01-01T12:00:30.500Z");
    is_401(&client.get("/v1/pets"), "api_key_expired", INVALID_TOKEN);
}

#[test]
fn a_revoked_key_is_refused_from_the_next_request_on() {
    let shop = Shop::open();
    let (client, id) = key(&shop, Some("2030-01-01T12:00:30Z"));
    let mut caller = crate::fixture::Caller::of(&client);
    assert_eq!(caller.get("/v1/pets").status, 200);
    shop.block_on(shop.service.revoke_key(id)).unwrap();
    is_401(&caller.get("/v1/pets"), "api_key_revoked", INVALID_TOKEN);
    shop.clock.advance(Duration::from_mins(1));
    is_401(&caller.get("/v1/pets"), "api_key_revoked", INVALID_TOKEN);
}

#[test]
fn a_change_of_a_key_by_an_operator_is_in_force_at_once() {
    let shop = Shop::open();
    let (client, id) = key(&shop, None);
    let update = |patch| drop(shop.block_on(shop.service.update_key(id, patch)).unwrap());
    let new = json!({"name": "Dogs"});
    update(KeyPatch { scopes: Scopes::parse("read"), ..KeyPatch::default() });
    assert_eq!(client.post("/v1/categories", &new).outcome(), (403, "insufficient_scope".to_owned()));
    update(KeyPatch { scopes: Scopes::parse("write"), ..KeyPatch::default() });
    assert_eq!(client.post("/v1/categories", &new).status, 201);
    let end = Timestamp::parse(crate::harness::NOON).unwrap();
    update(KeyPatch { expires_at: Patch::Set(end), ..KeyPatch::default() });
    assert_eq!(client.post("/v1/categories", &new).outcome(), (401, "api_key_expired".to_owned()));
}

#[test]
fn a_rotated_key_stays_valid_for_the_overlap() {
    let shop = Shop::open();
    let (old, id) = key(&shop, None);
    let rotated = shop.block_on(shop.service.rotate_key(id, Duration::from_hours(1))).unwrap();
    let new = Client { key: Some(rotated.secret.reveal().to_owned()), ..old.clone() };
    // Both keys belong to one account, so they share its quota.
    assert_eq!(old.get("/v1/pets").number("x-ratelimit-remaining"), 59);
    assert_eq!(new.get("/v1/pets").number("x-ratelimit-remaining"), 58);
    shop.clock.advance(Duration::from_hours(1));
    is_401(&old.get("/v1/pets"), "api_key_expired", INVALID_TOKEN);
    assert_eq!(new.get("/v1/pets").status, 200);
}

#[test]
fn read_permits_get_and_head_and_write_everything_else() {
    let shop = Shop::open();
    let reader = shop.client_with(Plan::Business, Scopes::parse("read").unwrap());
    let writer = shop.client_with(Plan::Business, Scopes::parse("write").unwrap());
    let seen = ["/pets", "/pets/1", "/categories", "/categories/1", "/store/orders", "/store/orders/1"];
    let seen = seen.into_iter().chain(["/inventory", "/inventory/1", "/rate-limit"]);
    for (method, path) in seen.flat_map(|path| [("GET", path), ("HEAD", path)]) {
        let send = |client: &Client| client.send(method, &format!("/v1{path}"), &[], None).status;
        assert_eq!((send(&reader) == 403, send(&writer)), (false, 403), "{method} {path}");
    }
    let changed = [
        ("POST", "/pets"),
        ("PUT", "/pets/1"),
        ("PATCH", "/pets/1"),
        ("DELETE", "/pets/1"),
        ("POST", "/categories"),
        ("PUT", "/categories/1"),
        ("PATCH", "/categories/1"),
        ("DELETE", "/categories/1"),
        ("POST", "/store/orders"),
        ("PATCH", "/store/orders/1"),
        ("DELETE", "/store/orders/1"),
        ("PATCH", "/inventory/1"),
        ("POST", "/inventory/1/adjustments"),
    ];
    for (method, path) in changed {
        let send = |client: &Client| client.send(method, &format!("/v1{path}"), &[], Some(&json!({})));
        assert_eq!(send(&reader).outcome(), (403, "insufficient_scope".to_owned()), "{method} {path}");
        assert_ne!(send(&writer).status, 403, "{method} {path}");
    }
}

#[test]
fn answers_without_a_key_do_not_show_which_resources_exist() {
    let shop = Shop::open();
    let anonymous = shop.anonymous();
    for (method, path) in [
        ("GET", "/v1/pets/1"),
        ("GET", "/v1/nothing"),
        ("GET", "/v1/"),
        ("GET", "/v1"),
        ("TRACE", "/v1/pets"),
        ("BREW", "/v1/nothing"),
        ("POST", "/v1/pets/1"),
    ] {
        let answer = anonymous.send(method, path, &[], None);
        is_401(&answer, "missing_api_key", CHALLENGE);
    }
}

#[test]
fn several_keys_may_be_used_on_one_connection() {
    let shop = Shop::open();
    let clients =
        [shop.client(Plan::Free), shop.client(Plan::Pro), shop.anonymous(), shop.client(Plan::Free)];
    let mut connection = crate::harness::Connection::open(shop.address());
    for used in 1..=20 {
        for (client, limit, resource) in [
            (&clients[0], 60, "minute"),
            (&clients[1], 300, "minute"),
            (&clients[2], 300, "address"),
            (&clients[3], 60, "minute"),
        ] {
            connection.send(&crate::fixture::request(client, "GET", "/v1/pets", &[], b""));
            let answer = connection.read_answer(false).unwrap();
            assert_eq!(answer.header("x-ratelimit-resource"), Some(resource));
            assert_eq!(answer.number("x-ratelimit-limit"), limit);
            assert_eq!(answer.number("x-ratelimit-remaining"), limit - used);
        }
    }
}

#[test]
fn no_answer_repeats_the_key() {
    let shop = Shop::open();
    let client = shop.client(Plan::Free);
    let key = client.key.clone().unwrap();
    for answer in [
        client.get("/v1/pets"),
        client.get("/v1/nothing"),
        client.send("GET", "/v1/pets", &[("x-api-key", &key)], None),
        client.send("GET", "/v1/pets", &[("host", &key)], None),
    ] {
        let headers = format!("{:?}", answer.headers);
        assert!(!headers.contains(&key) && !answer.text().contains(&key), "{headers}");
    }
}
