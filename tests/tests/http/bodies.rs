//! Bodies on the wire: their bounds, their framing, and answers to requests whose body was not read.

use std::io::Write;
use std::net::Shutdown;

use petstore_domain::Plan;
use serde_json::json;

use crate::faulty::shop_with_write_barrier;
use crate::fixture::{Fixture, request};
use crate::harness::{Client, Connection, Shop, ShopOptions};

const MIB: usize = 1 << 20;

/// A valid category of exactly `bytes` bytes.
fn category_of(bytes: usize) -> Vec<u8> {
    let mut body = json!({"name": "Cats"}).to_string().into_bytes();
    body.resize(bytes, b' ');
    body
}

/// The head of a request whose body comes in chunks.
fn chunked(client: &Client, path: &str) -> Vec<u8> {
    let headers = [("content-type", "application/json"), ("transfer-encoding", "chunked")];
    request(client, "POST", path, &headers, b"")
}

fn chunk(data: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", data.len()).into_bytes();
    chunk.extend_from_slice(data);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

#[test]
fn a_body_of_a_mebibyte_is_taken_and_a_byte_more_is_413() {
    let fixture = Fixture::open();
    let json = [("content-type", "application/json")];
    let post = |bytes| fixture.client.send_bytes("POST", "/v1/categories", &json, Some(&category_of(bytes)));
    let refused = post(MIB + 1);
    assert_eq!(refused.outcome(), (413, "body_too_large".to_owned()));
    assert_eq!(
        (refused.number("x-ratelimit-limit"), refused.header("connection")),
        (1_000_000, Some("close"))
    );
    assert_eq!(post(MIB).status, 201);
}

#[test]
fn a_body_in_chunks_has_the_same_bound() {
    let fixture = Fixture::open();
    for (bytes, status) in [(MIB + 1, 413), (MIB, 201)] {
        let mut connection = Connection::open(fixture.client.address);
        let mut whole = chunked(&fixture.client, "/v1/categories");
        for piece in category_of(bytes).chunks(60_000) {
            whole.extend(chunk(piece));
        }
        whole.extend_from_slice(b"0\r\n\r\n");
        connection.send(&whole);
        let answer = connection.read_answer(false).expect("the answer arrives");
        assert_eq!(answer.status, status, "{bytes} bytes");
    }
}

#[test]
fn the_bound_is_a_setting() {
    let mut options = ShopOptions::default();
    options.http.bounds.body = 100;
    let fixture = Fixture::open_as(options);
    let json = [("content-type", "application/json")];
    let post = |bytes| fixture.client.send_bytes("POST", "/v1/categories", &json, Some(&category_of(bytes)));
    assert_eq!(post(101).outcome(), (413, "body_too_large".to_owned()));
    assert_eq!(post(100).status, 201);
}

#[test]
fn a_body_whose_content_length_is_too_long_is_not_read() {
    let mut options = ShopOptions::default();
    options.http.bounds.body = 100;
    let fixture = Fixture::open_as(options);
    let mut connection = Connection::open(fixture.client.address);
    let headers = [("expect", "100-continue")];
    let mut head = request(&fixture.client, "POST", "/v1/categories", &headers, &category_of(101));
    head.truncate(head.len() - 101);
    connection.send(&head);
    let answer = connection.read_answer(false).expect("an answer");
    assert_eq!(answer.outcome(), (413, "body_too_large".to_owned()));
    assert!(connection.is_closed());
}

#[test]
fn a_wrongly_framed_body_is_answered_with_connection_close() {
    let fixture = Fixture::open();
    let mut connection = Connection::open(fixture.client.address);
    let mut bytes = chunked(&fixture.client, "/v1/categories");
    bytes.extend_from_slice(b"no size\r\n");
    connection.send(&bytes);
    let answer = connection.read_answer(false).expect("an answer");
    assert_eq!(answer.outcome(), (400, "invalid_json".to_owned()));
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(connection.is_closed());
}

#[test]
fn a_refused_body_of_two_mebibytes_still_gets_its_answer_and_the_next_request_is_served() {
    let fixture = Fixture::open();
    let anonymous = fixture.shop.anonymous();
    let large = vec![b'x'; 2 * MIB];
    for _ in 0..10 {
        for (client, path, status) in [
            (&anonymous, "/v1/pets", 401),
            (&fixture.client, "/v1/nothing", 404),
            (&fixture.client, "/v1/pets", 413),
            (&fixture.client, "/v1/rate-limit", 405),
            (&anonymous, "/health", 405),
        ] {
            let mut connection = Connection::open(client.address);
            let bytes = request(client, "POST", path, &[], &large);
            let (half, rest) = bytes.split_at(bytes.len() / 2);
            connection.send(half);
            // The answer has been sent, but the client reads it only after it has sent everything. The server must not
            // reset the connection meanwhile, because a reset could discard the answer.
            connection.socket().peek(&mut [0]).unwrap();
            for piece in rest.chunks(64 * 1024) {
                connection.socket().write_all(piece).unwrap();
            }
            let answer = connection.read_answer(false).expect("the answer arrives");
            assert_eq!(answer.status, status, "{path}");
            assert_eq!(answer.header("connection"), Some("close"));
        }
    }
    assert_eq!(fixture.client.get("/v1/pets").status, 200);
}

#[test]
fn a_small_refused_body_is_discarded_and_the_connection_stays_open() {
    let shop = Shop::open();
    let mut connection = Connection::open(shop.address());
    for bytes in [1, 1_000, 60_000] {
        let body = vec![b'x'; bytes];
        connection.send(&request(&shop.anonymous(), "POST", "/v1/pets", &[], &body));
        let refused = connection.read_answer(false).unwrap();
        assert_eq!((refused.status, refused.header("connection")), (401, None), "{bytes}");
    }
    connection.send(&request(&shop.anonymous(), "GET", "/health", &[], b""));
    assert_eq!(connection.read_answer(false).unwrap().status, 200);
}

#[test]
fn a_client_that_waits_for_100_gets_it_or_the_refusal() {
    let fixture = Fixture::open();
    let body = category_of(50);
    let head_of = |client: &Client, path: &str| {
        let mut head = request(client, "POST", path, &[("expect", "100-continue")], &body);
        head.truncate(head.len() - body.len());
        head
    };
    let mut connection = Connection::open(fixture.client.address);
    connection.send(&head_of(&fixture.client, "/v1/categories"));
    assert_eq!(connection.read_answer(false).unwrap().status, 100);
    connection.send(&body);
    assert_eq!(connection.read_answer(false).unwrap().status, 201);
    // The connection stays open after the answer.
    connection.send(&request(&fixture.client, "GET", "/health", &[], b""));
    assert_eq!(connection.read_answer(false).unwrap().status, 200);
    for (client, path, status) in [
        (&fixture.shop.anonymous(), "/v1/categories", 401),
        (&fixture.client, "/v1/nothing", 404),
        (&fixture.client, "/v1/rate-limit", 405),
    ] {
        let mut connection = Connection::open(client.address);
        connection.send(&head_of(client, path));
        let answer = connection.read_answer(false).unwrap();
        assert_eq!((answer.status, answer.header("connection")), (status, Some("close")), "{path}");
        assert!(connection.is_closed(), "the body is not waited for");
    }
    let mut connection = Connection::open(fixture.client.address);
    let headers =
        [("expect", "100-continue"), ("content-type", "application/json"), ("content-length", "9999999")];
    connection.send(&request(&fixture.client, "POST", "/v1/categories", &headers, b""));
    assert_eq!(connection.read_answer(false).unwrap().outcome(), (413, "body_too_large".to_owned()));
}

#[test]
fn a_body_that_ends_early_or_is_framed_wrongly_creates_nothing() {
    let fixture = Fixture::open();
    let early = |bytes: &[u8]| {
        let mut connection = Connection::open(fixture.client.address);
        connection.send(bytes);
        connection.socket().shutdown(Shutdown::Write).unwrap();
        connection.read_answer(false)
    };
    let whole = request(&fixture.client, "POST", "/v1/categories", &[], &category_of(50));
    let mut bad_chunk = chunked(&fixture.client, "/v1/categories");
    bad_chunk.extend_from_slice(b"zz\r\n{}\r\n0\r\n\r\n");
    let mut no_end = chunked(&fixture.client, "/v1/categories");
    no_end.extend(chunk(&category_of(50)));
    for bytes in [&whole[..whole.len() - 1], &whole[..whole.len() - 49], &bad_chunk, &no_end] {
        let answer = early(bytes);
        assert!(answer.is_none_or(|answer| answer.status == 400), "an answer or none, but no success");
    }
    let categories = fixture.client.get("/v1/categories").json();
    assert_eq!(categories.as_array().unwrap().len(), 1, "{categories}");
}

#[test]
fn no_request_is_smuggled_in_a_body() {
    let fixture = Fixture::open();
    let inner = String::from_utf8(request(&fixture.client, "DELETE", "/v1/categories/1", &[], b"")).unwrap();
    // Framings with which two programs may disagree about the end of the body.
    for framing in [
        "content-length: 2\r\ncontent-length: 3\r\n",
        "content-length: 2\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 2\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding: xchunked\r\n",
        "content-length: +2\r\n",
        "content-length: 2,2\r\n",
        "content-length: 0x2\r\n",
    ] {
        let key = fixture.client.key.as_deref().unwrap();
        let head = format!(
            "POST /v1/categories HTTP/1.1\r\nhost: h\r\nx-api-key: {key}\r\n\
             content-type: application/json\r\n{framing}\r\n"
        );
        let mut connection = Connection::open(fixture.client.address);
        connection.send(format!("{head}0\r\n\r\n{inner}").as_bytes());
        connection.socket().shutdown(Shutdown::Write).unwrap();
        let refused = connection.read_answer(false).unwrap();
        assert_eq!(refused.status, 400, "{framing}");
        assert!(connection.read_answer(false).is_none(), "{framing}: a second answer");
        assert_eq!(fixture.client.get("/v1/categories/1").status, 200, "{framing}");
    }
}

#[test]
fn a_client_that_has_closed_its_half_gets_its_answer() {
    let (shop, barrier) = shop_with_write_barrier(ShopOptions::default());
    let fixture = Fixture::open_in(shop);
    let half_closed = |bytes: &[u8]| {
        let mut connection = Connection::open(fixture.client.address);
        connection.send(bytes);
        connection.socket().shutdown(Shutdown::Write).unwrap();
        connection
    };
    let get = request(&fixture.client, "GET", "/v1/pets", &[], b"");
    assert_eq!(half_closed(&get).read_answer(false).expect("an answer at once").status, 200);
    let post = request(&fixture.client, "POST", "/v1/categories", &[], &category_of(50));
    barrier.close();
    let mut connection = half_closed(&post);
    barrier.wait_for_one();
    // After these requests both threads of the server have noticed that this client closed its sending side.
    for _ in 0..40 {
        assert_eq!(fixture.client.get("/health").status, 200);
    }
    barrier.open();
    assert_eq!(connection.read_answer(false).expect("an answer that takes its time").status, 201);
    assert!(connection.is_closed());
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let fixture = Fixture::open();
    let mut connection = Connection::open(fixture.client.address);
    let mut batch = Vec::new();
    for number in 0..50 {
        let name = json!({"name": format!("c{number}")}).to_string();
        batch.extend(request(&fixture.client, "POST", "/v1/categories", &[], name.as_bytes()));
        batch.extend(request(&fixture.client, "GET", &format!("/v1/categories?name=c{number}"), &[], b""));
        // A refused request whose body was not read does not block the next request.
        batch.extend(request(&fixture.client, "POST", "/v1/nothing", &[], b"{}"));
    }
    connection.send(&batch);
    for number in 0..50 {
        let made = connection.read_answer(false).unwrap();
        assert_eq!(made.json()["name"], format!("c{number}"));
        assert_eq!(connection.read_answer(false).unwrap().json(), json!([made.json()]));
        assert_eq!(connection.read_answer(false).unwrap().status, 404);
    }
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    let mut connection = Connection::open(client.address);
    for byte in request(&client, "POST", "/v1/categories", &[], &category_of(30)) {
        connection.socket().write_all(&[byte]).unwrap();
    }
    assert_eq!(connection.read_answer(false).unwrap().status, 201);
}
