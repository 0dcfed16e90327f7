//! A tester's server: it begins anew in milliseconds, its clock is turned, it fails as planned.

#![expect(clippy::disallowed_methods, reason = "how long a reset takes, and a planned delay, are measured")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::{Client, Site, free_port};
use serde_json::{Value, json};

/// A tester's server and a client of it.
struct Sandbox {
    site: Site,
    key: String,
    client: Client,
}

/// An answer with all that these tests look at.
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{} {}", self.head, self.body))
    }
}

impl Sandbox {
    fn start(name: &str, args: &[&str]) -> Self {
        let site = Site::served(name, &[&["--sandbox"][..], args].concat());
        let key = site.printed_key();
        let client = Client::connect(site.port, &key).unwrap();
        Self { site, key, client }
    }

    fn reset(&mut self) {
        assert_eq!(self.client.ask("POST", "/sandbox/reset", "", "").unwrap().status, 204);
    }

    /// Sends the clock somewhere. The time that it shows then.
    fn clock(&mut self, turn: &Value) -> String {
        let answer = self.client.ask("POST", "/sandbox/clock", "", &turn.to_string()).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str::<Value>(&answer.body).unwrap()["now"].as_str().unwrap().to_owned()
    }

    fn plan(&mut self, plan: &Value) {
        let answer = self.client.ask("PUT", "/sandbox/faults", "", &plan.to_string()).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    fn status(&mut self, method: &str, path: &str, body: &str) -> u16 {
        self.client.ask(method, path, "", body).unwrap().status
    }

    /// One request on a connection of its own, with these headers. None if there is no answer.
    fn once(&self, method: &str, path: &str, headers: &str, body: &str) -> Option<Reply> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.site.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\
             content-type: application/json\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Reply { status, head: head.to_owned(), body: body.to_owned() })
    }

    /// The same with the key.
    fn authorized(&self, method: &str, path: &str, headers: &str, body: &str) -> Option<Reply> {
        self.once(method, path, &format!("x-api-key: {}\r\n{headers}", self.key), body)
    }

    fn get(&self, path: &str) -> Reply {
        self.authorized("GET", path, "", "").unwrap()
    }
}

/// The stores that a tester may have.
const STORES: [&[&str]; 2] = [&["--db", "memory", "--demo", "100"], &["--demo", "100"]];

#[test]
fn a_suite_of_a_hundred_cases_begins_each_with_the_same_shop() {
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
        // On a machine that is busy everything is slow: then a reset is held against a write.
        let bound = Duration::from_millis(50).max(20 * writes[50]);
        assert!(resets[50] < bound, "{:?} for a reset, {:?} for a write", resets[50], writes[50]);
    }
}

#[test]
fn a_reset_leaves_accounts_and_keys_and_takes_all_else() {
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
        // The same shop as before, and yet nothing of before is good for it.
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
        // And what is of now is good.
        let known = format!("if-none-match: {}\r\n", again.header("etag"));
        assert_eq!(sandbox.authorized("GET", "/v1/categories/1", &known, "").unwrap().status, 304);
    }
}

#[test]
fn what_was_reset_is_so_after_a_crash_too() {
    let mut sandbox = Sandbox::start("sandbox-crash", &["--demo", "5"]);
    let tag = sandbox.get("/v1/categories/1").header("etag").to_owned();
    assert_eq!(sandbox.status("DELETE", "/v1/pets/1", ""), 204);
    sandbox.reset();
    let after = sandbox.get("/v1/categories/1").header("etag").to_owned();
    sandbox.site.signal("-KILL");
    sandbox.site.server.as_mut().unwrap().wait().unwrap();
    // Without a sandbox: it is a store like any other.
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
fn requests_meanwhile_are_before_a_reset_or_after_it() {
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
                // Nobody has more than its one unit between two resets.
                while sandbox.status("POST", "/v1/store/orders", r#"{"petId":7}"#) != 409 {}
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            let sold: u32 = callers.into_iter().map(|caller| caller.join().unwrap()).sum();
            assert!(sold <= 31, "one unit, once a reset: {sold}");
        });
    }
}

#[test]
fn the_clock_takes_a_server_past_midnight_a_ban_an_expiry_and_the_sunset() {
    let mut sandbox = Sandbox::start("sandbox-clock", &["--free-day", "100", "--demo", "3"]);
    sandbox.clock(&json!({"set": "2030-06-01T12:00:00Z", "freeze": true}));
    let created = sandbox.site.run(&["keys", "create", "--plan", "free", "--expires", "30d", "--quiet"]);
    let key = String::from_utf8(created.stdout).unwrap().trim().to_owned();
    let mut free = Client::connect(sandbox.site.port, &key).unwrap();
    let mut ask = |path: &str| free.ask("GET", path, "", "").unwrap();
    for _ in 0..60 {
        assert_eq!(ask("/v1/pets").status, 200);
    }
    let refused = ask("/v1/pets");
    assert_eq!((refused.status, refused.retry_after), (429, Some(60)));
    sandbox.clock(&json!({"advance": "1m"}));
    for _ in 0..40 {
        assert_eq!(ask("/v1/pets").status, 200);
    }
    // The day is used up; its end brings the quota back.
    let refused = ask("/v1/pets");
    assert_eq!((refused.status, refused.retry_after), (429, Some(12 * 3_600 - 60)));
    assert!(refused.body.contains("quota_exceeded"), "{}", refused.body);
    assert_eq!(sandbox.clock(&json!({"advance": "11h 58m 59s"})), "2030-06-01T23:59:59.000Z");
    assert_eq!(ask("/v1/pets").status, 429);
    assert_eq!(sandbox.clock(&json!({"advance": "1s"})), "2030-06-02T00:00:00.000Z");
    assert_eq!(ask("/v1/pets").status, 200);

    // A ban is lifted by its end.
    for _ in 0..59 {
        assert_eq!(ask("/v1/pets").status, 200);
    }
    for _ in 0..60 {
        assert_eq!(ask("/v1/pets").status, 429);
    }
    let banned = ask("/v1/pets");
    assert_eq!((banned.status, banned.retry_after), (403, Some(120)));
    sandbox.clock(&json!({"advance": "119s"}));
    assert_eq!(ask("/v1/pets").status, 403);
    sandbox.clock(&json!({"advance": "1s"}));
    assert_eq!(ask("/v1/pets").status, 200);

    // Turned back, windows begin anew.
    sandbox.clock(&json!({"set": "2030-06-01T12:00:00Z"}));
    assert_eq!(ask("/v1/pets").status, 200);
    let used: Value = serde_json::from_str(&ask("/v1/rate-limit").body).unwrap();
    assert_eq!((&used["day"]["remaining"], &used["minute"]["remaining"]), (&99.into(), &59.into()));

    // The operation ends; the key expires; the answer under a key is forgotten.
    let order = |sandbox: &Sandbox| {
        let order = r#"{"petId":1}"#;
        sandbox.authorized("POST", "/v1/store/orders", "idempotency-key: once\r\n", order).unwrap()
    };
    assert_eq!(order(&sandbox).status, 201);
    assert!(order(&sandbox).head.contains("idempotent-replayed: true"));
    sandbox.clock(&json!({"advance": "24h"}));
    assert_eq!(order(&sandbox).status, 409, "a new request, and the unit is sold");
    sandbox.clock(&json!({"set": "2030-07-01T12:00:00Z"}));
    let expired = ask("/v1/pets");
    assert!(expired.status == 401 && expired.body.contains("api_key_expired"), "{}", expired.body);
    sandbox.clock(&json!({"set": "2030-12-04T23:59:59.999Z"}));
    assert_eq!(sandbox.get("/v1/pets/1").status, 200);
    sandbox.clock(&json!({"advance": "1ms"}));
    let gone = sandbox.get("/v1/pets/1");
    assert_eq!((gone.status, &gone.json()["code"]), (410, &"operation_sunset".into()));

    // It goes on from where it stands, and back to the machine's time.
    let frozen = sandbox.clock(&json!({"freeze": false}));
    assert!(frozen.starts_with("2030-12-05T00:00:00"), "{frozen}");
    let shown = sandbox.once("DELETE", "/sandbox/clock", "", "").unwrap().json();
    assert_eq!(shown["frozen"], false);
    assert_eq!(sandbox.get("/v1/pets/1").status, 200);
    let now =
        sandbox.once("GET", "/sandbox/clock", "", "").unwrap().json()["now"].as_str().unwrap().to_owned();
    assert!(now.as_str() < "2030-12-05", "{now}");
}

/// What so many calls come to: their statuses.
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
    // Put as it was shown, it begins again; another seed is another sequence.
    let shown = one.once("GET", "/sandbox/faults", "", "").unwrap().json();
    one.plan(&shown);
    assert_eq!(statuses(&mut one, 200), met);
    one.plan(&plan(43));
    assert_ne!(statuses(&mut one, 200), met);
}

#[test]
fn a_planned_failure_looks_like_a_true_one() {
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

    // Who may not ask is told so, whatever is planned.
    sandbox.plan(&json!({"faults": [{"status": 500}]}));
    assert_eq!(sandbox.once("GET", "/v1/pets", "", "").unwrap().status, 401);
    assert_eq!(sandbox.get("/v1/pets").status, 500);
    assert_eq!(sandbox.once("GET", "/health", "", "").unwrap().status, 200);
    assert_eq!(sandbox.once("DELETE", "/sandbox/faults", "", "").unwrap().status, 204);
    assert_eq!(sandbox.get("/v1/pets").status, 200);
}

#[test]
fn a_call_that_is_delayed_writes_into_no_later_case_and_holds_up_no_end() {
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

        // Another plan lets it go on.
        sandbox.plan(&delay);
        let placing = place(&sandbox, 2);
        waiting(&mut sandbox);
        assert_eq!(sandbox.once("DELETE", "/sandbox/faults", "", "").unwrap().status, 204);
        assert_eq!(placing.join().unwrap().unwrap(), 201);

        // So does the end of the server, which gives the answer.
        sandbox.plan(&delay);
        let placing = place(&sandbox, 3);
        waiting(&mut sandbox);
        sandbox.site.stop();
        assert_eq!(placing.join().unwrap().unwrap(), 201);
    }
}

#[test]
fn a_restart_forgets_what_was_noted_at_a_time_that_is_not_yet() {
    let args = ["--business-minute", "2", "--ban-strikes", "1"];
    let mut sandbox = Sandbox::start("sandbox-ahead", &args);
    // Noted now, it is kept.
    let used = |sandbox: &Sandbox| sandbox.get("/v1/rate-limit").json()["day"]["remaining"].clone();
    assert_eq!(sandbox.get("/v1/pets").status, 200);
    let left = used(&sandbox);
    sandbox.site.stop();
    sandbox.site.serve(&[&["--sandbox"][..], &args].concat(), &[]);
    sandbox.client = Client::connect(sandbox.site.port, &sandbox.key).unwrap();
    assert_eq!(used(&sandbox), left);

    // Also for whoever serves the file to others from now on.
    for sandboxed in [&["--sandbox"][..], &[]] {
        sandbox.clock(&json!({"set": "2089-12-05T00:00:01Z", "freeze": true}));
        let statuses: Vec<_> = (0..4).map(|_| sandbox.get("/v1/pets").status).collect();
        assert_eq!(statuses, [200, 200, 429, 403]);
        sandbox.site.stop();
        sandbox.site.serve(&[sandboxed, &args].concat(), &[]);
        sandbox.client = Client::connect(sandbox.site.port, &sandbox.key).unwrap();
        assert_eq!(sandbox.get("/v1/pets").status, 200, "{sandboxed:?}");
    }
}

#[test]
fn a_sandbox_is_asked_as_strictly_as_the_rest() {
    let sandbox = Sandbox::start("sandbox-strict", &["--db", "memory"]);
    let long = format!(r#"{{"faults":[{}]}}"#, " ".repeat(70_000));
    let cases = [
        ("GET", "/sandbox/reset", "", 405, "method_not_allowed"),
        ("PUT", "/sandbox/clock", "{}", 405, "method_not_allowed"),
        ("POST", "/sandbox/faults", "{}", 405, "method_not_allowed"),
        ("GET", "/sandbox/weather", "", 404, "not_found"),
        ("POST", "/sandbox/reset?hard=true", "", 400, "invalid_parameter"),
        ("POST", "/sandbox/clock", "", 400, "invalid_json"),
        ("POST", "/sandbox/clock", "{", 400, "invalid_json"),
        ("POST", "/sandbox/clock", "{}", 400, "validation_failed"),
        ("POST", "/sandbox/clock", r#"{"advance":"soon"}"#, 400, "validation_failed"),
        ("PUT", "/sandbox/faults", r#"{"faults":[{"status":200}]}"#, 400, "validation_failed"),
        ("PUT", "/sandbox/faults", &long, 413, "body_too_large"),
    ];
    for (method, path, body, status, code) in cases {
        let reply = sandbox.once(method, path, "", body).unwrap();
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (status, &code.into()),
            "{method} {path} {body:.40}"
        );
    }
    assert_eq!(
        sandbox.once("PUT", "/sandbox/clock", "", "").unwrap().header("allow"),
        "GET, HEAD, POST, DELETE, OPTIONS"
    );
    let preflight = "origin: http://localhost:3000\r\naccess-control-request-method: PUT\r\n";
    assert_eq!(sandbox.once("OPTIONS", "/sandbox/faults", preflight, "").unwrap().status, 204);
}

#[test]
fn pages_of_elsewhere_change_nothing_unless_they_are_listed() {
    let mut sandbox = Sandbox::start("sandbox-origins", &[]);
    let mut listed = Sandbox::start("sandbox-listed", &["--cors", "https://tests.example"]);
    let mut reset = |origins: &str| {
        let status =
            |sandbox: &mut Sandbox| sandbox.once("POST", "/sandbox/reset", origins, "").unwrap().status;
        (status(&mut sandbox), status(&mut listed))
    };
    for (origins, statuses) in [
        ("", (204, 204)),
        ("origin: http://localhost:3000\r\n", (204, 204)),
        ("origin: http://app.localhost\r\n", (204, 204)),
        ("origin: https://127.0.0.1\r\n", (204, 204)),
        ("origin: http://[::1]:3000\r\n", (204, 204)),
        ("origin: https://tests.example\r\n", (400, 204)),
        ("origin: https://web.example\r\n", (400, 400)),
        ("origin: https://localhost.web.example\r\n", (400, 400)),
        ("origin: http://127.0.0.1.web.example\r\n", (400, 400)),
        ("origin: localhost\r\n", (400, 400)),
        ("origin: null\r\n", (400, 400)),
        ("origin: http://localhost\r\norigin: https://web.example\r\n", (400, 400)),
    ] {
        assert_eq!(reset(origins), statuses, "{origins}");
    }
    let elsewhere = "origin: https://web.example\r\n";
    let refused = sandbox.once("DELETE", "/sandbox/clock", elsewhere, "").unwrap();
    assert_eq!((refused.status, &refused.json()["code"]), (400, &"invalid_header".into()));
    assert_eq!(sandbox.once("GET", "/sandbox/clock", elsewhere, "").unwrap().status, 200);
}

#[test]
fn a_sandbox_stays_on_this_machine_unless_its_owner_says_otherwise() {
    let site = Site::new("sandbox-anywhere");
    let refused = [
        (
            &["--listen", "0.0.0.0:0"][..],
            "sandbox (true, --sandbox) and listen (0.0.0.0:0, --listen) do not go together",
        ),
        (
            &["--listen", "[::]:0"],
            "sandbox (true, --sandbox) and listen ([::]:0, --listen) do not go together",
        ),
        (
            &["--ops-listen", "0.0.0.0:0"],
            "sandbox (true, --sandbox) and ops-listen (0.0.0.0:0, --ops-listen) do not go together",
        ),
    ];
    for (args, why) in refused {
        let output = site.run(&[&["--sandbox"][..], args].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(why) && message.contains("sandbox-anywhere"), "{message}");
        assert!(!site.folder.join("petstore.db").exists());
    }
    let open = site.run(&["check-config", "--sandbox", "--sandbox-anywhere", "--listen", "0.0.0.0:0"]);
    assert_eq!(open.status.code(), Some(0), "{}", String::from_utf8_lossy(&open.stderr));
}

#[test]
fn with_a_listener_for_operators_the_sandbox_is_there_and_nowhere_else() {
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let mut sandbox = Sandbox::start("sandbox-ops", &["--ops-listen", &address]);
    assert_eq!(sandbox.once("POST", "/sandbox/reset", "", "").unwrap().status, 404);
    sandbox.site.port = port;
    assert_eq!(sandbox.once("POST", "/sandbox/reset", "", "").unwrap().status, 204);
    assert_eq!(sandbox.once("GET", "/health", "", "").unwrap().status, 200);
    let lost = sandbox.once("GET", "/sandbox", "", "").unwrap();
    let here = "Here are /health, /ready, /metrics, /sandbox/reset, /sandbox/clock, /sandbox/faults.";
    assert_eq!((lost.status, &lost.json()["message"]), (404, &here.into()));
}

#[test]
fn a_sandbox_takes_no_file_that_was_ever_served_for_real() {
    let mut sandbox = Sandbox::start("sandbox-claim", &["--demo", "1"]);
    let mark = sandbox.site.folder.join("petstore.db.sandbox");
    sandbox.site.stop();
    sandbox.site.serve(&["--sandbox"], &[]);
    sandbox.client = Client::connect(sandbox.site.port, &sandbox.key).unwrap();
    sandbox.reset();
    assert_eq!(sandbox.get("/v1/pets").body, "[]", "its own file it takes again");
    assert!(mark.exists());

    sandbox.site.stop();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_eq!(sandbox.site.run(&["--listen", &address]).status.code(), Some(1));
    assert!(mark.exists(), "nobody has been served yet");
    sandbox.site.serve(&[], &[]);
    assert!(!mark.exists(), "somebody may rely on what is in it now");
    let category = r#"{"name":"Rabbits","description":"Quiet"}"#;
    assert_eq!(sandbox.authorized("POST", "/v1/categories", "", category).unwrap().status, 201);
    sandbox.site.stop();
    let refused = sandbox.site.run(&["--sandbox"]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    let why = "and db (petstore.db, default) do not go together: that file holds data that is no sandbox's, and a reset";
    assert!(message.contains(why) && message.contains("name another --db"), "{message}");
    assert!(!mark.exists(), "a refusal leaves no mark");

    sandbox.site.serve(&[], &[]);
    assert_eq!(sandbox.get("/v1/categories/1").status, 200, "nothing has become of the data");
}
