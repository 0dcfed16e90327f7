//! The events that the server reports to its observer, for the log.

use std::net::{IpAddr, Shutdown};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use petstore_domain::{ApiKey, KeyPrefix, Plan};
use petstore_http::{Exchange, Observer};
use petstore_ports::StoreError;
use serde_json::json;

use crate::faulty::{FailureMode, shop_without_pets};
use crate::harness::{Client, Connection, Shop, ShopOptions};

/// An observer that records all exchanges, or only those with a fault.
pub(crate) struct RecordingObserver {
    wants_all: bool,
    lines: Mutex<Vec<Line>>,
    advice: Mutex<Vec<String>>,
}

/// One exchange, as it was reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    what: String,
    request_id: String,
    traceparent: Option<String>,
    pub(crate) client: IpAddr,
    has_account: bool,
    fault: Option<String>,
    duration: Duration,
    everything: String,
}

impl Observer for RecordingObserver {
    fn wants(&self, _status: u16, _duration: Duration, is_fault: bool) -> bool {
        self.wants_all || is_fault
    }

    fn answered(&self, exchange: &Exchange<'_>) {
        self.lines.lock().unwrap().push(Line {
            what: format!("{} {} {}", exchange.method, exchange.route, exchange.status),
            request_id: exchange.request_id.to_owned(),
            traceparent: exchange.traceparent.map(str::to_owned),
            client: exchange.client,
            has_account: exchange.account.is_some(),
            fault: exchange.fault.map(str::to_owned),
            duration: exchange.duration,
            everything: format!("{exchange:?}"),
        });
    }

    fn advise(&self, what: &str) {
        self.advice.lock().unwrap().push(what.to_owned());
    }

    fn trouble(&self, what: &str) {
        panic!("{what}");
    }
}

impl RecordingObserver {
    /// Returns the advice to the operator that the server has reported.
    pub(crate) fn advice(&self) -> Vec<String> {
        self.advice.lock().unwrap().clone()
    }

    /// The latest exchange. The server reports an exchange before it sends the answer, so a client that has its answer
    /// finds it here.
    pub(crate) fn latest(&self) -> Line {
        self.lines.lock().unwrap().last().unwrap().clone()
    }
}

pub(crate) fn observed(wants_all: bool) -> (ShopOptions, Arc<RecordingObserver>) {
    let observer =
        Arc::new(RecordingObserver { wants_all, lines: Mutex::default(), advice: Mutex::default() });
    let mut options = ShopOptions::default();
    options.http.observer = Some(Arc::clone(&observer) as Arc<dyn Observer>);
    (options, observer)
}

#[test]
fn each_answer_is_a_line_with_the_routes_template() {
    let (options, observer) = observed(true);
    let shop = Shop::open_as(options);
    let client = shop.client(Plan::Business);
    for (method, path, what) in [
        ("GET", "/v1/pets?name=secret", "GET /pets 200"),
        ("GET", "/v1/pets/12345", "GET /pets/{petId} 404"),
        ("DELETE", "/v1/store/orders/12345", "DELETE /store/orders/{orderId} 404"),
        ("PUT", "/v1/inventory/9/adjustments", "PUT /inventory/{petId}/adjustments 405"),
        ("GET", "/v1/secret", "GET - 404"),
        ("GET", "/secret", "GET - 404"),
        ("GET", "/health", "GET /health 200"),
    ] {
        let answer = client.send(method, path, &[], None);
        let line = observer.latest();
        assert_eq!(line.what, what);
        assert_eq!(Some(line.request_id.as_str()), answer.header("x-request-id"));
        assert_eq!(line.has_account, path.starts_with("/v1"), "{path}");
        assert_eq!(line.fault, None);
    }
    shop.anonymous().get("/v1/pets");
    assert_eq!((observer.latest().what.as_str(), observer.latest().has_account), ("GET /pets 401", false));
}

#[test]
fn the_wait_for_a_refused_body_is_not_part_of_the_reported_duration() {
    let (options, observer) = observed(true);
    let shop = Shop::open_as(options);
    let mut connection = Connection::open(shop.address());
    connection.send(b"POST /v1/pets HTTP/1.1\r\nhost: petstore\r\ncontent-length: 9\r\n\r\n");
    assert_eq!(connection.read_answer(false).expect("an answer").status, 401);
    let line = observer.latest();
    assert_eq!(line.what, "POST /pets 401");
    assert!(line.duration < Duration::from_secs(1), "it was waited for that long: {:?}", line.duration);
}

#[test]
fn the_wait_for_an_event_is_not_part_of_the_reported_duration() {
    let (options, observer) = observed(true);
    let shop = Shop::open_as(options);
    assert_eq!(shop.client(Plan::Business).get("/v1/events?wait=1").text(), "[]");
    let line = observer.latest();
    assert_eq!(line.what, "GET /events 200");
    assert!(line.duration < Duration::from_millis(900), "{:?}", line.duration);
}

#[test]
fn a_head_that_comes_too_late_is_a_line_and_counted() {
    let (mut options, observer) = observed(true);
    options.http.deadlines.head = Duration::from_millis(50);
    let shop = Shop::open_as(options);
    let mut connection = Connection::open(shop.address());
    connection.send(b"GET /v1/pets?name=secret HTTP/1.1\r\nx-request-id: mine\r\n");
    let answer = connection.read_answer(false).expect("a courtesy");
    let line = observer.latest();
    assert_eq!(line.what, "- - 408");
    assert_eq!(Some(line.request_id.as_str()), answer.header("x-request-id"));
    assert!(!line.has_account && line.fault.is_none() && !line.everything.contains("secret"));
    let counted: Vec<_> =
        shop.http.stats().requests.iter().map(|one| (one.route, one.method, one.status, one.count)).collect();
    assert_eq!(counted, [("-", "-", 408, 1)]);
}

#[test]
fn malformed_input_is_a_line_and_counted() {
    let (options, observer) = observed(true);
    let mut shop = Shop::open_as(options);
    let fields = "x-many: 1\r\n".repeat(101);
    for (bytes, status) in [
        ("\x16\x03\x01\x02 TLS, in the clear".to_owned(), Some(400)),
        ("GET /v1/pets?name=two words HTTP/1.1\r\nhost: a\r\n\r\n".to_owned(), Some(400)),
        (format!("GET /v1/pets?name=secret HTTP/1.1\r\n{fields}\r\n"), Some(431)),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), None),
        ("GET /health HTTP/1.1\r\nhost: ".to_owned(), None),
    ] {
        let mut connection = Connection::open(shop.address());
        connection.send(bytes.as_bytes());
        connection.socket().shutdown(Shutdown::Write).unwrap();
        assert_eq!(connection.read_answer(false).map(|answer| answer.status), status, "{bytes}");
        assert!(connection.is_closed());
    }
    // This client behaves like curl when it speaks TLS and gets an answer in plain text. It closes without reading the
    // answer, which resets the connection.
    let mut connection = Connection::open(shop.address());
    connection.send(b"\x16\x03\x01\x02 TLS, in the clear");
    connection.socket().peek(&mut [0]).unwrap();
    drop(connection);
    shop.stop();
    let lines = observer.lines.lock().unwrap();
    let mut told: Vec<_> = lines.iter().map(|line| line.what.as_str()).collect();
    told.sort_unstable();
    assert_eq!(
        told,
        ["- - 400", "- - 400", "- - 400", "- - 431"],
        "a connection without an answer is no line"
    );
    for line in &*lines {
        assert!(!line.has_account && line.fault.is_none() && !line.everything.contains("secret"));
    }
    let stats = shop.http.stats();
    let counted: Vec<_> =
        stats.requests.iter().map(|one| (one.route, one.method, one.status, one.count)).collect();
    assert_eq!(counted, [("-", "-", 400, 3), ("-", "-", 431, 1)]);
}

#[test]
fn the_clients_ids_are_in_the_line_and_nothing_that_could_be_a_secret() {
    let (options, observer) = observed(true);
    let shop = Shop::open_as(options);
    let client = shop.client(Plan::Business);
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let headers = [
        ("x-request-id", "mine.1"),
        ("traceparent", trace),
        ("cookie", "sesame"),
        ("idempotency-key", "sesame"),
    ];
    client.send("POST", "/v1/categories?q=sesame", &headers, Some(&json!({"name": "sesame"})));
    let line = observer.latest();
    assert_eq!((line.request_id.as_str(), line.traceparent.as_deref()), ("mine.1", Some(trace)));
    let key = client.key.as_deref().unwrap();
    for secret in ["sesame", key, &key[4..]] {
        assert!(!line.everything.contains(secret), "{}", line.everything);
    }
}

#[test]
fn no_part_of_an_unknown_key_is_logged() {
    let (options, observer) = observed(true);
    let shop = Shop::open_as(options);
    let key = ApiKey::from_entropy([0xAB; 32]);
    let anonymous = Client { key: Some(key.reveal().to_owned()), ..shop.anonymous() };
    assert_eq!(anonymous.get("/v1/pets").status, 401);
    let line = observer.latest();
    assert!(!line.everything.contains(&key.display_prefix().to_string()), "{}", line.everything);
    let client = shop.client(Plan::Business);
    client.get("/v1/pets");
    let prefix = &client.key.as_deref().unwrap()[..KeyPrefix::LEN];
    assert!(observer.latest().everything.contains(prefix), "the prefix of a known key is logged");
}

#[test]
fn a_panic_is_a_line_without_its_message() {
    for wants_all in [true, false] {
        let (options, observer) = observed(wants_all);
        let shop = shop_without_pets(options, FailureMode::Panics);
        shop.client(Plan::Business).get("/v1/pets/1");
        let line = observer.latest();
        assert_eq!(line.what, "GET /pets/{petId} 500");
        assert!(line.fault.is_some() && !line.everything.contains("secret"), "{}", line.everything);
    }
}

#[test]
fn an_observer_of_faults_gets_nothing_else() {
    let (options, observer) = observed(false);
    let failure = StoreError::unavailable("append").with_source(std::io::Error::other("disk full"));
    let shop = shop_without_pets(options, FailureMode::Fails(failure));
    let client = shop.client(Plan::Business);
    for path in ["/v1/categories", "/v1/nothing", "/v1/pets", "/health"] {
        client.get(path);
    }
    let lines = observer.lines.lock().unwrap().clone();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].what, "GET /pets 503");
    assert!(
        lines[0].fault.as_deref() == Some("the store is unavailable: append: disk full"),
        "the operator sees the cause, down to the driver's error: {lines:?}"
    );
}
