//! Deadlines: slow clients are disconnected.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use petstore_domain::Plan;
use petstore_http::Deadlines;

use crate::fixture::request;
use crate::harness::{Connection, Shop, ShopOptions};

/// A deadline that no test reaches, so that only the deadline under test takes effect.
const LONG: Duration = Duration::from_secs(30);

const LENIENT: Deadlines = Deadlines {
    head: LONG,
    body: LONG,
    idle: LONG,
    idle_crowded: LONG,
    write_stall: LONG,
    stream_stall: LONG,
    drain: LONG,
    turn: LONG,
    stream_lifetime: Deadlines::DEFAULT.stream_lifetime,
    stream_silence: Deadlines::DEFAULT.stream_silence,
};

/// A deadline that is short, but longer than a request of a healthy client takes on a busy machine.
const SHORT: Duration = Duration::from_millis(500);

fn shop(deadlines: Deadlines) -> Shop {
    let mut options = ShopOptions::default();
    options.http.deadlines = deadlines;
    Shop::open_as(options)
}

/// Sends bytes one by one, with a pause after each so that it arrives separately, until the server answers or closes.
/// Returns the number of bytes that were sent.
fn drip(connection: &mut Connection, bytes: impl Iterator<Item = u8>) -> usize {
    let socket = connection.socket().try_clone().unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut sent = 0;
    for byte in bytes {
        // Sending stops when the server's answer has arrived or the connection has ended.
        if (&socket).write_all(&[byte]).is_err() || socket.peek(&mut [0]).is_ok() {
            break;
        }
        sent += 1;
    }
    socket.set_read_timeout(Some(LONG)).unwrap();
    sent
}

#[test]
fn a_head_that_arrives_too_slowly_is_408_and_closed() {
    let shop = shop(Deadlines { head: SHORT, ..LENIENT });
    let mut connection = Connection::open(shop.address());
    connection.send(b"GET /health HTTP/1.1\r\nx-slow: ");
    drip(&mut connection, std::iter::repeat_n(b'x', 10_000));
    let answer = connection.read_answer(false).expect("a courtesy");
    assert_eq!(answer.outcome(), (408, "request_timeout".to_owned()));
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(connection.is_closed());
    for (name, value) in [("cache-control", "no-store"), ("x-content-type-options", "nosniff")] {
        assert_eq!(answer.header(name), Some(value), "as on every answer");
    }
    let next = shop.anonymous().get("/health");
    let ids = [&answer, &next].map(|one| one.header("x-request-id").expect("an id").to_owned());
    assert!(ids[0].len() == ids[1].len() && ids[0] != ids[1], "{ids:?}");
}

#[test]
fn the_head_of_a_later_request_has_the_same_deadline() {
    let shop = shop(Deadlines { head: SHORT, ..LENIENT });
    let client = shop.client(Plan::Business);
    let mut connection = Connection::open(client.address);
    connection.send(&request(&client, "GET", "/v1/pets", &[], b""));
    assert_eq!(connection.read_answer(false).unwrap().status, 200);
    connection.send(b"GET /v1/pets HTTP/1.1\r\n");
    assert_eq!(connection.read_answer(false).expect("a courtesy").status, 408);
    assert!(connection.is_closed());
}

#[test]
fn a_body_that_arrives_too_slowly_is_408_and_closed() {
    let shop = shop(Deadlines { body: SHORT, ..LENIENT });
    let client = shop.client(Plan::Business);
    let mut connection = Connection::open(client.address);
    let mut bytes = request(&client, "POST", "/v1/categories", &[], &[b' '; 10_000]);
    bytes.truncate(bytes.len() - 10_000);
    connection.send(&bytes);
    drip(&mut connection, std::iter::repeat_n(b' ', 9_000));
    let answer = connection.read_answer(false).expect("an answer");
    assert_eq!(answer.outcome(), (408, "request_timeout".to_owned()));
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(answer.number("x-ratelimit-remaining"), 999, "it was admitted, and counts");
    assert!(connection.is_closed());
}

#[test]
fn a_body_of_a_refused_type_of_which_nothing_comes_is_415_and_closed() {
    let shop = shop(LENIENT);
    let client = shop.client(Plan::Business);
    let key = client.key.clone().unwrap();
    let mut connection = Connection::open(client.address);
    let head = format!(
        "POST /v1/categories HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {key}\r\ncontent-type: text/plain\r\n\
         transfer-encoding: chunked\r\n\r\n"
    );
    connection.send(head.as_bytes());
    let answer = connection.read_answer(false).expect("an answer");
    assert_eq!(answer.outcome(), (415, "unsupported_media_type".to_owned()));
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(connection.is_closed());
}

#[test]
fn a_second_wait_for_a_late_body_does_not_happen() {
    let shop = shop(Deadlines { body: SHORT, ..LENIENT });
    let client = shop.client(Plan::Business);
    let mut connection = Connection::open(client.address);
    // At this speed the whole body would arrive soon after the deadline.
    let mut bytes = request(&client, "POST", "/v1/categories", &[], &[b' '; 40]);
    bytes.truncate(bytes.len() - 40);
    connection.send(&bytes);
    drip(&mut connection, std::iter::repeat_n(b' ', 40));
    let answer = connection.read_answer(false).expect("an answer");
    assert_eq!((answer.status, answer.header("connection")), (408, Some("close")));
}

#[test]
fn a_slow_refused_body_delays_its_answer_by_a_second_at_most() {
    let shop = shop(LENIENT);
    let mut connection = Connection::open(shop.address());
    let mut bytes = request(&shop.anonymous(), "POST", "/v1/pets", &[], &[b' '; 10_000]);
    bytes.truncate(bytes.len() - 10_000);
    connection.send(&bytes);
    drip(&mut connection, std::iter::repeat_n(b' ', 9_000));
    let answer = connection.read_answer(false).expect("an answer");
    assert_eq!((answer.status, answer.header("connection")), (401, Some("close")));
}

#[test]
fn an_idle_connection_is_closed_without_an_answer() {
    let shop = shop(Deadlines { idle: SHORT, ..LENIENT });
    let client = shop.client(Plan::Business);
    assert!(Connection::open(client.address).is_closed(), "one without a request");
    let mut connection = Connection::open(client.address);
    connection.send(&request(&client, "GET", "/v1/pets", &[], b""));
    assert_eq!(connection.read_answer(false).unwrap().status, 200);
    assert!(connection.is_closed(), "one that is idle after a request");
}

#[test]
fn a_client_that_never_reads_is_dropped() {
    let shop = shop(Deadlines { write_stall: SHORT, ..LENIENT });
    let mut connection = Connection::open(shop.address());
    connection.socket().set_write_timeout(Some(LONG)).unwrap();
    let batch: Vec<u8> =
        (0..100).flat_map(|_| request(&shop.anonymous(), "GET", "/openapi.yaml", &[], b"")).collect();
    // The client reads nothing, so a write fails or blocks once the kernel's buffers on both sides are full.
    let error = loop {
        if let Err(error) = connection.socket().write_all(&batch) {
            break error;
        }
    };
    assert!(
        !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut),
        "{error}"
    );
    assert_eq!(shop.anonymous().get("/health").status, 200);
}

/// The ports of a connection as the kernel's table of sockets shows them: first the server's, then the client's.
fn ports(socket: &TcpStream) -> [String; 2] {
    [socket.peer_addr(), socket.local_addr()].map(|address| format!(":{:04X}", address.unwrap().port()))
}

/// The unsent bytes in the kernel for the client of this connection; none if the kernel has no such connection.
fn unsent_to([near, far]: &[String; 2]) -> Option<u64> {
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    sockets.lines().find_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let is_it = fields[1].ends_with(near) && fields[2].ends_with(far);
        is_it.then(|| u64::from_str_radix(fields[4].split(':').next().unwrap(), 16).unwrap())
    })
}

#[test]
fn the_kernel_keeps_little_for_a_client_that_takes_nothing_and_nothing_when_it_is_dropped() {
    const LITTLE: u64 = 512 * 1024;
    let shop = shop(Deadlines { write_stall: SHORT, ..LENIENT });
    let mut connection = Connection::open(shop.address());
    // The ports are read now, because the connection has no peer address after the server has dropped it.
    let ports = ports(connection.socket());
    let batch: Vec<u8> =
        (0..100).flat_map(|_| request(&shop.anonymous(), "GET", "/openapi.yaml", &[], b"")).collect();
    connection.send(&batch);
    let mut most = 0;
    while let Some(unsent) = unsent_to(&ports) {
        most = most.max(unsent);
    }
    assert!((1..LITTLE).contains(&most), "{most}");
}

/// Waits as long as the idle deadline: opens a connection, leaves it idle, and waits until the server has closed it.
fn wait_out_an_idle_one(shop: &Shop) {
    assert!(Connection::open(shop.address()).is_closed());
}

#[test]
fn a_client_that_reads_slowly_is_not_dropped() {
    const PACE: Duration = Duration::from_millis(100);
    let shop = shop(Deadlines { idle: PACE, write_stall: 10 * PACE, ..LENIENT });
    let mut connection = Connection::open(shop.address());
    let batch: Vec<u8> =
        (0..60).flat_map(|_| request(&shop.anonymous(), "GET", "/openapi.yaml", &[], b"")).collect();
    connection.send(&batch);
    for number in 0..60 {
        // The remaining answers do not fit in the kernel's buffers, so the server's write is blocked for longer in
        // total than the limit for one fixture.
        if number % 4 == 0 {
            wait_out_an_idle_one(&shop);
        }
        assert_eq!(connection.read_answer(false).expect("it goes on").text(), crate::harness::OPENAPI);
    }
}

#[test]
fn a_client_that_reads_its_last_answer_late_is_not_idle() {
    let shop = shop(Deadlines { idle: SHORT, ..LENIENT });
    let ask = |path: &str| request(&shop.anonymous(), "GET", path, &[], b"");
    // The total size of the answers varies, so that for some clients the kernel's buffers hold all but a part of the
    // last answer.
    let sizes = (1..8).flat_map(|long| (0..6).map(move |short| (50 * short, long)));
    let clients: Vec<_> = sizes
        .map(|(short, long)| {
            let mut connection = Connection::open(shop.address());
            connection.send(&[ask("/health").repeat(short), ask("/openapi.yaml").repeat(long)].concat());
            (short, long, connection)
        })
        .collect();
    wait_out_an_idle_one(&shop);
    wait_out_an_idle_one(&shop);
    for (short, long, mut connection) in clients {
        let answers: Vec<_> = (0..short + long).map_while(|_| connection.read_answer(false)).collect();
        assert_eq!(answers.len(), short + long, "of {short} short ones and {long} long ones");
        assert_eq!(answers[short + long - 1].text(), crate::harness::OPENAPI);
    }
}

#[test]
fn slow_clients_do_not_delay_others() {
    let shop = shop(LENIENT);
    let client = shop.client(Plan::Business);
    let slow: Vec<_> = (0..200)
        .map(|number| {
            let mut connection = Connection::open(client.address);
            connection.send(&b"GET /v1/pets HTTP/1.1\r\nhost: h\r\n"[..number % 30]);
            connection
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(client.get("/v1/pets").status, 200);
    }
    drop(slow);
}

#[test]
fn a_head_that_begins_behind_another_request_has_the_deadline_too() {
    let shop = shop(Deadlines { head: SHORT, idle: SHORT, ..LENIENT });
    let client = shop.client(Plan::Business);
    let mut connection = Connection::open(client.address);
    let mut bytes = request(&client, "GET", "/v1/pets", &[], b"");
    // This incomplete head arrives together with the previous request. The connection counts as idle until another byte
    // arrives.
    bytes.extend_from_slice(b"GET /v1/pets HTTP/1.1\r\n");
    connection.send(&bytes);
    assert_eq!(connection.read_answer(false).unwrap().status, 200);
    assert!(connection.is_closed());
}
