//! Answers when a port fails, without the details of the failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use petstore_domain::{Plan, Timestamp};
use petstore_memory::MemoryStore;
use petstore_ports::StoreError;
use petstore_ports::api::{ClockChange, ClockState, Sandbox};
use petstore_service::{OnQuotaOutage, Policy, Ports};
use serde_json::json;

use crate::faulty::{
    FailingPort, FailureMode, PanickingTransactor, shop_with_write_barrier, shop_without_pets,
};
use crate::fixture::{Caller, PLENTY, request};
use crate::harness::{Answer, Connection, PATIENT, Shop, ShopOptions};

fn down() -> FailureMode {
    FailureMode::Fails(StoreError::unavailable("connection to 10.0.0.7 refused"))
}

#[track_caller]
fn is_503(answer: &Answer, code: &str) {
    assert_eq!(answer.outcome(), (503, code.to_owned()));
    assert!((1..=2).contains(&answer.number("retry-after")));
}

#[test]
fn a_store_that_never_answers_is_a_503_in_time_and_reads_go_on() {
    let mut options = ShopOptions::default();
    options.policy.store_timeout = Duration::from_millis(50);
    let (shop, barrier) = shop_with_write_barrier(options);
    let client = shop.client(Plan::Pro);
    barrier.close();
    let answer = client.post("/v1/categories", &json!({"name": "Cats"}));
    is_503(&answer, "unavailable");
    assert_eq!(client.get("/v1/pets").status, 200);
    barrier.open();
    assert_eq!(client.post("/v1/categories", &json!({"name": "Dogs"})).status, 201);
}

#[test]
fn reads_that_hang_are_503_in_time_and_the_rest_is_served() {
    let mut options = ShopOptions::default();
    options.policy.store_timeout = Duration::from_millis(50);
    let shop = shop_without_pets(options, FailureMode::Hangs);
    let client = shop.client(PLENTY);
    for path in ["/v1/pets", "/v1/pets/1", "/v1/inventory", "/v1/inventory/1"] {
        is_503(&client.get(path), "unavailable");
    }
    assert_eq!(client.get("/v1/categories").status, 200);
}

#[test]
fn a_gate_whose_ports_hang_refuses_in_time() {
    let mut options = ShopOptions::default();
    options.policy.store_timeout = Duration::from_millis(50);
    let hanging = || Arc::new(FailingPort(FailureMode::Hangs));
    let shop = Shop::open_over(options, |ports| Ports { keys: hanging(), ..ports });
    is_503(&shop.client(PLENTY).get("/v1/pets"), "unavailable");

    let mut options = ShopOptions::default();
    options.policy.quota_timeout = Duration::from_millis(50);
    let shop = Shop::open_over(options, |ports| Ports { quotas: hanging(), addresses: hanging(), ..ports });
    is_503(&shop.client(PLENTY).get("/v1/pets"), "unavailable");
    is_503(&shop.anonymous().get("/v1/pets"), "unavailable");
    assert_eq!(shop.anonymous().get("/health").status, 200);
}

#[test]
fn a_panic_costs_one_500_and_the_next_request_is_served() {
    let policy = Policy { in_flight_max: 1, ..PATIENT };
    let shop = shop_without_pets(ShopOptions { policy, ..ShopOptions::default() }, FailureMode::Panics);
    let client = shop.client(Plan::Free);
    let mut caller = Caller::of(&client);
    for round in 1..=10 {
        // Three different handlers panic on one connection. The connection stays open, and each request stops counting
        // as in flight.
        for path in ["/v1/pets/1", "/v1/pets", "/v1/inventory/1"] {
            let answer = caller.get(path);
            assert_eq!(answer.outcome(), (500, "internal_error".to_owned()));
            assert!(!answer.text().contains("42"), "{}", answer.text());
            assert_eq!(answer.header("x-ratelimit-resource"), Some("minute"));
            assert!(answer.header("x-request-id").is_some());
        }
        let answer = caller.get("/v1/categories");
        assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (200, 60 - 4 * round));
        assert_eq!(shop.http.panics(), 3 * round);
    }
}

#[test]
fn a_panic_before_the_body_has_arrived_costs_one_500() {
    let mode = FailureMode::Panics;
    let shop =
        Shop::open_over(ShopOptions::default(), |ports| Ports { keys: Arc::new(FailingPort(mode)), ..ports });
    let client = shop.client(PLENTY);
    let mut connection = Connection::open(client.address);
    for bytes in [10, 10_000] {
        connection.send(&request(&client, "POST", "/v1/pets", &[], &vec![b' '; bytes]));
        assert_eq!(connection.read_answer(false).unwrap().outcome(), (500, "internal_error".to_owned()));
    }
    connection.send(&request(&client, "GET", "/health", &[], b""));
    assert_eq!(connection.read_answer(false).unwrap().status, 200);
}

#[test]
fn a_panic_under_an_idempotency_key_leaves_the_key_free() {
    let recovered = Arc::new(AtomicBool::new(true));
    let shop = Shop::open_over(ShopOptions::default(), |ports| {
        let (inner, recovered) = (Arc::clone(&ports.transactor), Arc::clone(&recovered));
        Ports { transactor: Arc::new(PanickingTransactor { inner, recovered }), ..ports }
    });
    let client = shop.client(PLENTY);
    let post = || {
        client.send("POST", "/v1/categories", &[("idempotency-key", "once")], Some(&json!({"name": "Dogs"})))
    };
    recovered.store(false, Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(post().outcome(), (500, "internal_error".to_owned()));
    }
    recovered.store(true, Ordering::SeqCst);
    let made = post();
    assert_eq!((made.status, made.header("idempotent-replayed")), (201, None));
}

#[test]
fn the_answer_to_a_store_failure_says_what_the_client_should_do_and_hides_the_cause() {
    let reason = || "SELECT * FROM pets at src/store.rs:7".to_owned();
    for (error, code) in [
        (StoreError::busy(reason()), Some("overloaded")),
        (StoreError::unavailable(reason()), Some("unavailable")),
        (StoreError::indeterminate(reason()), Some("unavailable")),
        (StoreError::corrupt(reason()), None),
    ] {
        let shop = shop_without_pets(ShopOptions::default(), FailureMode::Fails(error));
        let client = shop.client(PLENTY);
        for path in ["/v1/pets", "/v1/pets/1", "/v1/inventory/1"] {
            let answer = client.get(path);
            match code {
                Some(code) => is_503(&answer, code),
                None => assert_eq!(answer.outcome(), (500, "internal_error".to_owned())),
            }
            assert!(!answer.text().contains("SELECT") && !answer.text().contains("store.rs"));
        }
        // Requests that do not need the failing port are served.
        assert_eq!(client.get("/v1/categories").status, 200);
        assert_eq!(client.post("/v1/categories", &json!({"name": "Dogs"})).status, 201);
    }
}

#[test]
fn retry_after_spreads_the_retries() {
    let shop = shop_without_pets(ShopOptions::default(), down());
    let mut caller = Caller::of(&shop.client(PLENTY));
    let waits: Vec<_> = (0..50).map(|_| caller.get("/v1/pets").number("retry-after")).collect();
    assert!(waits.contains(&1) && waits.contains(&2) && waits.iter().all(|wait| (1..=2).contains(wait)));
}

#[test]
fn while_keys_cannot_be_looked_up_no_request_is_admitted() {
    let shop = Shop::open_over(ShopOptions::default(), |ports| Ports {
        keys: Arc::new(FailingPort(down())),
        ..ports
    });
    let client = shop.client(PLENTY);
    is_503(&client.get("/v1/pets"), "unavailable");
    // A request without a key, or with a malformed one, needs no look-up.
    assert_eq!(shop.anonymous().get("/v1/pets").status, 401);
    assert_eq!(shop.anonymous().get("/health").status, 200);
}

#[test]
fn while_quotas_cannot_be_counted_no_request_is_admitted() {
    let shop = Shop::open_over(ShopOptions::default(), |ports| Ports {
        quotas: Arc::new(FailingPort(down())),
        addresses: Arc::new(FailingPort(down())),
        ..ports
    });
    let client = shop.client(PLENTY);
    for _ in 0..3 {
        is_503(&client.get("/v1/pets"), "unavailable");
        is_503(&client.get("/v1/rate-limit"), "unavailable");
        is_503(&shop.anonymous().get("/v1/pets"), "unavailable");
    }
    assert_eq!(shop.anonymous().get("/health").status, 200);
    // A preflight is not counted, so it is answered although the quotas fail. The answer has no quota headers.
    assert_eq!(shop.anonymous().send("OPTIONS", "/v1/pets", &[], None).status, 204);
}

#[test]
fn a_replacement_of_the_quotas_gets_the_same_limits() {
    let shop = Shop::open_over(ShopOptions::default(), |ports| Ports {
        quotas: Arc::new(FailingPort(down())),
        on_quota_outage: OnQuotaOutage::CountWith(Arc::new(MemoryStore::new())),
        ..ports
    });
    let mut caller = Caller::of(&shop.client(Plan::Free));
    for left in (0..60).rev() {
        let answer = caller.get("/v1/pets");
        assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (200, left));
    }
    assert_eq!(caller.get("/v1/pets").outcome(), (429, "rate_limit_exceeded".to_owned()));
    let mut anonymous = Caller::of(&shop.anonymous());
    let statuses: Vec<_> = (0..301).map(|_| anonymous.get("/v1/pets").status).collect();
    assert_eq!((statuses[299], statuses[300]), (401, 429));
}

/// A sandbox that reports that the result of its reset is unknown.
pub(crate) struct InDoubt;

impl Sandbox for InDoubt {
    fn new_epoch(&self) -> Result<u64, StoreError> {
        Ok(0xD0_0B7)
    }

    fn reset(&self, _epoch: u64) -> Result<(), StoreError> {
        Err(StoreError::indeterminate("the power may have been cut"))
    }

    fn clock(&self) -> ClockState {
        ClockState { now: Timestamp::EPOCH, frozen: true }
    }

    fn machine_time(&self) -> Timestamp {
        Timestamp::EPOCH
    }

    fn set_clock(&self, _turn: ClockChange) -> Result<ClockState, StoreError> {
        Ok(self.clock())
    }
}

#[test]
fn after_a_reset_in_doubt_no_earlier_tag_matches() {
    let mut options = ShopOptions::default();
    options.http.sandbox = Some(Arc::new(InDoubt));
    let shop = Shop::open_as(options);
    let client = shop.client(Plan::Pro);
    let before = client.post("/v1/categories", &json!({"name": "Cats"}));
    assert_eq!(before.status, 201);
    is_503(&client.send("POST", "/sandbox/reset", &[], None), "unavailable");
    let tag = before.header("etag").expect("a tag").to_owned();
    let after = client.send("GET", "/v1/categories/1", &[("if-none-match", &tag)], None);
    assert_eq!(after.status, 200);
    assert_ne!(after.header("etag"), Some(&*tag));
}
