//! Planned faults after the change was made: lost, broken, slow and extended answers, and quotas that are used up.

#![expect(clippy::disallowed_methods, reason = "a slow body is measured")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{STORES, Sandbox};

const DOGS: &str = r#"{"name":"Ferrets"}"#;

impl Sandbox {
    /// Sends a request, and returns the bytes of the answer up to the end of the connection.
    fn whole(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        use std::io::{Read as _, Write as _};

        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.site.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {}\r\nconnection: close\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            self.key,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }
}

#[test]
fn an_answer_is_lost_after_the_change_and_an_idempotency_key_finds_it() {
    for store in STORES {
        let mut sandbox = Sandbox::start("sandbox-lost", store);
        sandbox.reset();
        sandbox.plan(&json!({"faults": [
            {"method": "POST", "route": "/store/orders", "first": 1, "when": "after", "drop": true},
            {"method": "POST", "route": "/store/orders", "first": 1, "when": "after", "status": 503, "retryAfter": 7},
            {"method": "DELETE", "when": "after", "drop": true}
        ]}));
        let order = r#"{"petId":1}"#;
        let before = sandbox.get("/v1/inventory/1").json()["quantity"].as_u64().unwrap();
        let keyed = "idempotency-key: once\r\n";
        assert_eq!(sandbox.whole("POST", "/v1/store/orders", keyed, order), "", "no answer");
        let failed = sandbox.authorized("POST", "/v1/store/orders", keyed, order).unwrap();
        assert_eq!((failed.status, failed.header("retry-after")), (503, "7"));
        let repeated = sandbox.authorized("POST", "/v1/store/orders", keyed, order).unwrap();
        assert_eq!((repeated.status, repeated.header("idempotent-replayed")), (201, "true"));
        let after = sandbox.get("/v1/inventory/1").json()["quantity"].as_u64().unwrap();
        assert_eq!(before - after, 1, "one order was placed");
        let webhook = json!({"url": format!("http://127.0.0.1:{}/sandbox/sinks/a", sandbox.site.port)});
        let made = sandbox.authorized("POST", "/v1/webhooks", "", &webhook.to_string()).unwrap().json();
        let path = format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
        assert_eq!(sandbox.whole("DELETE", &path, "", ""), "");
        assert_eq!(sandbox.get(&path).status, 404, "it was deleted");
        // A request that the gate refuses has its own answer.
        sandbox.plan(&json!({"faults": [{"when": "after", "status": 500}]}));
        assert_eq!(sandbox.once("GET", "/v1/pets", "", "").unwrap().status, 401);
        assert_eq!(sandbox.get("/v1/pets").status, 500);
    }
}

#[test]
fn a_body_is_cut_broken_or_slow() {
    let mut sandbox = Sandbox::start("sandbox-bodies", &["--db", "memory", "--demo", "100"]);
    let whole = sandbox.get("/v1/pets?limit=100");
    assert!(whole.body.len() > 4_000);
    sandbox.plan(&json!({"faults": [{"body": "truncate"}]}));
    for coding in ["", "accept-encoding: gzip\r\n"] {
        let cut = sandbox.whole("GET", "/v1/pets?limit=100", coding, "");
        assert!(cut.starts_with("HTTP/1.1 200 ") && !cut.contains("content-length"), "{cut}");
        let half = &whole.body[..whole.body.len() / 2];
        assert!(cut.contains(&half[half.len() - 100..]) && !cut.contains("\r\n0\r\n"), "{cut}");
        assert!(!cut.contains(&whole.body[whole.body.len() - 20..]));
    }
    let empty = sandbox.whole("DELETE", "/v1/pets/100", "", "");
    assert!(empty.starts_with("HTTP/1.1 204 "), "an empty body stays as it is: {empty}");

    sandbox.plan(&json!({"seed": 5, "faults": [{"body": "malformed"}]}));
    let broken: Vec<_> = (0..20).map(|_| sandbox.get("/v1/pets?limit=3")).collect();
    for answer in &broken {
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
        assert!(serde_json::from_str::<Value>(&answer.body).is_err(), "{}", answer.body);
    }
    sandbox.plan(&json!({"seed": 5, "faults": [{"body": "malformed"}]}));
    for answer in &broken {
        assert_eq!(sandbox.get("/v1/pets?limit=3").body, answer.body, "the seed decides");
    }

    sandbox.plan(&json!({"faults": [{"body": "slow", "bytesPerSecond": 200, "latency": "100ms"}]}));
    let begun = Instant::now();
    let slow = sandbox.client.ask("GET", "/v1/rate-limit", "", "");
    // The client of these tests reads bodies with a length only.
    assert!(slow.is_ok() && begun.elapsed() >= Duration::from_millis(100), "{:?}", begun.elapsed());
    let begun = Instant::now();
    let slow = sandbox.whole("GET", "/v1/rate-limit", "", "");
    let length = slow.split_once("\r\n\r\n").unwrap().1.len() as u64;
    assert!(slow.ends_with("\r\n0\r\n\r\n"), "it is complete: {slow}");
    assert!(
        begun.elapsed() >= Duration::from_millis(100 + 100 * 1_000 / 200),
        "{length} {:?}",
        begun.elapsed()
    );
    sandbox.site.stop();
}

#[test]
fn additions_to_the_contract_appear_in_each_object_and_error() {
    let mut sandbox = Sandbox::start("sandbox-grown", &["--db", "memory", "--demo", "10"]);
    sandbox.plan(&json!({"faults": [{"grow": true}]}));
    for coding in ["", "accept-encoding: gzip\r\n"] {
        let pets = sandbox.authorized("GET", "/v1/pets?limit=10", coding, "").unwrap().json();
        let grown: Vec<_> =
            pets.as_array().unwrap().iter().map(|pet| pet.get("addedLater").is_some()).collect();
        assert_eq!(grown, [true; 10], "{pets}");
    }
    let missing = sandbox.get("/v1/pets/99");
    assert_eq!(missing.status, 404);
    let error = missing.json();
    assert_eq!((&error["code"], &error["status"]), (&json!("added_later"), &json!(404)));
    let made = sandbox.authorized("POST", "/v1/categories", "", DOGS).unwrap();
    assert_eq!((made.status, &made.json()["name"]), (201, &json!("Ferrets")));
    let webhooks = sandbox.get("/v1/webhooks?limit=0");
    assert_eq!((webhooks.status, &webhooks.json()["code"]), (400, &json!("added_later")));
}

#[test]
fn a_window_that_is_used_up_refuses_until_it_ends_and_all_answers_agree() {
    let mut sandbox = Sandbox::start("sandbox-exhausted", &["--db", "memory", "--demo", "10"]);
    sandbox.clock(&json!({"set": "2030-01-01T12:00:30Z", "freeze": true}));
    for (window, code, wait, advance) in
        [("minute", "rate_limit_exceeded", "30", "30s"), ("day", "quota_exceeded", "43140", "43140s")]
    {
        assert_eq!(sandbox.get("/v1/pets").status, 200);
        let before = sandbox.get("/v1/rate-limit").json();
        sandbox.plan(&json!({"faults": [{"route": "/pets", "exhaust": window, "first": 1}]}));
        for _ in 0..2 {
            let refused = sandbox.get("/v1/pets");
            assert_eq!((refused.status, refused.json()["code"].as_str().unwrap()), (429, code));
            assert_eq!(refused.header("retry-after"), wait);
            assert_eq!(refused.header("x-ratelimit-remaining"), "0");
            assert_eq!(refused.header("x-ratelimit-resource"), window);
        }
        let after = sandbox.get("/v1/rate-limit").json();
        assert_eq!(after[window]["remaining"], 0);
        let other = if window == "minute" { "day" } else { "minute" };
        assert_eq!(after[other], before[other], "the other window stays");
        assert_eq!(sandbox.get("/v1/categories").status, 429, "the fault is over, the window is not");
        sandbox.clock(&json!({ "advance": advance }));
        assert_eq!(sandbox.get("/v1/pets").status, 200);
    }
    sandbox.plan(&json!({"faults": [{"exhaust": "day"}]}));
    assert_eq!(sandbox.once("GET", "/v1/pets", "", "").unwrap().status, 401, "nothing to use up");
}
