//! Request heads: their bounds, and malformed heads that a parser must refuse.

use petstore_domain::Plan;

use crate::fixture::request;
use crate::harness::{Answer, Client, Connection, Shop};

fn raw(client: &Client, bytes: &[u8]) -> Option<Answer> {
    let mut connection = Connection::open(client.address);
    connection.send(bytes);
    connection.read_answer(false)
}

#[test]
fn a_target_has_at_most_8_kib() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    let target = |bytes: usize| format!("/v1/pets?{}", "&".repeat(bytes - "/v1/pets?".len()));
    assert_eq!(client.get(&target(8_192)).status, 200);
    for bytes in [8_193, 16_000] {
        let answer = client.get(&target(bytes));
        assert_eq!(answer.outcome(), (414, "uri_too_long".to_owned()), "{bytes}");
        assert!(answer.header("x-request-id").is_some());
    }
    assert_eq!(client.get(&format!("/{}", "x".repeat(9_000))).status, 414, "outside the base path too");
}

#[test]
fn a_head_has_at_most_16_kib() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    let get = |bytes: usize| client.send("GET", "/v1/pets", &[("x-long", &"x".repeat(bytes))], None);
    assert_eq!(get(15_000).status, 200);
    for bytes in [16_400, 30_000] {
        let answer = get(bytes);
        assert_eq!(answer.outcome(), (431, "headers_too_large".to_owned()), "{bytes}");
        assert_eq!(answer.header("x-ratelimit-resource"), Some("address"));
    }
    // The limit applies to the bytes of the request line, all fields and the empty line, exactly as sent.
    let whole = |bytes: usize| {
        let head = |filling: &str| request(&client, "GET", "/v1/pets", &[("x-long", filling)], b"");
        let head = head(&"x".repeat(bytes - head("").len()));
        assert_eq!(head.len(), bytes);
        raw(&client, &head).expect("an answer").outcome()
    };
    assert_eq!(whole(16_384).0, 200);
    assert_eq!(whole(16_385), (431, "headers_too_large".to_owned()));
    let many: Vec<_> = (0..90).map(|number| (format!("x-{number}"), "x".repeat(200))).collect();
    let many: Vec<_> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(client.send("GET", "/v1/pets", &many, None).outcome().0, 431, "all fields together");
}

#[test]
fn a_head_that_the_parser_refuses_is_answered_and_closed() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    let fields: Vec<_> = (0..101).map(|number| (format!("x-{number}"), "x")).collect();
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let many = request(&client, "GET", "/v1/pets", &fields, b"");
    let large = request(&client, "GET", "/v1/pets", &[("x-long", &"x".repeat(40_000))], b"");
    let long = request(&client, "GET", &format!("/v1/pets?{}", "x".repeat(40_000)), &[], b"");
    for (bytes, statuses) in [(&many, [431, 431]), (&large, [431, 431]), (&long, [414, 431])] {
        let answer = raw(&client, bytes).expect("an answer");
        assert!(statuses.contains(&answer.status), "{}", answer.status);
    }
    let malformed: [&[u8]; 12] = [
        b"\r\n\r\n \r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /v1/pets\r\n\r\n",
        b"GET /v1/pets HTTP/1.1\r\nhost\r\n\r\n",
        b"GET /v1/pets HTTP/1.1\r\nhost : h\r\n\r\n",
        b"GET /v1/pets HTTP/1.1\r\nhost: h\r\nx: a\0b\r\n\r\n",
        b"GET /v1/pets HTTP/1.1\r\nhost: h\r\n folded: x\r\n\r\n",
        b"GET  /v1/pets HTTP/1.1\r\nhost: h\r\n\r\n",
        b"GET /v1/pets HTTP/9.9\r\nhost: h\r\n\r\n",
        b"G\xC3\xA9T /v1/pets HTTP/1.1\r\nhost: h\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03",
    ];
    for bytes in malformed {
        let mut connection = Connection::open(client.address);
        connection.send(bytes);
        let _ = connection.socket().shutdown(std::net::Shutdown::Write);
        while let Some(answer) = connection.read_answer(false) {
            assert!((400..500).contains(&answer.status), "{} to {bytes:?}", answer.status);
        }
    }
    assert_eq!(client.get("/v1/pets").status, 200);
}

#[test]
fn a_path_with_bytes_beyond_ascii_is_not_found() {
    let shop = Shop::open();
    let client = shop.client(Plan::Business);
    let key = client.key.as_deref().unwrap();
    for path in [&b"/v1/p\xC3\xA9ts"[..], b"/v1/pets/\xFF", b"/v1/pets/\xD9\xA1"] {
        let mut bytes = b"GET ".to_vec();
        bytes.extend_from_slice(path);
        bytes.extend(format!(" HTTP/1.1\r\nhost: h\r\nx-api-key: {key}\r\n\r\n").bytes());
        let answer = raw(&client, &bytes).expect("an answer");
        assert!(matches!(answer.status, 400 | 404), "{} to {path:?}", answer.status);
    }
}
