//! Failures, journal and report of one test among several, the failures that a request asks for, and the forms of headers.

use serde_json::{Value, json};

use super::{Reply, Sandbox};

/// Sends a request of a test, which names itself in a header.
fn of(sandbox: &Sandbox, test: &str, path: &str) -> Reply {
    sandbox.authorized("GET", path, &format!("x-test-id: {test}\r\n"), "").unwrap()
}

fn rules(test: &str, rule: &Value) -> String {
    let mut rule = rule.clone();
    rule["header"] = json!({"name": "X-Test-Id", "value": test});
    json!({"faults": [rule]}).to_string()
}

#[test]
fn each_test_has_its_own_failures_journal_and_report() {
    let sandbox = Sandbox::start("sandbox-scopes", &["--db", "memory"]);
    let add =
        |test: &str, rule: &Value| sandbox.once("POST", "/sandbox/faults", "", &rules(test, rule)).unwrap();
    for round in 0..20 {
        let (one, two) = (format!("one.{round}"), format!("two.{round}"));
        let added = add(&one, &json!({"status": 503, "skip": 1, "first": 1}));
        assert_eq!(added.status, 201, "{}", added.body);
        let id = added.json()["faults"][0]["id"].as_u64().unwrap();
        assert_eq!(add(&two, &json!({"status": 500, "first": 1})).status, 201);
        let met: Vec<_> =
            [&one, &two, &one, &two, &one].map(|test| of(&sandbox, test, "/v1/pets").status).into();
        assert_eq!(met, [200, 500, 503, 200, 200]);
        let listed = sandbox.get(&format!("/sandbox/requests?header=x-test-id:{one}")).json();
        let statuses: Vec<_> =
            listed.as_array().unwrap().iter().map(|one| one["answer"]["status"].as_u64()).collect();
        assert_eq!(statuses, [Some(200), Some(503), Some(200)]);
        let report = |test: &str| sandbox.get(&format!("/sandbox/report?header=x-test-id:{test}")).json();
        let requests = |report: &Value| report["clients"][0]["requests"].as_u64();
        assert_eq!((requests(&report(&one)), requests(&report(&two))), (Some(3), Some(2)));
        let remove = |path: &str| sandbox.once("DELETE", path, "", "").unwrap().status;
        assert_eq!(remove(&format!("/sandbox/faults/{id}")), 204);
        assert_eq!(remove(&format!("/sandbox/faults/{id}")), 404);
        assert_eq!(remove(&format!("/sandbox/faults?header=x-test-id:{two}")), 204);
        assert_eq!(
            remove(&format!("/sandbox/faults?header=x-test-id:{two}")),
            204,
            "nothing is left to remove"
        );
    }
    assert_eq!(sandbox.get("/sandbox/faults").json()["faults"], json!([]));
    assert_eq!(sandbox.once("DELETE", "/sandbox/faults?test=a", "", "").unwrap().status, 400);
}

#[test]
fn a_rule_may_be_for_one_key() {
    let mut sandbox = Sandbox::start("sandbox-of-key", &["--db", "memory"]);
    let key = sandbox.key.clone();
    let other = sandbox.once("POST", "/sandbox/keys", "", "{}").unwrap().json()["secret"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.plan(&json!({"faults": [{"key": key, "status": 503}]}));
    let shown = sandbox.get("/sandbox/faults").json();
    assert_eq!(shown["faults"][0]["key"], &key[..12], "a whole key is shown by its beginning");
    sandbox.plan(&shown);
    assert_eq!(sandbox.get("/v1/pets").status, 503);
    let header = format!("x-api-key: {other}\r\n");
    assert_eq!(sandbox.once("GET", "/v1/pets", &header, "").unwrap().status, 200);
}

#[test]
fn retry_after_has_the_form_of_the_rule() {
    let mut sandbox = Sandbox::start("sandbox-retry-after", &["--db", "memory"]);
    for (form, header, secs) in [
        (json!(0), Some("0"), json!(0)),
        (json!(120), Some("120"), json!(120)),
        (json!("120.5"), Some("120.5"), json!(121)),
        (json!("soon"), Some("soon"), Value::Null),
        (json!("-1"), Some("-1"), Value::Null),
        (json!(null), None, Value::Null),
    ] {
        sandbox.plan(&json!({"faults": [{"status": 503, "retryAfter": form}]}));
        let failed = sandbox.get("/v1/pets");
        let sent = failed.head.contains("\r\nretry-after: ").then(|| failed.header("retry-after"));
        assert_eq!((sent, &failed.json()["retryAfterSeconds"]), (header, &secs), "{form}");
        let shown = sandbox.get("/sandbox/faults").json();
        assert_eq!(shown["faults"][0]["retryAfter"], form);
        sandbox.plan(&shown);
    }
    for (distance, secs) in [("+90s", json!(90)), ("-1h", Value::Null)] {
        sandbox.plan(&json!({"faults": [{"status": 429, "retryAfter": {"date": distance}}]}));
        let failed = sandbox.get("/v1/pets");
        assert_eq!(failed.json()["retryAfterSeconds"], secs);
        let times =
            ["date", "retry-after"].map(|name| httpdate::parse_http_date(failed.header(name)).unwrap());
        let (before, after) =
            (times[1] < times[0], times[1] >= times[0] + std::time::Duration::from_secs(89));
        assert!(if distance.starts_with('-') { before } else { after }, "{times:?}");
    }
}

#[test]
fn a_request_asks_for_its_own_failure() {
    let mut sandbox = Sandbox::start("sandbox-prefer", &["--db", "memory"]);
    sandbox.plan(&json!({"faults": [{"first": 1, "status": 500}]}));
    let ask = |sandbox: &Sandbox, prefer: &str| {
        sandbox.authorized("GET", "/v1/pets", &format!("prefer: {prefer}\r\n"), "")
    };
    let failed = ask(&sandbox, "code=503, retry-after=soon, respond-async").unwrap();
    assert_eq!((failed.status, failed.header("retry-after")), (503, "soon"));
    assert_eq!(failed.header("preference-applied"), "code=503, retry-after=soon");
    assert_eq!(ask(&sandbox, "code=pet_not_available").unwrap().json()["code"], "pet_not_available");
    assert!(ask(&sandbox, "drop").is_none());
    let refused = ask(&sandbox, "latency=1h").unwrap();
    assert_eq!((refused.status, &refused.json()["code"]), (400, &"invalid_header".into()));
    // A preference comes after the gate.
    let stranger = sandbox.once("GET", "/v1/pets", "prefer: code=503\r\n", "").unwrap();
    assert_eq!(stranger.status, 401);
    // The rules of the plan have counted none of these calls.
    assert_eq!(sandbox.get("/sandbox/faults").json()["faults"][0]["calls"], 0);
    assert_eq!(ask(&sandbox, "return=minimal").unwrap().status, 500);
    let records = sandbox.get("/sandbox/requests?limit=1000").json();
    let faults: Vec<_> = records.as_array().unwrap().iter().filter_map(|one| one["fault"].as_str()).collect();
    assert_eq!(
        faults,
        ["prefer, 503 unavailable", "prefer, 409 pet_not_available", "prefer, drop", "500 internal_error"]
    );
}

#[test]
fn quota_headers_have_the_form_of_all_clients_or_of_a_key_until_a_reset() {
    let mut sandbox = Sandbox::start("sandbox-quota-headers", &["--db", "memory"]);
    let set = |body: &Value| sandbox.once("PUT", "/sandbox/quota-headers", "", &body.to_string()).unwrap();
    let made = json!({"plan": "free", "quotaHeaders": "draft-6"}).to_string();
    let made = sandbox.once("POST", "/sandbox/keys", "", &made).unwrap().json();
    let header = format!("x-api-key: {}\r\n", made["secret"].as_str().unwrap());
    let of_key = |sandbox: &Sandbox| sandbox.once("GET", "/v1/pets", &header, "").unwrap();
    assert_eq!(of_key(&sandbox).header("ratelimit-limit"), "60");
    assert_eq!(sandbox.get("/v1/pets").header("x-ratelimit-resource"), "minute");

    let names = json!({"form": "both", "names": {"minute": "burst", "day": "sustained"}});
    assert_eq!(set(&names).json()["form"], "both");
    let answer = sandbox.get("/v1/pets");
    assert!(answer.header("ratelimit").starts_with("\"burst\";r="), "{}", answer.head);
    assert_eq!(answer.header("x-ratelimit-resource"), "minute");
    assert_eq!(of_key(&sandbox).header("ratelimit-policy"), "60;w=60, 1000;w=86400");
    let refused = json!({"form": "draft-5"});
    assert_eq!(set(&refused).status, 400);
    assert_eq!(
        sandbox.get("/sandbox/quota-headers").json()["form"],
        "both",
        "a refused change changes nothing"
    );

    let one_name = json!({"names": {"day": "long"}});
    assert_eq!(set(&one_name).json()["names"], json!({"minute": "burst", "day": "long"}));
    let prefix = made["key"]["prefix"].clone();
    let own = json!({"form": "none", "key": prefix});
    assert_eq!(set(&own).json()["keys"], json!([{"key": prefix, "form": "none"}]));
    assert!(!of_key(&sandbox).head.contains("ratelimit"));

    // The key stays, and so does the form that it was made with.
    sandbox.reset();
    let shown = sandbox.get("/sandbox/quota-headers").json();
    let keys = json!([{"key": prefix, "form": "draft-6"}]);
    let usual = json!({"minute": "minute", "day": "day"});
    assert_eq!(shown, json!({"form": "x-ratelimit", "setting": "x-ratelimit", "names": usual, "keys": keys}));
    assert_eq!(of_key(&sandbox).header("ratelimit-limit"), "60");
    assert_eq!(sandbox.get("/v1/pets").header("x-ratelimit-resource"), "minute");

    assert_eq!(sandbox.once("DELETE", "/sandbox/quota-headers", "", "").unwrap().status, 204);
    let shown = sandbox.get("/sandbox/quota-headers").json();
    assert_eq!(shown, json!({"form": "x-ratelimit", "setting": "x-ratelimit", "names": usual, "keys": []}));
    assert_eq!(of_key(&sandbox).header("x-ratelimit-limit"), "60");
}
