//! Messages that one request to a stocked shop provokes.

use serde_json::json;

use super::Seen;
use crate::harness::Client;
use crate::stall::Stall;

/// A request line, headers, a body, and the expected messages: first the error's message, then those of its details.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static [&'static str]);

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
const ONE_ERROR: &str = "The body has 1 error.";
const ONE_PARAMETER: &str = "A parameter is not valid.";

/// Requests with a fault in the path, the method or a media type.
const HEADS: &[Case] = &[
    ("GET /v1/nothing", &[], "", &["This path does not exist; the OpenAPI document lists all paths."]),
    ("GET /nothing", &[], "", &["This path does not exist; the API operations are under /v1/."]),
    ("GET /v1/categories/99", &[], "", &["The resource does not exist."]),
    ("DELETE /v1/pets", &[], "", &[NOT_ALLOWED]),
    ("POST /health", &[], "", &[NOT_ALLOWED]),
    (
        "GET /v1/pets",
        &[("accept", "text/html")],
        "",
        &["The response is application/json; the Accept header must allow it."],
    ),
    (
        "GET /v1/events/stream",
        &[("accept", "application/json")],
        "",
        &["The response is text/event-stream; the Accept header must allow it."],
    ),
    (
        "POST /v1/pets",
        &[("content-type", "text/plain")],
        "x",
        &["The body must be application/json, in UTF-8."],
    ),
    (
        "PATCH /v1/pets/1",
        &[("content-type", "text/plain")],
        "x",
        &["The body must be application/merge-patch+json or application/json, in UTF-8."],
    ),
    ("POST /v1/pets", &[("content-encoding", "gzip")], "x", &["The body must not have a Content-Encoding."]),
    (
        "POST /v1/pets",
        &[("content-type", "application/json"), ("if-match", "\"1-1\"")],
        "{}",
        &["This operation does not support If-Match; send the request without it."],
    ),
    (
        "POST /v1/pets",
        &[("content-type", "application/json"), ("idempotency-key", "a"), ("idempotency-key", "b")],
        "{}",
        &["The request has more than one Idempotency-Key."],
    ),
    (
        "POST /v1/pets",
        &[("content-type", "application/json"), ("idempotency-key", "a b")],
        "{}",
        &["Idempotency-Key must be 1 to 255 visible ASCII characters, quoted or unquoted."],
    ),
    (
        "DELETE /v1/pets/1",
        &[("if-match", "1")],
        "",
        &["If-Match must be a list of entity tags or an asterisk."],
    ),
    (
        "GET /v1/pets/1",
        &[("if-none-match", "1")],
        "",
        &["If-None-Match must be a list of entity tags or an asterisk."],
    ),
    (
        "DELETE /v1/pets/1",
        &[("if-match", "\"1-1\"")],
        "",
        &["The resource has changed since it was read; read it again."],
    ),
    ("DELETE /v1/pets/1", &[("if-none-match", "*")], "", &["The resource matches If-None-Match."]),
    ("GET /v1/pets", &[("host", "other")], "", &["The request has more than one Host header."]),
    (
        "GET /v1/pets",
        &[("transfer-encoding", "gzip, chunked")],
        "",
        &["The Transfer-Encoding is not supported; only chunked is, and only once."],
    ),
    (
        "POST /v1/categories",
        &[("content-type", "application/json"), ("transfer-encoding", "chunked")],
        "no chunk",
        &["The body ended early or its framing is not valid."],
    ),
];

const NOT_ALLOWED: &str =
    "This path does not support the method; the Allow header lists the supported methods.";

/// Requests with a fault in the query or in the id of the path.
const PARAMETERS: &[Case] = &[
    ("GET /v1/pets/abc", &[], "", &[NOT_AN_ID, NOT_AN_ID]),
    (
        "GET /v1/pets?cursor=x",
        &[],
        "",
        &["The cursor is not valid for this sort order and these filters; start from the first page."],
    ),
    (
        "GET /v1/pets?limit=0&colour=1",
        &[],
        "",
        &[
            "2 parameters are not valid.",
            "limit must be between 1 and 100.",
            "colour is not a parameter of this operation.",
        ],
    ),
    (
        "GET /v1/pets?limit=01",
        &[],
        "",
        &[ONE_PARAMETER, "limit must be a decimal number without sign or leading zeros."],
    ),
    ("GET /v1/pets?limit=1&limit=2", &[], "", &[ONE_PARAMETER, "limit must not be repeated."]),
    ("GET /v1/pets?sort=name", &[], "", &[ONE_PARAMETER, "sort must be id or -id."]),
    ("GET /v1/store/orders?complete=1", &[], "", &[ONE_PARAMETER, "complete must be true or false."]),
    ("GET /v1/pets?status=new", &[], "", &[ONE_PARAMETER, "status must be one of available, pending, sold."]),
    ("GET /v1/pets?name=", &[], "", &[ONE_PARAMETER, "name must not be empty."]),
    ("GET /v1/pets?name=%zz", &[], "", &[ONE_PARAMETER, "name must be percent-encoded UTF-8."]),
    (
        "GET /v1/pets?categoryId=0",
        &[],
        "",
        &[ONE_PARAMETER, "categoryId must be between 1 and 9007199254740991."],
    ),
    ("GET /v1/events/abc", &[], "", &[NOT_AN_EVENT, NOT_AN_EVENT]),
    ("GET /v1/events?wait=31", &[], "", &[ONE_PARAMETER, "wait must be from 0 to 30 seconds."]),
    (
        "GET /v1/events?type=order.lost",
        &[],
        "",
        &[
            ONE_PARAMETER,
            "type must be types of events such as order.placed, or order.* for all of a resource.",
        ],
    ),
    (
        "GET /v1/events?after=abc",
        &[],
        "",
        &[ONE_PARAMETER, "after must be an id of an event: evt_ and 22 letters or digits."],
    ),
    (
        "GET /v1/events?sort=-id&after=evt_0000000000000000000001",
        &[],
        "",
        &[ONE_PARAMETER, "after goes neither with a cursor nor with sort=-id."],
    ),
    (
        "GET /v1/events?after=evt_0000000000000000000001",
        &[],
        "",
        &[
            "The log does not have this id. The oldest place in it is evt_4GzozDqipuZAzAldp7sbFg. To begin again, read \
             /events?sort=-id&limit=1, keep its Last-Event-ID, list the resources, and go on after that id.",
        ],
    ),
    ("GET /v1/events/stream?limit=0", &[], "", &[ONE_PARAMETER, "limit must be between 1 and 10000."]),
    ("GET /v1/events/stream?wait=0", &[], "", &[ONE_PARAMETER, "wait must be from 1 to 3600 seconds."]),
    (
        "GET /v1/events/stream",
        &[("last-event-id", "abc")],
        "",
        &["Last-Event-ID must be an id of an event: evt_ and 22 letters or digits."],
    ),
    (
        "GET /v1/events/stream",
        &[("last-event-id", "a"), ("last-event-id", "b")],
        "",
        &["The request has more than one Last-Event-ID."],
    ),
    ("GET /v1/pets?=1", &[], "", &[ONE_PARAMETER, "\"\" is not a parameter of this operation."]),
];

const NOT_AN_EVENT: &str = "eventId must be an id of an event: evt_ and 22 letters or digits.";

const NOT_AN_ID: &str = "petId must be a decimal number without sign or leading zeros.";

/// Bodies that are not valid JSON, each with its expected message. All are sent as a new category.
const MALFORMED: &[(&str, &str)] = &[
    (" ", "expected a value, found the end at line 1, column 2"),
    ("{\n  \"name\": x}", "expected a value at line 2, column 11"),
    ("truth", "expected a value at line 1, column 1"),
    ("{} {}", "unexpected text after the value at line 1, column 4"),
    ("{1", "expected a member name at line 1, column 2"),
    ("{\"a\" 1", "expected a colon at line 1, column 6"),
    ("{\"a\": 1 2", "expected a comma or a closing brace at line 1, column 9"),
    ("[1 2", "expected a comma or a closing bracket at line 1, column 4"),
    ("{\"a\": 1, \"a\": 1}", "duplicate member name at line 1, column 10"),
    ("\"a", "unterminated string at line 1, column 3"),
    ("\"\n\"", "unescaped control character at line 1, column 2"),
    ("\"\\x\"", "invalid escape sequence at line 1, column 2"),
    ("-", "expected a digit at line 1, column 2"),
    ("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "nested too deeply at line 1, column 33"),
];

/// Bodies that break the rules of a resource.
const BODIES: &[Case] = &[
    ("POST /v1/categories", JSON, "[]", &[ONE_ERROR, "The body must be a JSON object."]),
    (
        "POST /v1/pets",
        JSON,
        "{\"id\": 1, \"name\": 1, \"colour\": 1}",
        &[
            "The body has 4 errors.",
            "name must be a string.",
            "categoryId is required.",
            "id is read-only.",
            "colour is not a member of this resource.",
        ],
    ),
    (
        "POST /v1/pets",
        JSON,
        "{\"name\": null, \"categoryId\": 1.5}",
        &[
            "The body has 2 errors.",
            "name cannot be null.",
            "categoryId must be an integer without fraction or exponent.",
        ],
    ),
    (
        "POST /v1/pets",
        JSON,
        "{\"name\": \"\\u0001\", \"categoryId\": \"1\"}",
        &[
            "The body has 2 errors.",
            "name must not contain control characters.",
            "categoryId must be an integer.",
        ],
    ),
    (
        "POST /v1/pets",
        JSON,
        "{\"name\": \"\\u200b\", \"categoryId\": 0}",
        &[
            "The body has 2 errors.",
            "name must contain a visible character.",
            "categoryId must be between 1 and 9007199254740991.",
        ],
    ),
    (
        "PUT /v1/pets/1",
        JSON,
        "{\"name\": \"Rex\", \"categoryId\": 1, \"id\": 2}",
        &[ONE_ERROR, "id must equal the id in the path."],
    ),
    (
        "PATCH /v1/store/orders/1",
        JSON,
        "{\"shipDate\": \"today\", \"complete\": 1}",
        &[
            "The body has 2 errors.",
            "shipDate must be an RFC 3339 date and time with an offset, such as 2030-12-05T14:30:00Z.",
            "complete must be true or false.",
        ],
    ),
    (
        "PATCH /v1/store/orders/1",
        JSON,
        "{\"shipDate\": \"0001-01-01T00:00:00+01:00\"}",
        &[ONE_ERROR, "shipDate must be from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z in UTC."],
    ),
    (
        "PATCH /v1/store/orders/1",
        JSON,
        "{\"shipDate\": \"2030-12-05T14:30:00.0000000000000000000000000000000000000000000000Z\"}",
        &[ONE_ERROR, "shipDate must have at most 64 characters."],
    ),
    (
        "POST /v1/inventory/1/adjustments",
        JSON,
        "{\"delta\": 0}",
        &[ONE_ERROR, "delta must be between -1000000 and 1000000 and not 0."],
    ),
];

/// Requests that the state of the shop does not permit: pet 1 has five units, pet 2 has no unit and an open order, and
/// order 2 is complete.
const STATES: &[Case] = &[
    ("PATCH /v1/pets/1", JSON, "{\"categoryId\": 4711}", &["Category 4711 does not exist."]),
    ("POST /v1/store/orders", JSON, "{\"petId\": 4711}", &["Pet 4711 does not exist."]),
    (
        "PATCH /v1/pets/2",
        JSON,
        "{\"status\": \"sold\"}",
        &["The status cannot change from pending to sold (free units: 0, open orders: 1)."],
    ),
    ("DELETE /v1/pets/2", &[], "", &["The pet has open orders (1); complete or cancel them first."]),
    (
        "POST /v1/categories",
        JSON,
        "{\"name\": \"DOGS\"}",
        &[
            "Category 1 already has this name; names are compared after Unicode normalization (NFC) and case folding.",
        ],
    ),
    ("DELETE /v1/categories/1", &[], "", &["The category has pets (2); move or delete them first."]),
    (
        "POST /v1/store/orders",
        JSON,
        "{\"petId\": 2}",
        &["The pet is pending; only an available pet can be ordered."],
    ),
    (
        "POST /v1/store/orders",
        JSON,
        "{\"petId\": 1, \"quantity\": 6}",
        &["The stock does not suffice; units left: 5."],
    ),
    (
        "POST /v1/inventory/1/adjustments",
        JSON,
        "{\"delta\": 1000000}",
        &[
            "The stock is 5 and can be raised to at most 1000000.",
            "The stock is 5 and can be raised to at most 1000000.",
        ],
    ),
    (
        "DELETE /v1/store/orders/2",
        &[],
        "",
        &["The order is complete; it can no longer be changed or cancelled."],
    ),
];

/// Sends the requests of the tables.
pub(super) fn send(seen: &mut Seen) {
    let stall = Stall::open();
    for units in [5, 2] {
        stall.pet_of(units);
    }
    stall.order(2, 1);
    let complete = stall.order(2, 1);
    stall.complete(complete);
    for (line, headers, body, messages) in [HEADS, PARAMETERS, BODIES, STATES].into_iter().flatten() {
        let (method, path) = line.split_once(' ').unwrap();
        let body = (!body.is_empty()).then_some(body.as_bytes());
        let answer = stall.client.send_bytes(method, path, headers, body);
        seen.expect(&answer, line, messages);
    }
    for (body, what) in MALFORMED {
        malformed(seen, &stall.client, body.as_bytes(), what);
    }
    malformed(seen, &stall.client, b"\xff", "invalid UTF-8 at line 1, column 1");
    long_values(seen, &stall.client);
    long_heads(seen, &stall.client);
    hosts(seen, &stall.client);
    reused_keys(seen, &stall.client);
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
    assert_eq!(summary, "The body has 102 errors; the first 100 are listed.");
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
