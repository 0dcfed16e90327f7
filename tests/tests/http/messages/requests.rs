//! Messages that one request to a stocked shop provokes.

mod bodies;
mod heads;
mod parameters;

use serde_json::json;

use self::bodies::{BODIES, MALFORMED, STATES};
use self::heads::HEADS;
use self::parameters::PARAMETERS;
use super::Seen;
use crate::fixture::Fixture;
use crate::harness::Client;

/// A request line, headers, a body, and the expected messages: first the error's message, then those of its details.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static [&'static str]);

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
const ONE_ERROR: &str = "The body has 1 error: …";
const ONE_PARAMETER: &str = "1 parameter is not valid: …";

/// Sends the requests of the tables.
pub(super) fn send(seen: &mut Seen) {
    let fixture = Fixture::open();
    for units in [5, 2] {
        fixture.pet_of(units);
    }
    fixture.order(2, 1);
    let complete = fixture.order(2, 1);
    fixture.complete(complete);
    for (line, headers, body, messages) in [HEADS, PARAMETERS, BODIES, STATES].into_iter().flatten() {
        let (method, path) = line.split_once(' ').unwrap();
        let body = (!body.is_empty()).then_some(body.as_bytes());
        let answer = fixture.client.send_bytes(method, path, headers, body);
        seen.expect(&answer, line, messages);
    }
    for (body, what) in MALFORMED {
        malformed(seen, &fixture.client, body.as_bytes(), what);
    }
    malformed(seen, &fixture.client, b"\xff", "invalid UTF-8 at line 1, column 1");
    long_values(seen, &fixture.client);
    long_heads(seen, &fixture.client);
    hosts(seen, &fixture.client);
    reused_keys(seen, &fixture.client);
}

fn malformed(seen: &mut Seen, client: &Client, body: &[u8], what: &str) {
    let answer = client.send_bytes("POST", "/v1/categories", JSON, Some(body));
    let message = format!("The body is not valid JSON: {what}.");
    seen.expect(&answer, &String::from_utf8_lossy(body), &[&message]);
}

fn long_values(seen: &mut Seen, client: &Client) {
    let answer = client.get(&format!("/v1/pets?name={}", "x".repeat(101)));
    seen.expect(&answer, "a long name", &[ONE_PARAMETER, "name must have at most 100 characters."]);
    let answer = client.get(&format!("/v1/pets?id=1{}", ",1".repeat(100)));
    seen.expect(&answer, "many ids", &[ONE_PARAMETER, "id must have at most 100 values."]);
    let answer = client.get(&format!("/v1/pets?id=1{}", "&id=1".repeat(256)));
    seen.expect(&answer, "many parameters", &[ONE_PARAMETER, "The query has more than 256 parameters."]);
    let members = (0..101).map(|number| (number.to_string(), json!(1))).collect();
    let answer = client.post("/v1/categories", &serde_json::Value::Object(members));
    let summary = super::messages(&answer).swap_remove(0);
    let begin = "The body has 102 errors, of which the first 100 are listed: name is required; ";
    assert!(summary.starts_with(begin) && summary.ends_with("; and 97 more."), "{summary}");
    seen.messages.insert(summary);
    let answer = client.send_bytes("POST", "/v1/categories", JSON, Some(&vec![b' '; 1024 * 1024 + 1]));
    seen.expect(&answer, "a long body", &["The body is longer than 1048576 bytes."]);
}

fn long_heads(seen: &mut Seen, client: &Client) {
    let answer = client.get(&format!("/v1/{}", "x".repeat(8192)));
    seen.expect(&answer, "a long target", &["The request target is longer than 8192 bytes."]);
    let answer = client.send("GET", "/v1/pets", &[("x-long", &"x".repeat(16_400))], None);
    seen.expect(&answer, "a long head", &["The request head is longer than 16384 bytes."]);
}

fn hosts(seen: &mut Seen, client: &Client) {
    for (head, message) in [
        ("GET /v1/pets HTTP/1.1\r\n\r\n", "The request has no Host header."),
        ("GET /v1/pets HTTP/1.1\r\nhost: a b\r\n\r\n", "The Host header is not valid."),
        (
            "GET http://a.example/v1/pets HTTP/1.1\r\nhost: b.example\r\n\r\n",
            "The Host header does not match the host in the request target.",
        ),
    ] {
        seen.expect(&client.exchange(head.as_bytes(), false), head, &[message]);
    }
}

/// Another body under the same idempotency key.
fn reused_keys(seen: &mut Seen, client: &Client) {
    let create = |name: &str| {
        client.send("POST", "/v1/categories", &[("idempotency-key", "once")], Some(&json!({"name": name})))
    };
    assert_eq!(create("Cats").status, 201);
    let message = "This Idempotency-Key was used with a different body; use a new key.";
    seen.expect(&create("Mice"), "a key that was used", &[message]);
}
