//! Idempotency keys: a request that is sent again has one effect and one answer.

use std::time::Duration;

use petstore_domain::Scopes;
use petstore_service::Policy;
use serde_json::{Value, json};

use crate::faulty::shop_with_write_barrier;
use crate::fixture::{Fixture, PLENTY, ids};
use crate::harness::{Answer, Client, PATIENT, ShopOptions};

const KEY: &str = "idempotency-key";

fn post(client: &Client, path: &str, key: &str, body: &Value) -> Answer {
    client.send("POST", path, &[(KEY, key)], Some(body))
}

fn is_replayed(answer: &Answer) -> bool {
    let replayed = answer.header("idempotent-replayed");
    assert!(matches!(replayed, None | Some("true")));
    replayed.is_some()
}

/// The parts of the first answer that a replay repeats.
fn kept(answer: &Answer) -> (u16, Vec<u8>, Option<&str>, Option<&str>) {
    (answer.status, answer.body.clone(), answer.header("location"), answer.header("etag"))
}

#[test]
fn every_post_is_replayed_under_its_key() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(100);
    let posts = [
        ("/v1/pets".to_owned(), json!({"name": "Rex", "categoryId": fixture.category}), 201),
        ("/v1/categories".to_owned(), json!({"name": "Cats"}), 201),
        ("/v1/store/orders".to_owned(), json!({"petId": pet, "quantity": 2}), 201),
        (format!("/v1/inventory/{pet}/adjustments"), json!({"delta": 5}), 200),
    ];
    for (path, body, status) in &posts {
        let first = post(&fixture.client, path, "once", body);
        assert_eq!((first.status, is_replayed(&first)), (*status, false), "{path}");
        for later in 1..4 {
            let again = post(&fixture.client, path, "once", body);
            assert_eq!(kept(&again), kept(&first), "{path}");
            assert!(is_replayed(&again));
            let left = |answer: &Answer| answer.number("x-ratelimit-remaining");
            assert_eq!(left(&again), left(&first) - later, "the quota headers are fresh");
            assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
        }
    }
    assert_eq!(fixture.state(pet), ("available".to_owned(), 103), "ordered once, adjusted once");
    assert_eq!(ids(&fixture.client.get("/v1/pets")).len(), 2);
    assert_eq!(ids(&fixture.client.get("/v1/categories")).len(), 2);
}

#[test]
fn the_first_answer_is_replayed_whatever_has_changed_since() {
    let fixture = Fixture::open();
    let new = json!({"name": "Rex", "categoryId": fixture.category});
    let first = post(&fixture.client, "/v1/pets", "once", &new);
    let path = first.header("location").unwrap();
    fixture.client.patch(path, &json!({"name": "Max"}));
    assert_eq!(kept(&post(&fixture.client, "/v1/pets", "once", &new)), kept(&first));
    fixture.client.delete(path);
    assert_eq!(kept(&post(&fixture.client, "/v1/pets", "once", &new)), kept(&first));
}

#[test]
fn another_body_under_the_same_key_is_422() {
    let fixture = Fixture::open();
    post(&fixture.client, "/v1/categories", "once", &json!({"name": "Cats"}));
    for other in ["{\"name\":\"cats\"}", "{\"name\": \"Cats\"}", "{\"name\":\"Cats\"}\n"] {
        let headers = [(KEY, "once"), ("content-type", "application/json")];
        let answer = fixture.client.send_bytes("POST", "/v1/categories", &headers, Some(other.as_bytes()));
        assert_eq!(answer.outcome(), (422, "idempotency_key_reused".to_owned()), "its bytes count: {other}");
        assert!(!is_replayed(&answer));
    }
}

#[test]
fn a_quoted_key_equals_the_bare_one() {
    let fixture = Fixture::open();
    let body = json!({"name": "Cats"});
    let first = post(&fixture.client, "/v1/categories", "a-key", &body);
    let quoted = post(&fixture.client, "/v1/categories", "\"a-key\"", &body);
    assert!(is_replayed(&quoted));
    assert_eq!(kept(&quoted), kept(&first));
}

#[test]
fn keys_are_1_to_255_visible_characters_once() {
    let fixture = Fixture::open();
    let longest = ["k".repeat(255), format!("\"{}\"", "q".repeat(255))];
    for (index, key) in longest.iter().map(String::as_str).chain(["!", "~", "a\"b", "\"a~b\""]).enumerate() {
        let answer = post(&fixture.client, "/v1/categories", key, &json!({"name": format!("c{index}")}));
        assert_eq!(answer.status, 201, "{key:.20}");
    }
    let longer = ["k".repeat(256), format!("\"{}\"", "k".repeat(256))];
    let malformed =
        ["", "\"\"", "\"", "\"abc", "two words", "\"two words\"", "\u{e9}", "a\tb", "\"a\"b\"", "\"a\\b\""];
    for key in longer.iter().map(String::as_str).chain(malformed) {
        let answer = post(&fixture.client, "/v1/categories", key, &json!({"name": "Birds"}));
        assert_eq!(answer.outcome(), (400, "invalid_header".to_owned()), "{key:.20}");
    }
    let twice = [(KEY, "a"), (KEY, "a")];
    let answer = fixture.client.send("POST", "/v1/categories", &twice, Some(&json!({"name": "Birds"})));
    assert_eq!(answer.outcome(), (400, "invalid_header".to_owned()));
}

#[test]
fn a_record_is_replayed_for_24_hours() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(10);
    let path = format!("/v1/inventory/{pet}/adjustments");
    let adjust = || post(&fixture.client, &path, "once", &json!({"delta": 1}));
    adjust();
    fixture.shop.clock.set("2030-01-02T11:59:59.999Z");
    assert!(is_replayed(&adjust()), "a replay does not prolong it");
    fixture.shop.clock.set("2030-01-02T12:00:00.000Z");
    assert!(!is_replayed(&adjust()));
    assert_eq!(fixture.state(pet).1, 12);
    fixture.shop.clock.set("2030-01-03T11:59:59.999Z");
    assert!(is_replayed(&adjust()));
}

#[test]
fn a_409_is_recorded_and_a_400_or_404_is_not() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(1);
    // A refusal because of the shop's state is recorded. It is replayed even after the category's name, the pet's
    // status and the stock have changed.
    let taken = json!({"name": "dogs"});
    let two = json!({"petId": pet, "quantity": 2});
    let minus = json!({"delta": -2});
    let adjustments = format!("/v1/inventory/{pet}/adjustments");
    let sold = fixture.pet();
    fixture.set_stock(sold, 0);
    let one_sold = json!({"petId": sold});
    let conflicts = [
        ("/v1/categories", "a", &taken, "category_exists"),
        ("/v1/store/orders", "b", &two, "insufficient_stock"),
        ("/v1/store/orders", "c", &one_sold, "pet_not_available"),
        (adjustments.as_str(), "d", &minus, "insufficient_stock"),
    ];
    let firsts = conflicts.map(|(path, key, body, code)| {
        let first = post(&fixture.client, path, key, body);
        assert_eq!((first.outcome(), is_replayed(&first)), ((409, code.to_owned()), false));
        first
    });
    fixture.client.patch(&format!("/v1/categories/{}", fixture.category), &json!({"name": "Hounds"}));
    fixture.set_stock(pet, 50);
    fixture.set_stock(sold, 50);
    for ((path, key, body, _), first) in conflicts.into_iter().zip(&firsts) {
        let again = post(&fixture.client, path, key, body);
        assert_eq!((kept(&again), is_replayed(&again)), (kept(first), true), "{path} {key}");
        assert!(
            post(&fixture.client, path, &format!("{key}2"), body).status < 300,
            "another key is decided again"
        );
    }
    // A refusal because of a missing resource is not recorded, because the resource may exist at the next attempt.
    let next = fixture.pet() + 1;
    let retried = [
        ("/v1/store/orders".to_owned(), json!({"petId": next}), 400, 201),
        (format!("/v1/inventory/{next}/adjustments"), json!({"delta": 7}), 404, 200),
    ];
    for (path, body, refused, _) in &retried {
        assert_eq!(post(&fixture.client, path, "e", body).status, *refused);
    }
    assert_eq!(fixture.pet(), next);
    for (path, body, _, done) in &retried {
        let answer = post(&fixture.client, path, "e", body);
        assert_eq!((answer.status, is_replayed(&answer)), (*done, false), "{path}");
    }
    // A refusal of an invalid body is not recorded either, so the corrected body is accepted under the same key.
    assert_eq!(post(&fixture.client, "/v1/categories", "f", &json!({"name": ""})).status, 400);
    assert_eq!(post(&fixture.client, "/v1/categories", "f", &json!({"name": "Fish"})).status, 201);
}

#[test]
fn a_key_is_unique_within_an_account_and_a_path() {
    let fixture = Fixture::open();
    let (one, two) = (fixture.pet_of(10), fixture.pet_of(10));
    let delta = json!({"delta": 1});
    let path = |pet| format!("/v1/inventory/{pet}/adjustments");
    let other = fixture.shop.client_with(PLENTY, Scopes::DEFAULT);
    for (client, path) in [(&fixture.client, path(one)), (&fixture.client, path(two)), (&other, path(one))] {
        assert!(!is_replayed(&post(client, &path, "once", &delta)));
        assert!(is_replayed(&post(client, &path, "once", &delta)));
    }
    assert_eq!((fixture.state(one).1, fixture.state(two).1), (12, 11));
    let new = json!({"name": "Cats"});
    assert_eq!(post(&fixture.client, "/v1/categories", "once", &new).status, 201);
}

#[test]
fn while_the_first_is_running_the_second_is_409() {
    let (shop, barrier) = shop_with_write_barrier(ShopOptions::default());
    let fixture = Fixture::open_in(shop);
    let new = json!({"name": "Cats"});
    barrier.close();
    let first = std::thread::scope(|scope| {
        let first = scope.spawn(|| post(&fixture.client, "/v1/categories", "once", &new));
        barrier.wait_for_one();
        for _ in 0..3 {
            let second = post(&fixture.client, "/v1/categories", "\"once\"", &new);
            assert_eq!(second.outcome(), (409, "idempotency_in_progress".to_owned()));
            assert!(!is_replayed(&second));
        }
        barrier.open();
        first.join().unwrap()
    });
    assert_eq!((first.status, is_replayed(&first)), (201, false));
    let third = post(&fixture.client, "/v1/categories", "once", &new);
    assert_eq!((kept(&third), is_replayed(&third)), (kept(&first), true), "the 409 was not recorded");
}

#[test]
fn a_request_whose_client_disconnected_may_be_sent_again() {
    let (shop, barrier) = shop_with_write_barrier(ShopOptions::default());
    let fixture = Fixture::open_in(shop);
    let new = json!({"name": "Cats"});
    barrier.close();
    let mut lost = crate::harness::Connection::open(fixture.client.address);
    let body = new.to_string();
    lost.send(&crate::fixture::request(
        &fixture.client,
        "POST",
        "/v1/categories",
        &[(KEY, "once")],
        body.as_bytes(),
    ));
    barrier.wait_for_one();
    drop(lost);
    barrier.open();
    // The client does not know whether its first request took effect. Either the first request has created the
    // category, or the repeated request creates it.
    let answers =
        std::iter::repeat_with(|| post(&fixture.client, "/v1/categories", "once", &new)).take(1_000);
    let answer = answers.into_iter().find(|answer| answer.status != 409).expect("it does not run for ever");
    assert_eq!(answer.status, 201);
    assert_eq!(ids(&fixture.client.get("/v1/categories")).len(), 2);
}

#[test]
fn of_32_at_once_under_one_key_one_has_an_effect() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(1_000);
    let body = json!({"petId": pet, "quantity": 3});
    for round in 0..5 {
        let key = format!("round-{round}");
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..32)
                .map(|_| scope.spawn(|| post(&fixture.client, "/v1/store/orders", &key, &body)))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let made: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
        assert_eq!(made.iter().filter(|answer| !is_replayed(answer)).count(), 1);
        assert!(made.iter().all(|answer| kept(answer) == kept(made[0])));
        for refused in answers.iter().filter(|answer| answer.status != 201) {
            assert_eq!(refused.outcome(), (409, "idempotency_in_progress".to_owned()));
        }
        assert_eq!(fixture.state(pet).1, 1_000 - 3 * (round + 1));
    }
}

#[test]
fn an_account_at_its_limit_of_live_records_gets_503() {
    let policy =
        Policy { idempotency_records_max: 2, idempotency_lifetime: Duration::from_mins(10), ..PATIENT };
    let fixture = Fixture::open_as(ShopOptions { policy, ..ShopOptions::default() });
    let make = |client: &Client, key: &str| {
        post(
            client,
            "/v1/categories",
            key,
            &json!({"name": format!("c {key} {:?}", client.key)[..20].to_owned()}),
        )
    };
    assert_eq!([make(&fixture.client, "1").status, make(&fixture.client, "2").status], [201, 201]);
    let refused = make(&fixture.client, "3");
    assert_eq!(refused.outcome(), (503, "overloaded".to_owned()));
    assert!((1..=2).contains(&refused.number("retry-after")));
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("Idempotency-Key"),
        "the message is about the key, not about overload: {message}"
    );
    assert!(is_replayed(&make(&fixture.client, "1")), "no record is dropped early");
    assert_eq!(fixture.client.post("/v1/categories", &json!({"name": "Birds"})).status, 201, "without a key");
    let other = fixture.shop.client(PLENTY);
    assert_eq!(post(&other, "/v1/categories", "3", &json!({"name": "Fish"})).status, 201, "another account");
}

#[test]
fn other_methods_ignore_a_key() {
    let fixture = Fixture::open();
    let path = format!("/v1/pets/{}", fixture.pet());
    for name in ["Max", "Tom"] {
        let answer = fixture.client.send("PATCH", &path, &[(KEY, "once")], Some(&json!({"name": name})));
        assert_eq!((answer.json()["name"].clone(), is_replayed(&answer)), (json!(name), false));
    }
    assert_eq!(fixture.client.send("GET", &path, &[(KEY, "two words")], None).status, 200);
}
