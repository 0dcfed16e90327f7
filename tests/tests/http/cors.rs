//! Access by pages of other origins.

use std::collections::BTreeSet;
use std::sync::Arc;

use petstore_domain::Plan;
use petstore_http::{Cors, Origin};

use crate::faults::InDoubt;
use crate::harness::{Answer, Shop, ShopOptions};

const PAGE: &str = "https://page.example";

fn origin(text: &str) -> Origin {
    Origin::parse(text).unwrap()
}

fn shop(cors: Cors) -> Shop {
    let mut options = ShopOptions::default();
    options.http.cors = cors;
    Shop::open_as(options)
}

/// A preflight from this origin.
fn preflight(shop: &Shop, path: &str, origin: &str) -> Answer {
    let headers = [
        ("origin", origin),
        ("access-control-request-method", "PATCH"),
        ("access-control-request-headers", "authorization,content-type,if-match"),
    ];
    shop.anonymous().send("OPTIONS", path, &headers, None)
}

/// The words of a list in a header, lower case.
fn words(answer: &Answer, header: &str) -> BTreeSet<String> {
    let list = answer.header(header).unwrap_or_else(|| panic!("no {header} in {:?}", answer.headers));
    list.split(',').map(|word| word.trim().to_ascii_lowercase()).collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| word.to_ascii_lowercase()).collect()
}

/// Returns whether any Vary of the answer names this header.
fn varies_by(answer: &Answer, header: &str) -> bool {
    let values = answer.headers.iter().filter(|(name, _)| name == "vary");
    values.flat_map(|(_, value)| value.split(',')).any(|word| word.trim().eq_ignore_ascii_case(header))
}

#[test]
fn options_is_204_with_allow_and_costs_nothing() {
    let shop = Shop::open();
    for (path, allow) in [
        ("/v1/pets", "GET, HEAD, OPTIONS, POST"),
        ("/v1/pets/1", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"),
        ("/v1/categories", "GET, HEAD, OPTIONS, POST"),
        ("/v1/categories/1", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"),
        ("/v1/store/orders", "GET, HEAD, OPTIONS, POST"),
        ("/v1/store/orders/1", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("/v1/inventory", "GET, HEAD, OPTIONS"),
        ("/v1/inventory/1", "GET, HEAD, OPTIONS, PATCH"),
        ("/v1/inventory/1/adjustments", "OPTIONS, POST"),
        ("/v1/rate-limit", "GET, HEAD, OPTIONS"),
        ("/health", "GET, HEAD, OPTIONS"),
        // The target `*` means the whole server, so the answer lists all methods, although no single resource takes all
        // of them.
        ("*", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"),
    ] {
        let answer = shop.anonymous().send("OPTIONS", path, &[], None);
        assert_eq!((answer.status, answer.body.len()), (204, 0), "{path}");
        let allowed: Vec<_> = words(&answer, "allow").into_iter().map(|word| word.to_uppercase()).collect();
        assert_eq!(allowed.join(", "), allow, "{path}");
        let types = "application/merge-patch+json, application/json";
        let takes_patch = path != "*" && allow.contains("PATCH");
        assert_eq!(answer.header("accept-patch"), takes_patch.then_some(types), "{path}");
        assert_eq!(answer.header("access-control-allow-methods"), None, "it was no preflight");
    }
    let client = shop.client(Plan::Free);
    client.send("OPTIONS", "/v1/pets", &[], None);
    assert_eq!(client.get("/v1/pets").number("x-ratelimit-remaining"), 59);
}

/// A preflight that asks for these request headers, each in a separate line.
fn preflight_for(shop: &Shop, asked: &[&str]) -> Answer {
    let mut headers = vec![("origin", PAGE), ("access-control-request-method", "POST")];
    headers.extend(asked.iter().map(|names| ("access-control-request-headers", *names)));
    shop.anonymous().send("OPTIONS", "/v1/pets", &headers, None)
}

/// The request headers that pages of listed origins may send.
fn listed_headers() -> BTreeSet<String> {
    set(&[
        "Authorization",
        "X-API-Key",
        "Content-Type",
        "Idempotency-Key",
        "If-Match",
        "If-None-Match",
        "Last-Event-ID",
        "X-Request-Id",
        "traceparent",
        "tracestate",
        "baggage",
        "Cache-Control",
        "X-Requested-With",
        "User-Agent",
    ])
}

#[test]
fn a_preflight_from_anywhere_names_methods_and_max_age_and_allows_what_was_asked_for() {
    let shop = shop(Cors::AnyOrigin);
    let answer = preflight(&shop, "/v1/pets/1", PAGE);
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    assert_eq!(answer.header("access-control-max-age"), Some("7200"));
    let methods = set(&["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]);
    assert_eq!(words(&answer, "access-control-allow-methods"), methods);
    let allowed = |asked: &[&str]| words(&preflight_for(&shop, asked), "access-control-allow-headers");
    assert_eq!(allowed(&["authorization,traceparent"]), set(&["authorization", "traceparent"]));
    assert_eq!(
        allowed(&["Authorization", "x-datadog-trace-id, sentry-trace"]),
        set(&["authorization", "x-datadog-trace-id", "sentry-trace"])
    );
    assert_eq!(allowed(&["x-a, ,b c,\u{e9},x-d"]), set(&["x-a", "x-d"]), "what is no name is left out");
    for nothing in [&[][..], &[""], &["(,)"]] {
        assert_eq!(allowed(nothing), listed_headers(), "{nothing:?}");
    }
}

#[test]
fn a_preflight_from_a_listed_origin_allows_a_list_of_headers() {
    let shop = shop(Cors::Origins(vec![origin(PAGE)]));
    let answer = preflight_for(&shop, &["authorization,traceparent,x-other"]);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (204, Some(PAGE)));
    assert_eq!(words(&answer, "access-control-allow-headers"), listed_headers());
}

#[test]
fn a_page_of_a_test_may_send_any_header_to_a_sandbox() {
    let mut options = ShopOptions::default();
    options.http.cors = Cors::Origins(vec![origin(PAGE)]);
    options.http.sandbox = Some(Arc::new(InDoubt));
    let shop = Shop::open_as(options);
    let asked = ["prefer,x-test-id", "mcp-protocol-version"];
    let allowed = words(&preflight_for(&shop, &asked), "access-control-allow-headers");
    assert_eq!(allowed, set(&["prefer", "x-test-id", "mcp-protocol-version"]));
    let stranger = preflight(&shop, "/v1/pets/1", "https://other.example");
    assert_eq!(stranger.header("access-control-allow-headers"), None);
}

#[test]
fn a_page_that_mistyped_a_path_reads_its_404() {
    let shop = shop(Cors::Origins(vec![origin(PAGE)]));
    for path in ["/v1/pet/1", "/pets/1"] {
        let answer = preflight(&shop, path, PAGE);
        assert_eq!(
            (answer.status, answer.body.len()),
            (204, 0),
            "{path}: a browser takes a 404 for a failed network"
        );
        assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
        assert!(words(&answer, "access-control-allow-methods").contains("patch"));
        assert_eq!(answer.header("allow"), None, "it takes nothing");
        let answer = shop.client(Plan::Free).send("PATCH", path, &[("origin", PAGE)], None);
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (404, Some(PAGE)));
        // A preflight for a path that does not exist gets 404.
        assert_eq!(preflight(&shop, path, "https://other.example").status, 404);
        assert_eq!(shop.anonymous().send("OPTIONS", path, &[], None).status, 404);
    }
}

#[test]
fn every_answer_to_a_page_may_be_read_with_the_headers_that_matter() {
    let shop = shop(Cors::AnyOrigin);
    let client = shop.client(Plan::Business);
    let exposed = set(&[
        "X-RateLimit-Limit",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
        "X-RateLimit-Resource",
        "RateLimit-Policy",
        "RateLimit",
        "RateLimit-Limit",
        "RateLimit-Remaining",
        "RateLimit-Reset",
        "Retry-After",
        "ETag",
        "Link",
        "Location",
        "Deprecation",
        "Sunset",
        "X-Request-Id",
        "Idempotent-Replayed",
        "WWW-Authenticate",
        "Allow",
        "Accept-Patch",
        "Date",
        "Last-Event-ID",
        "Preference-Applied",
    ]);
    let origin = [("origin", PAGE)];
    for (client, method, path, status) in [
        (&client, "GET", "/v1/pets", 200),
        (&client, "GET", "/v1/nothing", 404),
        (&client, "TRACE", "/v1/pets", 405),
        (&client, "POST", "/v1/pets", 400),
        (&shop.anonymous(), "GET", "/v1/pets", 401),
        (&shop.anonymous(), "GET", "/health", 200),
    ] {
        let answer = client.send(method, path, &origin, None);
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(words(&answer, "access-control-expose-headers"), exposed, "{path}");
        assert!(varies_by(&answer, "origin"), "without an origin nothing is allowed");
    }
    let without = client.get("/v1/pets");
    assert_eq!(without.header("access-control-allow-origin"), None, "no origin was sent");
}

#[test]
fn of_a_list_of_origins_only_those_may_read() {
    let shop = shop(Cors::Origins([PAGE, "http://localhost:3000", "http://[::1]:3000"].map(origin).to_vec()));
    let client = shop.client(Plan::Business);
    for (origin, allowed) in [
        (PAGE, true),
        ("http://localhost:3000", true),
        // Browsers keep the final dot of a host name if the user typed it.
        ("https://page.example.", true),
        ("http://[0:0:0:0:0:0:0:1]:3000", true),
        ("HTTPS://PAGE.example:443", true),
        ("http://[::1]:30000", false),
        ("https://page.example..", false),
        ("http://localhost", false),
        ("https://page.example.evil.example", false),
        ("http://page.example", false),
        ("null", false),
    ] {
        let expected = allowed.then_some(origin);
        let answer = client.send("GET", "/v1/pets", &[("origin", origin)], None);
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, expected));
        assert!(varies_by(&answer, "origin"), "a cache must not mix them up");
        let answer = preflight(&shop, "/v1/pets", origin);
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (204, expected));
        assert_eq!(answer.header("access-control-allow-methods").is_some(), allowed);
        assert!(varies_by(&answer, "origin"));
    }
    assert!(varies_by(&client.get("/v1/pets"), "origin"), "without an origin too");
}

#[test]
fn cors_can_be_off() {
    let shop = shop(Cors::Off);
    assert_eq!(preflight(&shop, "/v1/pet", PAGE).status, 404);
    let answer = preflight(&shop, "/v1/pets", PAGE);
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("allow"), Some("GET, HEAD, POST, OPTIONS"));
    let answers = [answer, shop.client(Plan::Business).send("GET", "/v1/pets", &[("origin", PAGE)], None)];
    for answer in answers {
        let cors: Vec<_> =
            answer.headers.iter().filter(|(name, _)| name.starts_with("access-control-")).collect();
        assert!(cors.is_empty(), "{cors:?}");
    }
}
