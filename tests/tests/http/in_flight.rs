//! The limit on requests of one account in flight.

use petstore_domain::{Limit, Limits, Plan};
use petstore_service::Policy;

use crate::fixture::hold;
use crate::harness::{PATIENT, Shop, ShopOptions};

/// A body that the server refuses. The request has no effect, so it can be sent repeatedly.
const BODY: &[u8] = b"{\"name\": 1}";

#[test]
fn the_101st_is_refused_without_a_count_or_a_strike() {
    let shop = Shop::open();
    let client = shop.client(Plan::Pro);
    let mut held: Vec<_> = (0..100).map(|_| hold(&client, BODY)).collect();
    // The number exceeds the strikes that the ban rule allows, so the test shows that these refusals are not strikes.
    for _ in 0..310 {
        let refused = client.get("/v1/pets");
        assert_eq!(refused.outcome(), (429, "too_many_concurrent_requests".to_owned()));
        assert_eq!(refused.number("retry-after"), 1);
        assert_eq!(refused.number("x-ratelimit-remaining"), 200);
        assert_eq!(refused.header("x-ratelimit-resource"), Some("minute"));
    }
    assert_eq!(client.get("/v1/rate-limit").status, 429, "it is a request too");
    // Another account is not affected.
    assert_eq!(shop.client(Plan::Free).get("/v1/pets").status, 200);
    for connection in &mut held {
        connection.send(BODY);
        assert_eq!(connection.read_answer(false).unwrap().outcome(), (400, "validation_failed".to_owned()));
    }
    let answer = client.get("/v1/pets");
    assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (200, 199));
}

#[test]
fn a_place_is_released_when_the_client_disconnects() {
    let policy = Policy { in_flight_max: 2, ..PATIENT };
    let shop = Shop::open_as(ShopOptions { policy, ..ShopOptions::default() });
    let client = shop.client(Plan::Business);
    let held = [hold(&client, BODY), hold(&client, BODY)];
    assert_eq!(client.get("/v1/pets").status, 429);
    drop(held);
    // The server notices the disconnect without another request. Until then it refuses, which costs the client nothing.
    let mut answers = std::iter::repeat_with(|| client.get("/v1/pets")).take(5_000);
    assert!(answers.any(|answer| answer.status == 200));
    let _held = [hold(&client, BODY), hold(&client, BODY)];
    assert_eq!(client.get("/v1/pets").status, 429);
}

#[test]
fn requests_in_flight_are_checked_before_ban_and_quota() {
    let policy = Policy { in_flight_max: 1, ..PATIENT };
    let shop = Shop::open_as(ShopOptions { policy, ..ShopOptions::default() });
    let one = Limit::new(1).unwrap();
    let client = shop.client(Plan::Enterprise(Limits { minute: one, day: Limit::new(100).unwrap() }));
    let mut held = hold(&client, BODY);
    assert_eq!(client.get("/v1/pets").outcome(), (429, "too_many_concurrent_requests".to_owned()));
    held.send(BODY);
    held.read_answer(false).unwrap();
    for _ in 0..10 {
        assert_eq!(client.get("/v1/pets").outcome(), (429, "rate_limit_exceeded".to_owned()));
    }
    assert_eq!(client.get("/v1/pets").outcome(), (403, "key_banned".to_owned()));
}
