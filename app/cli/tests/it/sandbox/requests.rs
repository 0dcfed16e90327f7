//! The journal of requests: records, filters, waits, forms and bounds.

mod active_texts;
mod curl_lines;
mod endings;
mod pieces;
mod secrecy;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Reply, Sandbox};

impl Sandbox {
    /// Returns the records that match a query.
    fn records(&self, query: &str) -> Vec<Value> {
        let reply = self.once("GET", &format!("/sandbox/requests{query}"), "", "").unwrap();
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json().as_array().unwrap().clone()
    }

    /// Returns the latest record that matches a query, once it has been answered.
    fn record(&self, query: &str) -> Value {
        let records = self.records(&format!("?count=1&wait=10&{query}"));
        records.last().unwrap_or_else(|| panic!("no record for {query}")).clone()
    }

    /// Sends bytes on a new connection, and returns the connection.
    fn raw(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.site.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    }
}

#[expect(clippy::disallowed_methods, reason = "the length of a wait for a running server is checked")]
fn now() -> Instant {
    Instant::now()
}

fn sequences(records: &[Value]) -> Vec<u64> {
    records.iter().map(|record| record["sequence"].as_u64().unwrap()).collect()
}

#[test]
fn each_request_of_the_api_is_recorded_with_its_answer_and_no_other_request_is() {
    let mut sandbox = Sandbox::start("journal-records", &["--db", "memory", "--demo", "3"]);
    for path in ["/health", "/sandbox/clock", "/docs", "/nowhere"] {
        sandbox.once("GET", path, "", "").unwrap();
    }
    assert_eq!(sandbox.records(""), [] as [Value; 0]);
    sandbox.clock(&json!({"set": "2030-01-01T00:00:00Z", "freeze": true}));

    sandbox.get("/v1/pets/1?x=%20");
    sandbox.authorized("POST", "/v1/pets", "x-request-id: mine\r\n", r#"{"name":"Hazel","categoryId":1}"#);
    sandbox.once("GET", "/v1/pets", "", "").unwrap();
    sandbox.authorized("HEAD", "/v1/pets", "accept-encoding: gzip\r\n", "");
    sandbox.get("/v1/nowhere");
    sandbox.plan(&json!({"faults": [{"status": 503, "retryAfter": 7}]}));
    sandbox.get("/v1/pets");
    let records = sandbox.records("?count=6&wait=10");
    assert_eq!(sequences(&records), [1, 2, 3, 4, 5, 6]);
    let seen =
        |path: &str| records.iter().map(|record| record.pointer(path).unwrap().clone()).collect::<Vec<_>>();
    assert_eq!(seen("/answer/status"), [400, 201, 401, 200, 404, 503].map(Value::from));
    assert_eq!(seen("/method"), ["GET", "POST", "GET", "HEAD", "GET", "GET"]);
    let pets = json!("/pets");
    assert_eq!(
        seen("/route"),
        [json!("/pets/{petId}"), pets.clone(), pets.clone(), pets.clone(), Value::Null, pets]
    );
    assert_eq!(seen("/target")[0], "/v1/pets/1?x=%20");
    assert_eq!(seen("/protocol"), ["HTTP/1.1"; 6]);
    assert_eq!(seen("/answer/outcome"), ["sent"; 6]);
    let code = seen("/answer/code");
    assert_eq!(code[0], "invalid_parameter");
    assert_eq!(
        (&code[1], &code[2], &code[5]),
        (&Value::Null, &json!("missing_api_key"), &json!("unavailable"))
    );
    assert_eq!(seen("/fault")[4..], [Value::Null, json!("503 unavailable")]);
    assert_eq!(seen("/account"), [json!(1), json!(1), Value::Null, json!(1), json!(1), json!(1)]);
    let prefix = json!(&sandbox.key[..12]);
    assert_eq!(seen("/keyPrefix")[1..3], [prefix.clone(), Value::Null]);

    let made = &records[1];
    assert_eq!((&made["id"], &made["at"]), (&json!("mine"), &json!("2030-01-01T00:00:00.000Z")));
    assert_eq!(made["body"], r#"{"name":"Hazel","categoryId":1}"#);
    assert_eq!((&made["bodyBytes"], &made["bodyEncoding"]), (&json!(31), &Value::Null));
    assert_eq!(made["answer"]["body"], r#"{"name":"Hazel","categoryId":1,"status":"available","id":4}"#);
    assert_eq!(made["quota"]["resource"], "minute");
    assert!(made["quota"]["remaining"].as_u64().unwrap() + 2 <= made["quota"]["limit"].as_u64().unwrap());
    let headers = made["headers"].as_array().unwrap();
    assert!(headers.contains(&json!(["x-api-key", format!("{}...", &sandbox.key[..12])])), "{headers:?}");
    let answered = made["answer"]["headers"].as_array().unwrap();
    assert!(answered.contains(&json!(["location", "/v1/pets/4"])), "{answered:?}");
    assert!(made["durationMs"].as_f64().unwrap() > 0.0);
    let connections = seen("/connection");
    assert!(connections.windows(2).all(|pair| pair[0].as_u64() < pair[1].as_u64()), "{connections:?}");
    assert_eq!(records[3]["answer"]["bodyBytes"], 0, "a HEAD has no body");

    let one = sandbox.once("GET", "/sandbox/requests/mine", "", "").unwrap();
    assert_eq!(one.json(), *made);
    let lost = sandbox.once("GET", "/sandbox/requests/other", "", "").unwrap();
    assert_eq!((lost.status, &lost.json()["code"]), (404, &json!("not_found")));
}

#[test]
fn records_are_filtered_and_paged() {
    let sandbox = Sandbox::start("journal-filters", &["--db", "memory", "--demo", "3"]);
    sandbox.get("/v1/pets?limit=1");
    sandbox.get("/v1/pets/1");
    sandbox.get("/v1/pets/999");
    sandbox.authorized("DELETE", "/v1/pets/3", "", "");
    sandbox.once("GET", "/v1/categories", "", "").unwrap();
    let key = &sandbox.key[..12];
    sandbox.record("after=4");
    for (query, expected) in [
        ("", &[1, 2, 3, 4, 5][..]),
        ("?method=DELETE", &[4]),
        ("?method=DELETE&method=GET&after=3", &[4, 5]),
        ("?route=/pets/%7BpetId%7D", &[2, 3, 4]),
        ("?status=404", &[3]),
        ("?status=4xx,204", &[3, 4, 5]),
        (&format!("?key={key}&status=2xx"), &[1, 2, 4]),
        (&format!("?key={}&status=404", sandbox.key), &[3]),
        ("?key=pet_00000000", &[]),
        ("?target=limit%3D", &[1]),
        ("?hint=waits", &[]),
        ("?hint=heeds-deprecation", &[3]),
        ("?limit=2", &[4, 5]),
        ("?limit=2&after=1", &[2, 3]),
        ("?limit=2&after=0", &[1, 2]),
        ("?after=0", &[1, 2, 3, 4, 5]),
        ("?after=5", &[]),
        ("?count=2&status=404", &[3]),
    ] {
        assert_eq!(sequences(&sandbox.records(query)), expected, "{query}");
    }
    // A condition that no request can meet is an error, because an empty answer would look like a result.
    for query in
        ["?route=/pet", "?route=/v1/pets", "?route=", "?method=", "?method=GET,", "/stream?method=GET"]
    {
        let reply = sandbox.once("GET", &format!("/sandbox/requests{query}"), "", "").unwrap();
        assert_eq!((reply.status, &reply.json()["code"]), (400, &json!("invalid_parameter")), "{query}");
    }
    let first = sandbox.once("GET", "/sandbox/requests.har?after=0&limit=1", "", "").unwrap();
    assert_eq!(first.json()["log"]["entries"][0]["_sequence"], 1, "the first one, not the latest");
    let archive = sandbox.once("GET", "/sandbox/requests.har?status=404", "", "").unwrap();
    let entries = &archive.json()["log"]["entries"];
    assert_eq!((&entries[0]["_sequence"], entries.as_array().unwrap().len()), (&json!(3), 1));
}

#[test]
fn the_archive_has_all_members_that_readers_require() {
    let sandbox = Sandbox::start("journal-har", &["--db", "memory", "--demo", "3"]);
    sandbox.authorized("GET", "/v1/pets?limit=2&limit", "accept-encoding: gzip\r\n", "");
    sandbox.authorized("GET", "/v1/pets?limit=100", "accept-encoding: gzip\r\n", "");
    sandbox.authorized("POST", "/v1/categories", "", r#"{"name":"Newts"}"#);
    sandbox.record("method=POST");
    let reply = sandbox.once("GET", "/sandbox/requests.har", "", "").unwrap();
    assert_eq!(reply.header("content-type"), "application/json");
    let archive = reply.json();
    assert_eq!(archive["log"]["version"], "1.2");
    for entry in archive["log"]["entries"].as_array().unwrap() {
        for path in [
            "startedDateTime",
            "time",
            "request/method",
            "request/url",
            "request/httpVersion",
            "request/cookies",
            "request/headers",
            "request/queryString",
            "request/headersSize",
            "request/bodySize",
            "response/status",
            "response/statusText",
            "response/httpVersion",
            "response/cookies",
            "response/headers",
            "response/content/size",
            "response/content/mimeType",
            "response/redirectURL",
            "response/headersSize",
            "response/bodySize",
            "cache",
            "timings/send",
            "timings/wait",
            "timings/receive",
        ] {
            assert!(
                entry.pointer(&format!("/{path}")).is_some_and(|value| !value.is_null()),
                "{path}: {entry}"
            );
        }
    }
    let entries = &archive["log"]["entries"];
    assert_eq!(
        entries[0]["request"]["queryString"],
        json!([{"name": "limit", "value": "2"}, {"name": "limit", "value": ""}])
    );
    let pets: Value =
        serde_json::from_str(entries[1]["response"]["content"]["text"].as_str().unwrap()).unwrap();
    assert_eq!(pets.as_array().unwrap().len(), 3, "the text of a compressed body is shown");
    assert_eq!(entries[2]["request"]["postData"]["text"], r#"{"name":"Newts"}"#);
    assert_eq!(entries[2]["response"]["redirectURL"], "/v1/categories/11");
}

#[test]
fn a_suite_of_a_hundred_cases_asserts_its_requests_without_a_sleep() {
    let mut sandbox =
        Sandbox::start("journal-suite", &["--db", "memory", "--demo", "3", "--business-minute", "10000"]);
    for case in 0..100_u64 {
        sandbox.reset();
        let count = 1 + case % 4;
        // The client under test sends its requests in the background, at a time that the test does not know.
        let (key, port) = (sandbox.key.clone(), sandbox.site.port);
        let client = std::thread::spawn(move || {
            let mut client = crate::common::Client::connect(port, &key).unwrap();
            for number in 1..=count {
                client.ask("GET", &format!("/v1/pets?limit={number}"), "", "").unwrap();
            }
        });
        let records = sandbox.records(&format!("?route=/pets&status=200&count={count}&wait=10"));
        let targets: Vec<_> =
            records.iter().map(|record| record["target"].as_str().unwrap().to_owned()).collect();
        let expected: Vec<_> = (1..=count).map(|number| format!("/v1/pets?limit={number}")).collect();
        assert_eq!(targets, expected, "case {case}");
        client.join().unwrap();
    }
    // A wait for requests that do not come ends after its time, and says what has come. So does a wait for an archive.
    for (path, expected) in [("", json!([])), (".har", json!(null))] {
        let begun = now();
        let path = format!("/sandbox/requests{path}?method=DELETE&count=1&wait=1");
        let reply = sandbox.once("GET", &path, "", "").unwrap();
        assert!(begun.elapsed() >= Duration::from_secs(1), "{path}");
        assert!(reply.json() == expected || reply.json()["log"]["entries"] == json!([]), "{}", reply.body);
    }
}

#[test]
fn a_reset_clears_the_journal_unless_it_is_kept() {
    let mut sandbox = Sandbox::start("journal-reset", &["--db", "memory", "--demo", "3"]);
    sandbox.get("/v1/pets/1");
    let reset = |sandbox: &Sandbox, query: &str| {
        sandbox.once("POST", &format!("/sandbox/reset{query}"), "", "").unwrap().status
    };
    assert_eq!((reset(&sandbox, "?journal=keep"), sandbox.records("").len()), (204, 1));
    assert_eq!((reset(&sandbox, "?journal=burn"), sandbox.records("").len()), (400, 1));
    sandbox.reset();
    assert_eq!(sandbox.records("").len(), 0);
    sandbox.get("/v1/pets/2");
    assert_eq!(sequences(&sandbox.records("")), [1], "the numbers begin again");
    let counted = |method, path| sandbox.once(method, path, "", "").unwrap().header("x-resets").to_owned();
    assert_eq!(counted("POST", "/sandbox/reset?journal=keep"), "3", "the one that was refused is none");
    assert_eq!(counted("GET", "/sandbox/report"), "3");
    assert_eq!(sandbox.once("DELETE", "/sandbox/requests", "", "").unwrap().status, 204);
    assert_eq!(sandbox.records("").len(), 0);
}

/// The frames of a stream of the journal.
struct Frames(BufReader<TcpStream>);

impl Frames {
    fn open(sandbox: &Sandbox) -> Self {
        let request = b"GET /sandbox/requests/stream HTTP/1.1\r\nhost: localhost\r\n\r\n";
        Self(BufReader::new(sandbox.raw(request)))
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended");
        line
    }

    /// Returns the next event with its data.
    fn next(&mut self) -> (String, Value) {
        let mut event = None;
        loop {
            let line = self.next_line();
            if let Some(name) = line.strip_prefix("event: ") {
                event = Some(name.trim_end().to_owned());
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return (event.unwrap(), serde_json::from_str(data).unwrap());
            }
        }
    }

    /// Returns the sequence number and the status of the next request that has an answer.
    fn answered(&mut self) -> (u64, u64) {
        loop {
            let (event, data) = self.next();
            assert_eq!(event, "request", "{data}");
            if let Some(status) = data["status"].as_u64() {
                return (data["sequence"].as_u64().unwrap(), status);
            }
        }
    }
}

#[test]
fn a_stream_begins_with_the_journal_and_follows_it() {
    let mut sandbox = Sandbox::start("journal-stream", &["--db", "memory", "--demo", "3"]);
    sandbox.get("/v1/pets/1");
    let mut frames = Frames::open(&sandbox);
    assert_eq!(frames.answered(), (1, 200));
    sandbox.get("/v1/pets/999");
    assert_eq!(frames.answered(), (2, 404));
    sandbox.reset();
    assert_eq!(frames.next(), ("cleared".to_owned(), json!({})));
    sandbox.get("/v1/pets/1");
    assert_eq!(frames.answered(), (1, 200));
    // A stream of events is a request that is not answered yet, or is being answered.
    let request =
        format!("GET /v1/events/stream HTTP/1.1\r\nhost: localhost\r\nx-api-key: {}\r\n\r\n", sandbox.key);
    let stream = sandbox.raw(request.as_bytes());
    loop {
        let (_, data) = frames.next();
        if data["outcome"] == "streaming" {
            assert_eq!((&data["sequence"], &data["status"]), (&json!(2), &json!(200)));
            break;
        }
    }
    drop(stream);
    loop {
        let (_, data) = frames.next();
        if data["outcome"] != "streaming" {
            assert_eq!((&data["sequence"], &data["outcome"]), (&json!(2), &json!("gone")));
            break;
        }
    }
    // The permits of streams are bounded, and are released.
    let open: Vec<_> = (0..15).map(|_| Frames::open(&sandbox)).collect();
    let full =
        |sandbox: &Sandbox| -> Reply { sandbox.once("HEAD", "/sandbox/requests/stream", "", "").unwrap() };
    assert_eq!(full(&sandbox).status, 200, "a HEAD opens no stream");
    drop(open);
    sandbox.site.stop();
}

#[test]
fn a_stream_shows_the_beginning_of_a_method_as_long_as_a_head() {
    let sandbox = Sandbox::start("journal-method", &["--db", "memory"]);
    let mut frames = Frames::open(&sandbox);
    let method = "A".repeat(14_500);
    let head = format!("{method} /v1/pets HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let _connection = sandbox.raw(head.as_bytes());
    let (event, data) = frames.next();
    assert_eq!((&*event, data["method"].as_str()), ("request", Some(&method[..256])));
}

#[test]
fn the_journal_is_read_only_by_pages_of_this_machine_under_its_own_names() {
    let sandbox = Sandbox::start("journal-guard", &["--db", "memory"]);
    let listed = Sandbox::start(
        "journal-guard-listed",
        &["--db", "memory", "--cors", "https://tests.example", "--hosts", "pets.example,localhost"],
    );
    let status = |sandbox: &Sandbox, path: &str, host: &str, more: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{more}\r\n");
        let mut line = String::new();
        BufReader::new(sandbox.raw(request.as_bytes())).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    for path in
        ["/sandbox/requests", "/sandbox/requests.har", "/sandbox/faults", "/sandbox/clock", "/sandbox/sinks"]
    {
        for (host, more, here, there) in [
            ("localhost", "", 200, 200),
            ("127.0.0.1:1", "", 200, 200),
            ("[::1]", "", 200, 200),
            ("pets.example", "", 400, 200),
            ("rebound.example", "", 400, 400),
            ("localhost.example", "", 400, 400),
            ("localhost", "origin: http://localhost:3000\r\n", 200, 200),
            ("localhost", "origin: https://tests.example\r\n", 400, 200),
            ("localhost", "origin: https://web.example\r\n", 400, 400),
            ("localhost", "origin: null\r\n", 400, 400),
        ] {
            assert_eq!(status(&sandbox, path, host, more), here, "{path} {host} {more}");
            assert_eq!(status(&listed, path, host, more), there, "{path} {host} {more} with lists");
        }
    }
    let refused = sandbox.once("GET", "/sandbox/requests", "origin: https://web.example\r\n", "").unwrap();
    let message = "This Origin is not allowed to use the sandbox; add it to the cors setting.";
    assert_eq!(
        (&refused.json()["code"], &refused.json()["message"]),
        (&json!("invalid_header"), &json!(message))
    );
}
