//! The life cycle of a server: start, readiness, drain, stop.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use petstore_domain::{Plan, Timestamp};
use petstore_http::{Deadlines, Http, Server};
use petstore_ports::StoreError;
use petstore_ports::api::{ClockChange, ClockState, Petstore, Sandbox};
use petstore_service::Ports;
use serde_json::json;
use tokio::time::Instant;

use crate::faulty::{FailingPort, FailureMode};
use crate::fixture::{hold, request};
use crate::harness::{Client, Connection, OPENAPI, Shop, ShopOptions};

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// A second server of the same shop, which the test may stop, and its client.
fn serve(shop: &Shop) -> (Server, Client) {
    let server = shop.http.listen(ANY_PORT, NonZeroUsize::new(2).unwrap()).unwrap();
    let client = Client { address: server.local_addr(), ..shop.client(Plan::Business) };
    (server, client)
}

/// Waits until the address refuses connections.
fn wait_until_refused(address: SocketAddr) {
    let attempts = std::iter::repeat_with(|| TcpStream::connect(address)).take(20_000);
    assert!(attempts.into_iter().any(|attempt| attempt.is_err()), "new connections are still accepted");
}

#[test]
fn a_healthy_server_is_ready() {
    let shop = Shop::open();
    let health = shop.anonymous().get("/health");
    assert_eq!((health.status, health.json()), (200, json!({"status": "ok"})));
    let ready = shop.anonymous().get("/ready");
    assert_eq!((ready.status, ready.json()), (200, json!({"status": "ready"})));
}

#[test]
fn ready_names_the_checks_that_fail_and_health_does_not_ask_the_store() {
    let shop = Shop::open_over(ShopOptions::default(), |ports| {
        let mode = FailureMode::Fails(StoreError::unavailable("disk full"));
        Ports { health: Arc::new(FailingPort(mode)), ..ports }
    });
    let ready = shop.anonymous().get("/ready");
    assert_eq!(ready.outcome(), (503, "unavailable".to_owned()));
    assert_eq!(ready.details()[0].0, "store");
    assert!((1..=2).contains(&ready.number("retry-after")));
    assert_eq!(shop.anonymous().get("/health").status, 200);
}

#[test]
fn requests_to_a_held_server_are_answered_when_it_opens() {
    let shop = Shop::open();
    shop.http.hold();
    let (server, client) = serve(&shop);
    let mut early = Connection::open(client.address);
    early.send(&request(&client, "GET", "/health", &[], b""));
    early.socket().set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(early.socket().peek(&mut [0]).is_err(), "it waits");
    early.socket().set_read_timeout(None).unwrap();
    shop.http.open();
    assert_eq!(early.read_answer(false).unwrap().status, 200);
    assert_eq!(client.get("/health").status, 200);
    // A server that is never opened can be stopped too; no request is answered.
    shop.http.hold();
    let (held, client) = serve(&shop);
    let mut late = Connection::open(client.address);
    late.send(&request(&client, "GET", "/health", &[], b""));
    held.drain();
    assert!(held.join());
    assert!(late.is_closed());
    server.drain();
    assert!(server.join());
}

#[test]
fn a_request_in_flight_is_answered_during_the_drain() {
    let shop = Shop::open();
    let (server, client) = serve(&shop);
    let body = b"{\"name\": \"Dogs\"}";
    let mut held: Vec<_> = (0..4).map(|_| hold(&client, body)).collect();
    server.drain();
    wait_until_refused(client.address);
    let mut statuses: Vec<_> = held
        .iter_mut()
        .map(|connection| {
            connection.send(body);
            let answer = connection.read_answer(false).expect("the answer is owed");
            assert_eq!(answer.header("connection"), Some("close"));
            assert!(connection.is_closed());
            answer.status
        })
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409]);
    assert!(server.join(), "all answers were given");
}

#[test]
fn idle_connections_are_closed_and_a_last_request_is_answered() {
    let shop = Shop::open();
    let (server, client) = serve(&shop);
    let mut idle: Vec<_> = (0..8).map(|_| Connection::open(client.address)).collect();
    let get = request(&client, "GET", "/v1/pets", &[], b"");
    for connection in &mut idle {
        connection.send(&get);
        assert_eq!(connection.read_answer(false).unwrap().status, 200);
    }
    server.drain();
    // This request is sent after the drain has begun, on a connection from before.
    idle[0].send(&get);
    let answer = idle[0].read_answer(false).expect("it is answered");
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    assert!(idle.iter_mut().all(Connection::is_closed));
    assert!(server.join());
}

#[test]
fn idle_connections_do_not_delay_a_stop() {
    const IDLE: usize = 8;
    let shop = Shop::open();
    let (server, client) = serve(&shop);
    let get = request(&client, "GET", "/v1/pets", &[], b"");
    let mut idle: Vec<_> = (0..IDLE).map(|_| Connection::open(client.address)).collect();
    // Half of the clients have sent a request before. No client closes its side.
    for connection in &mut idle[..IDLE / 2] {
        connection.send(&get);
        assert_eq!(connection.read_answer(false).unwrap().status, 200);
    }
    let begun = Instant::now();
    server.drain();
    assert!(server.join());
    // The bound is far above the two tenths of a second that a stop takes, and below the time of a stop that waits for
    // clients to close their side.
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    assert!(idle.iter_mut().all(Connection::is_closed));
}

#[test]
fn pipelined_requests_at_a_stop_get_an_answer_that_says_that_it_is_the_last() {
    let shop = Shop::open();
    let (server, client) = serve(&shop);
    let get = request(&client, "GET", "/v1/pets", &[], b"");
    let mut idle = Connection::open(client.address);
    idle.send(&get);
    assert_eq!(idle.read_answer(false).unwrap().status, 200);
    server.drain();
    idle.send(&get.repeat(3));
    let answer = idle.read_answer(false).expect("it is answered");
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    assert!(idle.is_closed());
    assert!(server.join());
}

#[test]
fn a_drain_ends_at_its_deadline_and_reports_the_missing_answer() {
    let mut options = ShopOptions::default();
    options.http.deadlines = Deadlines { drain: Duration::from_millis(200), ..Deadlines::DEFAULT };
    let shop = Shop::open_as(options);
    let (server, client) = serve(&shop);
    let mut held = hold(&client, b"{}");
    server.drain();
    assert!(!server.join(), "a request was not answered");
    assert!(held.is_closed());
}

/// A sandbox on a disk that hangs until the test ends.
struct OnHungDisk {
    begun: mpsc::Sender<()>,
    end: Mutex<mpsc::Receiver<()>>,
}

impl Sandbox for OnHungDisk {
    fn new_epoch(&self) -> Result<u64, StoreError> {
        Ok(1)
    }

    fn reset(&self, _epoch: u64) -> Result<(), StoreError> {
        self.begun.send(()).unwrap();
        let _ = self.end.lock().unwrap().recv_timeout(Duration::from_mins(1));
        Err(StoreError::unavailable("the disk is back"))
    }

    fn clock(&self) -> ClockState {
        ClockState { now: Timestamp::EPOCH, frozen: false }
    }

    fn machine_time(&self) -> Timestamp {
        Timestamp::EPOCH
    }

    fn set_clock(&self, _turn: ClockChange) -> Result<ClockState, StoreError> {
        Ok(self.clock())
    }
}

#[test]
fn a_reset_that_hangs_does_not_delay_the_drain() {
    let ((begun, has_begun), (end, ended)) = (mpsc::channel(), mpsc::channel());
    let sandbox = Arc::new(OnHungDisk { begun, end: Mutex::new(ended) });
    let mut options = ShopOptions::default();
    options.http.deadlines = Deadlines { drain: Duration::from_millis(200), ..Deadlines::DEFAULT };
    options.http.sandbox = Some(Arc::clone(&sandbox) as Arc<dyn Sandbox>);
    let shop = Shop::open_as(options);
    let (server, client) = serve(&shop);
    let mut caller = Connection::open(client.address);
    caller.send(&request(&client, "POST", "/sandbox/reset", &[], b""));
    has_begun.recv().unwrap();
    server.drain();
    assert!(!server.join(), "the reset was not answered");
    assert!(caller.is_closed());
    assert!(sandbox.end.try_lock().is_err(), "the reset still waits");
    end.send(()).unwrap();
}

#[test]
fn the_listeners_of_a_shop_share_one_drain_deadline() {
    let open = || {
        let mut options = ShopOptions::default();
        options.http.deadlines = Deadlines { drain: Duration::from_secs(1), ..Deadlines::DEFAULT };
        Shop::open_as(options)
    };
    let (shop, other) = (open(), open());
    let [(first, client), (second, next)] = [serve(&shop), serve(&shop)];
    let (elsewhere, anonymous) = serve(&other);
    let _held = [&client, &next].map(|client| hold(client, b"{}"));
    let mut fresh = hold(&anonymous, b"{}");
    first.drain();
    assert!(!first.join());
    // The first server has used up the drain time of its shop, so the second server of that shop has none left. The
    // server of the other shop has its full time.
    elsewhere.drain();
    second.drain();
    assert!(!second.join());
    fresh.socket().set_nonblocking(true).unwrap();
    assert!(!fresh.is_closed());
    assert!(!elsewhere.join());
}

#[test]
fn the_threads_that_serve_the_contract_count_their_idle_time() {
    let options = ShopOptions::default();
    let idle = options.http.idle.clone();
    let shop = Shop::open_as(options);
    let ops = shop.http.listen_ops(ANY_PORT).unwrap();
    let operator = Client { address: ops.local_addr(), key: None };
    assert_eq!(operator.get("/health").status, 200);
    while idle.threads() < 2 {
        std::thread::yield_now();
    }
    assert_eq!(idle.threads(), 2, "threads of the operator's listener are not counted");
    let before = idle.time();
    // If the server did not count idle time, this loop would not end.
    while idle.time() == before {
        std::thread::yield_now();
    }
    ops.drain();
    assert!(ops.join());
}

#[test]
fn while_it_stops_a_server_is_healthy_but_not_ready() {
    let shop = Shop::open();
    let (server, client) = serve(&shop);
    let ops = shop.http.listen_ops(ANY_PORT).unwrap();
    let held = hold(&client, b"{}");
    let mut open = Connection::open(client.address);
    open.send(&request(&shop.anonymous(), "GET", "/ready", &[], b""));
    assert_eq!(open.read_answer(false).unwrap().status, 200);
    server.drain();
    // This request is on a connection that was opened before the drain.
    open.send(&request(&shop.anonymous(), "GET", "/ready", &[], b""));
    assert_eq!(open.read_answer(false).unwrap().outcome(), (503, "unavailable".to_owned()));
    let asks = Client { address: ops.local_addr(), key: None };
    let ready = asks.get("/ready");
    assert_eq!(ready.outcome(), (503, "unavailable".to_owned()));
    assert_eq!(ready.details(), [("drain".to_owned(), "failed".to_owned())]);
    assert_eq!(asks.get("/health").status, 200);
    drop(held);
    assert!(server.join());
    ops.drain();
    assert!(ops.join());
}

#[test]
fn operator_endpoints_may_have_their_own_listener() {
    let shop = Shop::open();
    let http = Http::new(Arc::clone(&shop.service) as Arc<dyn Petstore>, ShopOptions::default().http, true);
    let public = http.listen(ANY_PORT, NonZeroUsize::MIN).unwrap();
    let ops = http.listen_ops(ANY_PORT).unwrap();
    let client = Client { address: public.local_addr(), ..shop.client(Plan::Business) };
    let operator = Client { address: ops.local_addr(), ..client.clone() };
    for path in ["/health", "/ready"] {
        assert_eq!((client.get(path).status, operator.get(path).status), (404, 200), "{path}");
    }
    for path in ["/v1/pets", "/openapi.yaml", "/openapi.json"] {
        assert_eq!((client.get(path).status, operator.get(path).status), (200, 404), "{path}");
    }
    let nothing = operator.get("/v1/pets");
    assert_eq!(nothing.outcome(), (404, "not_found".to_owned()));
    assert_eq!(
        nothing.json()["message"],
        "This path does not exist; this listener serves /health, /ready.",
        "no metrics without an exposition"
    );
    for server in [public, ops] {
        server.drain();
        assert!(server.join());
    }
}

#[test]
fn an_address_in_use_cannot_be_listened_on() {
    let shop = Shop::open();
    let refused = shop.http.listen(shop.address(), NonZeroUsize::MIN).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::AddrInUse);
    assert_eq!(shop.anonymous().get("/health").status, 200);
}

#[test]
fn connections_beyond_the_bound_wait_for_a_place() {
    let mut options = ShopOptions::default();
    options.http.bounds.connections = 1;
    let shop = Shop::open_as(options);
    let server = shop.http.listen(ANY_PORT, NonZeroUsize::MIN).unwrap();
    let get = request(&shop.anonymous(), "GET", "/health", &[], b"");
    let mut first = Connection::open(server.local_addr());
    first.send(&get);
    assert_eq!(first.read_answer(false).unwrap().status, 200);
    let mut second = Connection::open(server.local_addr());
    second.send(&get);
    // The server has one connection at a time, so it does not serve the second client while the first is active.
    for _ in 0..20 {
        first.send(&get);
        assert_eq!(first.read_answer(false).unwrap().status, 200);
    }
    second.socket().set_nonblocking(true).unwrap();
    assert!(second.socket().peek(&mut [0]).is_err());
    second.socket().set_nonblocking(false).unwrap();
    drop(first);
    assert_eq!(second.read_answer(false).unwrap().status, 200);
    server.drain();
    assert!(server.join());
}

#[test]
fn a_connection_that_its_client_closes_is_released_soon() {
    let mut options = ShopOptions::default();
    options.http.bounds.connections = 1;
    options.http.deadlines.idle = Duration::from_mins(1);
    let shop = Shop::open_as(options);
    let server = shop.http.listen(ANY_PORT, NonZeroUsize::MIN).unwrap();
    let get = request(&shop.anonymous(), "GET", "/health", &[], b"");
    for _ in 0..30 {
        let mut connection = Connection::open(server.local_addr());
        connection.send(&get);
        assert_eq!(connection.read_answer(false).expect("the one before has made room").status, 200);
        drop(connection);
        // This client disconnects in the middle of a head.
        let mut connection = Connection::open(server.local_addr());
        connection.send(&get[..10]);
    }
    server.drain();
    assert!(server.join());
}

#[test]
fn a_connection_with_an_unread_answer_is_not_idle() {
    const ANSWERS: usize = 200;
    let mut options = ShopOptions::default();
    options.http.bounds.connections = 1;
    options.http.deadlines.idle_crowded = Duration::ZERO;
    let shop = Shop::open_as(options);
    let server = shop.http.listen(ANY_PORT, NonZeroUsize::MIN).unwrap();
    let get = request(&shop.anonymous(), "GET", "/openapi.yaml", &[], b"");
    let mut first = Connection::open(server.local_addr());
    // The answers are larger than the buffers that the kernel has for a client that does not read.
    first.send(&get.repeat(ANSWERS));
    assert_eq!(first.read_answer(false).unwrap().status, 200);
    let mut second = Connection::open(server.local_addr());
    second.send(&get);
    second.socket().set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    assert!(second.socket().peek(&mut [0]).is_err());
    second.socket().set_read_timeout(None).unwrap();
    for _ in 1..ANSWERS {
        assert_eq!(first.read_answer(false).expect("all that was asked for").text(), OPENAPI);
    }
    // The first connection is idle only now, so the second client is served.
    assert_eq!(second.read_answer(false).unwrap().status, 200);
    server.drain();
    assert!(server.join());
}
