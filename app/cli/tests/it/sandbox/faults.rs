//! Planned failures, delays and dropped connections.

#![expect(clippy::disallowed_methods, reason = "a planned delay is measured")]

use std::time::{Duration, Instant};

use serde_json::json;

use super::{STORES, Sandbox};
use crate::common::Client;

/// Returns the statuses of this many calls.
fn statuses(sandbox: &mut Sandbox, calls: usize) -> Vec<u16> {
    (0..calls).map(|_| sandbox.status("GET", "/v1/pets", "")).collect()
}

#[test]
fn one_seed_fails_the_same_calls_on_every_server() {
    let plan = |seed: u64| {
        json!({"seed": seed, "faults": [
            {"method": "GET", "route": "/pets", "percent": 20, "status": 503, "retryAfter": 2},
            {"method": "GET", "percent": 30, "status": 429}
        ]})
    };
    let (mut one, mut two) = (
        Sandbox::start("sandbox-one", &[]),
        Sandbox::start("sandbox-two", &["--db", "memory", "--threads", "1"]),
    );
    for sandbox in [&mut one, &mut two] {
        sandbox.plan(&plan(42));
    }
    let met = statuses(&mut one, 200);
    assert_eq!(met, statuses(&mut two, 200));
    let count = |status| met.iter().filter(|one| **one == status).count();
    assert!(count(503) > 20 && count(429) > 20 && count(200) > 80, "{met:?}");
    assert_eq!(one.once("GET", "/sandbox/faults", "", "").unwrap().json()["faults"][0]["calls"], 200);
    // A plan that is sent again as the server returned it starts from its beginning. A plan with another seed gives
    // another sequence of failures.
    let shown = one.once("GET", "/sandbox/faults", "", "").unwrap().json();
    one.plan(&shown);
    assert_eq!(statuses(&mut one, 200), met);
    one.plan(&plan(43));
    assert_ne!(statuses(&mut one, 200), met);
}

#[test]
fn a_planned_failure_looks_like_a_real_one() {
    let mut sandbox = Sandbox::start("sandbox-faults", &["--db", "memory"]);
    sandbox.plan(&json!({"faults": [
        {"method": "GET", "route": "/pets", "first": 2, "status": 503, "retryAfter": 7},
        {"method": "GET", "route": "/pets", "first": 1, "status": 429, "retryAfter": 30},
        {"route": "/inventory", "code": "quota_exceeded"},
        {"route": "/store/orders", "drop": true, "first": 1},
        {"method": "POST", "latency": "150ms", "jitter": "20ms"}
    ]}));
    let left = |sandbox: &Sandbox| sandbox.get("/v1/rate-limit").json()["day"]["remaining"].as_u64().unwrap();
    let before = left(&sandbox);
    for _ in 0..2 {
        let failed = sandbox.get("/v1/pets");
        assert_eq!((failed.status, failed.header("retry-after")), (503, "7"));
        assert_eq!(failed.json()["code"], "unavailable");
        assert_eq!(failed.header("content-type"), "application/json");
        assert!(failed.head.contains("x-request-id: "), "{}", failed.head);
    }
    assert_eq!(left(&sandbox), before - 2, "a failure costs what any request costs");
    let refused = sandbox.get("/v1/pets");
    assert_eq!((refused.status, refused.header("retry-after")), (429, "30"));
    assert_eq!(refused.json()["code"], "rate_limit_exceeded");
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    assert_eq!(refused.header("x-ratelimit-resource"), "minute");
    let refused = sandbox.get("/v1/inventory");
    assert_eq!((refused.status, &refused.json()["code"]), (429, &"quota_exceeded".into()));
    assert_eq!(refused.header("x-ratelimit-resource"), "day");
    assert_eq!(left(&sandbox), before - 2, "a refusal costs nothing");
    assert_eq!(sandbox.get("/v1/pets").status, 200, "the first calls are over");

    assert!(sandbox.authorized("GET", "/v1/store/orders", "", "").is_none(), "the connection is dropped");
    assert_eq!(sandbox.get("/v1/store/orders").status, 200);
    let begun = Instant::now();
    assert_eq!(sandbox.status("POST", "/v1/categories", r#"{"name":"A","description":"x"}"#), 201);
    assert!(begun.elapsed() >= Duration::from_millis(150), "{:?}", begun.elapsed());

    sandbox.plan(&json!({"faults": [
        {"route": "/pets", "code": "key_banned", "retryAfter": 9}, {"route": "/inventory", "code": "method_not_allowed"},
        {"route": "/store/orders", "code": "invalid_api_key", "first": 1},
        {"route": "/store/orders", "code": "missing_api_key"}
    ]}));
    let banned = sandbox.get("/v1/pets");
    assert_eq!((banned.status, banned.header("retry-after")), (403, "9"));
    assert_eq!((banned.header("x-ratelimit-resource"), banned.header("x-ratelimit-remaining")), ("ban", "0"));
    let challenge =
        |sandbox: &mut Sandbox| sandbox.get("/v1/store/orders").header("www-authenticate").to_owned();
    assert_eq!(challenge(&mut sandbox), "Bearer realm=\"petstore\", error=\"invalid_token\"");
    assert_eq!(challenge(&mut sandbox), "Bearer realm=\"petstore\"");
    let refused = sandbox.get("/v1/inventory");
    assert_eq!((refused.status, refused.header("allow")), (405, "GET, HEAD, OPTIONS"));

    // A client without a valid key gets 401, and no planned failure.
    sandbox.plan(&json!({"faults": [{"status": 500}]}));
    assert_eq!(sandbox.once("GET", "/v1/pets", "", "").unwrap().status, 401);
    assert_eq!(sandbox.get("/v1/pets").status, 500);
    assert_eq!(sandbox.once("GET", "/health", "", "").unwrap().status, 200);
    assert_eq!(sandbox.once("DELETE", "/sandbox/faults", "", "").unwrap().status, 204);
    assert_eq!(sandbox.get("/v1/pets").status, 200);
}

#[test]
fn a_delayed_call_neither_changes_a_later_case_nor_delays_a_stop() {
    for store in STORES {
        let mut sandbox = Sandbox::start("sandbox-delayed", store);
        let delay = json!({"faults": [{"method": "POST", "latency": "1m"}]});
        let waiting = |sandbox: &mut Sandbox| {
            while !sandbox.client.ask("GET", "/sandbox/faults", "", "").unwrap().body.contains("\"acted\":1")
            {
                std::thread::yield_now();
            }
        };
        let place = |sandbox: &Sandbox, pet: u32| {
            let (port, key) = (sandbox.site.port, sandbox.key.clone());
            std::thread::spawn(move || {
                let mut client = Client::connect(port, &key).unwrap();
                let placed = client.ask("POST", "/v1/store/orders", "", &format!("{{\"petId\":{pet}}}"));
                placed.map(|answer| answer.status)
            })
        };
        sandbox.plan(&delay);
        let placing = place(&sandbox, 1);
        waiting(&mut sandbox);
        sandbox.reset();
        assert!(placing.join().unwrap().is_err(), "it is dropped");
        assert_eq!(sandbox.get("/v1/store/orders").body, "[]");

        // Removing the plan ends the delay, and the call continues.
        sandbox.plan(&delay);
        let placing = place(&sandbox, 2);
        waiting(&mut sandbox);
        assert_eq!(sandbox.once("DELETE", "/sandbox/faults", "", "").unwrap().status, 204);
        assert_eq!(placing.join().unwrap().unwrap(), 201);

        // A stop of the server ends the delay too, and the call is answered.
        sandbox.plan(&delay);
        let placing = place(&sandbox, 3);
        waiting(&mut sandbox);
        sandbox.site.stop();
        assert_eq!(placing.join().unwrap().unwrap(), 201);
    }
}
