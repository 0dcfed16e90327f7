//! Resets of the shop.

#![expect(clippy::disallowed_methods, reason = "how long a reset takes is measured")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{STORES, Sandbox};
use crate::common::Client;

#[test]
fn a_hundred_resets_restore_the_same_shop() {
    for store in STORES {
        let mut sandbox = Sandbox::start("sandbox-hundred", store);
        let beginning = sandbox.get("/v1/pets?limit=100").body;
        assert_eq!(serde_json::from_str::<Value>(&beginning).unwrap().as_array().unwrap().len(), 100);
        let (mut resets, mut writes) = (vec![], vec![]);
        for case in 0..100 {
            let begun = Instant::now();
            let made =
                sandbox.client.ask("POST", "/v1/pets", "", r#"{"name":"Hazel","categoryId":1}"#).unwrap();
            writes.push(begun.elapsed());
            assert!(made.body.ends_with("\"id\":101}"), "case {case}: {}", made.body);
            assert_eq!(sandbox.status("POST", "/v1/store/orders", r#"{"petId":1}"#), 201, "case {case}");
            assert_eq!(sandbox.status("DELETE", "/v1/pets/2", ""), 204, "case {case}");
            let begun = Instant::now();
            sandbox.reset();
            resets.push(begun.elapsed());
        }
        assert_eq!(sandbox.get("/v1/pets?limit=100").body, beginning);
        assert_eq!(sandbox.get("/v1/store/orders").body, "[]");
        resets.sort();
        writes.sort();
        println!(
            "a reset with {store:?}: {:?}, at most {:?}; a write: {:?}",
            resets[50], resets[99], writes[50]
        );
        // On a busy machine everything takes longer, so a reset may also take a multiple of a write.
        let bound = Duration::from_millis(50).max(20 * writes[50]);
        assert!(resets[50] < bound, "{:?} for a reset, {:?} for a write", resets[50], writes[50]);
    }
}

#[test]
fn a_reset_keeps_only_accounts_and_keys() {
    for store in [&["--db", "memory"][..], &[]] {
        let mut sandbox = Sandbox::start("sandbox-reset", store);
        sandbox.clock(&json!({"set": "2030-06-01T12:00:00Z", "freeze": true}));
        let made = sandbox.authorized(
            "POST",
            "/v1/categories",
            "idempotency-key: first\r\n",
            r#"{"name":"Rabbits","description":"Quiet"}"#,
        );
        let (tag, made) = (made.as_ref().unwrap().header("etag").to_owned(), made.unwrap());
        assert_eq!(made.status, 201);
        for name in ["A", "B"] {
            sandbox.status("POST", "/v1/categories", &json!({"name": name, "description": "x"}).to_string());
        }
        let link = sandbox.get("/v1/categories?limit=1").header("link").to_owned();
        let cursor = link.split("cursor=").nth(1).unwrap().split(['>', '&']).next().unwrap().to_owned();
        assert_eq!(sandbox.get(&format!("/v1/categories?limit=1&cursor={cursor}")).status, 200);
        let page = sandbox.get("/v1/categories").header("etag").to_owned();
        sandbox.plan(&json!({"faults": [{"route": "/rate-limit", "status": 500}]}));

        sandbox.reset();
        assert_eq!(sandbox.get("/v1/rate-limit").status, 200, "planned failures are gone");
        assert_eq!(sandbox.get("/v1/rate-limit").json()["day"]["remaining"], 100_000, "windows are gone");
        assert_eq!(sandbox.get("/v1/categories").body, "[]");
        let again = sandbox.authorized(
            "POST",
            "/v1/categories",
            "idempotency-key: first\r\n",
            r#"{"name":"Rabbits","description":"Quiet"}"#,
        );
        let again = again.unwrap();
        assert!(again.status == 201 && !again.head.contains("idempotent-replayed"), "{}", again.head);
        assert_eq!(again.json()["id"], 1, "ids begin at 1");
        for name in ["A", "B"] {
            sandbox.status("POST", "/v1/categories", &json!({"name": name, "description": "x"}).to_string());
        }
        // The shop has the same content as before the reset, but entity tags and cursors from before are not accepted.
        assert_ne!(again.header("etag"), tag);
        let known = format!("if-none-match: {tag}, {page}\r\n");
        assert_eq!(sandbox.authorized("GET", "/v1/categories/1", &known, "").unwrap().status, 200);
        assert_eq!(sandbox.authorized("GET", "/v1/categories", &known, "").unwrap().status, 200);
        let expected = format!("if-match: {tag}\r\n");
        let refused = sandbox.authorized("DELETE", "/v1/categories/1", &expected, "").unwrap();
        assert_eq!((refused.status, &refused.json()["code"]), (412, &"precondition_failed".into()));
        assert_eq!(refused.header("etag"), again.header("etag"));
        let stale = sandbox.get(&format!("/v1/categories?limit=1&cursor={cursor}"));
        assert_eq!((stale.status, &stale.json()["code"]), (400, &"invalid_cursor".into()));
        // Entity tags of the new shop are accepted.
        let known = format!("if-none-match: {}\r\n", again.header("etag"));
        assert_eq!(sandbox.authorized("GET", "/v1/categories/1", &known, "").unwrap().status, 304);
    }
}

#[test]
fn a_reset_survives_a_crash() {
    let mut sandbox = Sandbox::start("sandbox-crash", &["--demo", "5"]);
    let tag = sandbox.get("/v1/categories/1").header("etag").to_owned();
    assert_eq!(sandbox.status("DELETE", "/v1/pets/1", ""), 204);
    sandbox.reset();
    let after = sandbox.get("/v1/categories/1").header("etag").to_owned();
    sandbox.site.signal("-KILL");
    sandbox.site.server.as_mut().unwrap().wait().unwrap();
    // The file can also be served without a sandbox.
    sandbox.site.serve(&[], &[]);
    assert_eq!(sandbox.get("/v1/pets?id=1").json().as_array().unwrap().len(), 1);
    assert_eq!(sandbox.get("/v1/categories/1").header("etag"), after);
    assert_ne!(after, tag);
    for method in ["GET", "POST", "PUT", "DELETE"] {
        for path in ["/sandbox/reset", "/sandbox/clock", "/sandbox/faults"] {
            assert_eq!(sandbox.once(method, path, "", "{}").unwrap().status, 404, "{method} {path}");
        }
    }
}

#[test]
fn concurrent_requests_are_before_or_after_a_reset() {
    for store in STORES {
        let mut sandbox =
            Sandbox::start("sandbox-meanwhile", &[store, &["--admin-socket", "socket"]].concat());
        let create =
            "keys create --admin-socket socket --plan enterprise --minute 1000000 --day 1000000 --quiet";
        let unlimited = sandbox.site.run(&create.split(' ').collect::<Vec<_>>());
        assert_eq!(unlimited.status.code(), Some(0), "{}", String::from_utf8_lossy(&unlimited.stderr));
        let key = String::from_utf8(unlimited.stdout).unwrap().trim().to_owned();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let port = sandbox.site.port;
        std::thread::scope(|scope| {
            let callers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut client = Client::connect(port, &key).unwrap();
                        let mut orders = 0;
                        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                            let page = client.ask("GET", "/v1/pets?limit=100", "", "").unwrap();
                            let pets = serde_json::from_str::<Value>(&page.body).unwrap();
                            assert_eq!(pets.as_array().unwrap().len(), 100, "never a shop by halves");
                            let order = client.ask("POST", "/v1/store/orders", "", r#"{"petId":7}"#).unwrap();
                            assert!([201, 409].contains(&order.status), "{} {}", order.status, order.body);
                            orders += u32::from(order.status == 201);
                        }
                        orders
                    })
                })
                .collect();
            for _ in 0..30 {
                sandbox.reset();
                // The pet has one unit after each reset. This loop ends when the unit is sold.
                while sandbox.status("POST", "/v1/store/orders", r#"{"petId":7}"#) != 409 {}
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            let sold: u32 = callers.into_iter().map(|caller| caller.join().unwrap()).sum();
            assert!(sold <= 31, "one unit, once a reset: {sold}");
        });
    }
}
