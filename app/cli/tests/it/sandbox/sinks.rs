//! Sinks: what they take, the reasons of refusals, the answers of their scripts, and the wait for a number of requests.

use std::thread;

use serde_json::{Value, json};

use super::receivers::{Hooks, each, header};

impl Hooks {
    /// Posts a body to a sink with these headers. Returns the verdict and its reason.
    fn post(&mut self, sink: &str, headers: &[(&str, &str)], body: &str) -> (String, String) {
        let path = format!("/sandbox/sinks/{sink}");
        let lines: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let lines = lines.concat();
        let reply = self.sandbox.once("POST", &path, &lines, body).expect("an answer");
        assert_eq!(reply.status, 204, "{}", reply.body);
        let last = self.got(sink, 0).pop().unwrap();
        let text = |name: &str| last[name].as_str().unwrap_or_default().to_owned();
        (text("signature"), text("why"))
    }
}

#[test]
fn a_sink_says_why_a_signature_is_not_valid() {
    let mut hooks = Hooks::start("sinks-verdicts", &["--db", "memory"]);
    let (_, secret) = hooks.create("hook", &Value::Null);
    hooks.event();
    hooks.settle();
    let request = hooks.got("hook", 0).pop().unwrap();
    let body = request["body"].as_str().unwrap().to_owned();
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let signed: Vec<_> = names.iter().map(|name| (*name, header(&request, name).to_owned())).collect();
    let signed: Vec<(&str, &str)> = signed.iter().map(|(name, value)| (*name, &**value)).collect();
    let (word, why) = hooks.post("hook", &signed, &body);
    assert_eq!((&*word, &*why), ("valid", ""));

    let (word, why) = hooks.post("hook", &signed, &format!("{body}\n"));
    assert!(word == "invalid" && why.contains("without the white space at its end"), "{word}: {why}");
    let (word, why) = hooks.post("hook", &signed, &body.replace("Category", "Dogs"));
    assert!(word == "invalid" && why.starts_with("secret: "), "{word}: {why}");
    let (word, why) = hooks.post("hook", &signed[..2], &body);
    assert_eq!((&*word, &*why), ("unsigned", "the header webhook-signature is missing"));
    let broken = [signed[0], ("webhook-timestamp", "noon"), signed[2]];
    assert_eq!(hooks.post("hook", &broken, &body).0, "invalid");
    let (word, why) = hooks.post("elsewhere", &signed, &body);
    assert!(word == "unknown" && why.starts_with("no webhook has the URL of this sink"), "{word}: {why}");
    hooks.script("elsewhere", &json!({ "secret": secret }));
    assert_eq!(hooks.post("elsewhere", &signed, &body).0, "valid");
    hooks.script("elsewhere", &json!({"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}));
    let (word, why) = hooks.post("elsewhere", &signed, &body);
    assert!(word == "invalid" && why.starts_with("secret: "), "{word}: {why}");
    hooks.sandbox.clock(&json!({"advance": "301s"}));
    let (word, why) = hooks.post("hook", &signed, &body);
    assert!(word == "stale" && why.contains("301 s in the past"), "{word}: {why}");
    hooks.sandbox.clock(&json!({"set": "2030-01-01T11:00:00Z"}));
    let (word, why) = hooks.post("hook", &signed, &body);
    assert!(word == "stale" && why.contains("3600 s in the future"), "{word}: {why}");
}

#[test]
fn a_sink_takes_anything_under_any_host_and_only_within_its_bounds() {
    let mut hooks = Hooks::start("sinks-bounds", &["--db", "memory", "--hosts", "shop.example,localhost"]);
    let send = |hooks: &Hooks, method: &str, headers: &str, body: &str| {
        let port = hooks.sandbox.site.port;
        raw(port, method, headers, body)
    };
    for host in ["shop.example", "hooks.internal:9999", "127.0.0.1"] {
        assert_eq!(send(&hooks, "POST", &format!("host: {host}\r\n"), "<b>\u{1}</b>"), 204);
    }
    assert_eq!(send(&hooks, "PUT", "host: hooks.internal\r\ncontent-type: application/json\r\n", "{}"), 400);
    assert_eq!(send(&hooks, "GET", "host: hooks.internal\r\n", ""), 400);
    assert_eq!(send(&hooks, "POST", "host: a\r\norigin: https://evil.example\r\n", ""), 400);
    assert_eq!(send(&hooks, "PATCH", "host: localhost\r\n", ""), 405);
    let most = "x".repeat(64 * 1024);
    assert_eq!(send(&hooks, "POST", "host: a\r\n", &most), 204);
    assert_eq!(send(&hooks, "POST", "host: a\r\n", &format!("{most}x")), 413);
    let got = hooks.got("hook", 0);
    assert_eq!(got.len(), 4);
    assert_eq!((&got[0]["body"], header(&got[1], "host")), (&json!("<b>\u{1}</b>"), "hooks.internal:9999"));
    assert_eq!(got[3]["body"].as_str().unwrap().len(), most.len());

    let listed = hooks.ask("GET /sandbox/sinks", &Value::Null, 200);
    assert_eq!(listed, json!([{"name": "hook", "count": 4, "received": 4, "signatures": {"unknown": 4}}]));
    for _ in 0..1_000 {
        hooks.ask("POST /sandbox/sinks/many", &Value::Null, 204);
    }
    hooks.ask("POST /sandbox/sinks/many", &Value::Null, 204);
    let reply = hooks.sandbox.once("GET", "/sandbox/sinks/many?after=999", "", "").unwrap();
    assert_eq!((reply.header("x-dropped"), reply.json().as_array().unwrap().len()), ("1", 2));
    hooks.ask("DELETE /sandbox/sinks/many", &Value::Null, 204);
    assert_eq!(hooks.got("many", 0).len(), 0);
}

/// Sends a request to the sink `hook`, and returns the status of its answer.
fn raw(port: u16, method: &str, headers: &str, body: &str) -> u16 {
    use std::io::{Read as _, Write as _};

    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = body.len();
    let request = format!(
        "{method} /sandbox/sinks/hook HTTP/1.1\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let _ = stream.write_all(request.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

#[test]
fn a_reader_waits_for_a_number_of_requests_without_a_pause() {
    let mut hooks = Hooks::start("sinks-wait", &["--db", "memory"]);
    hooks.create("hook", &Value::Null);
    let port = hooks.sandbox.site.port;
    let key = hooks.sandbox.key.clone();
    let waiting = thread::spawn(move || {
        let mut client = crate::common::Client::connect(port, &key).unwrap();
        client.wait_at_most(std::time::Duration::from_secs(30));
        let path = "/sandbox/sinks/hook?count=3&wait=30&after=1";
        let got: Value = serde_json::from_str(&client.ask("GET", path, "", "").unwrap().body).unwrap();
        got.as_array().unwrap().clone()
    });
    for _ in 0..4 {
        hooks.event();
        hooks.settle();
    }
    let got = waiting.join().unwrap();
    assert_eq!(each(&got, "sequence")[..3], [json!(2), json!(3), json!(4)]);
    // A wait that is not fulfilled ends with what there is.
    let got = hooks.ask("GET /sandbox/sinks/hook?count=9&wait=1", &Value::Null, 200);
    assert_eq!(got.as_array().unwrap().len(), 4);
    let got = hooks.ask("GET /sandbox/sinks/never?count=1&wait=0", &Value::Null, 200);
    assert_eq!(got, json!([]));
}

#[test]
fn a_hundred_cases_assert_their_webhooks_without_one_pause() {
    let mut hooks = Hooks::start("sinks-cases", &["--db", "memory", "--demo", "10"]);
    for case in 0..100 {
        hooks.sandbox.reset();
        hooks.create("hook", &json!({"types": ["order.*"]}));
        let pet = case % 5 + 1;
        let stock = json!({"quantity": 3});
        hooks.ask(&format!("PATCH /v1/inventory/{pet}"), &stock, 200);
        let placed = hooks.ask("POST /v1/store/orders", &json!({"petId": pet}), 201);
        hooks.settle();
        let got = hooks.got("hook", 0);
        let event: Value = serde_json::from_str(got[0]["body"].as_str().unwrap()).unwrap();
        assert_eq!(
            (got.len(), &event["type"], &event["data"]),
            (1, &json!("order.placed"), &placed),
            "{got:#?}"
        );
    }
}

#[test]
fn without_webhooks_a_sink_takes_requests_and_nothing_is_left() {
    let mut hooks = Hooks::start("sinks-off", &["--db", "memory", "--webhooks", "off"]);
    assert_eq!(hooks.settle()["count"], 0);
    assert_eq!(hooks.post("hook", &[], "x").0, "unknown");
    hooks.sandbox.reset();
    assert_eq!(hooks.got("hook", 0).len(), 0);
}
