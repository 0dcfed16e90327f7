//! Requests that are at fault by themselves, whatever the shop's state and the client's key.

use super::checker::Checker;
use super::document::{self, Operation};
use super::stock;
use super::valid_request::ValidRequest;

/// A modification that makes a request invalid, and the expected answer.
struct Provocation {
    status: u16,
    /// The expected code; empty if the answer is not an error.
    code: &'static str,
    /// Selects the operations that the modification makes invalid.
    concerns: fn(&Operation) -> bool,
    spoil: fn(ValidRequest) -> ValidRequest,
}

/// One byte more than the server accepts by default.
const BODY: usize = 1024 * 1024 + 1;

/// A target and a header field that are longer than the server permits, but shorter than what the parser itself
/// refuses.
const TARGET: usize = 8 * 1024;
const FIELD: usize = 16 * 1024;

/// A number beyond the range of ids.
const OUT_OF_RANGE: &str = "9007199254740992";

/// The type that axios names for a request without data.
const FORM: &str = "application/x-www-form-urlencoded";

fn provocation(
    status: u16,
    code: &'static str,
    concerns: fn(&Operation) -> bool,
    spoil: fn(ValidRequest) -> ValidRequest,
) -> Provocation {
    Provocation { status, code, concerns, spoil }
}

/// A well-formed key that was never issued.
const ANOTHER_KEY: &str = "pet_0El6XFXwsUFD8J2vGxsaboW7rZYnQRBP5d9erwRwd2928IMiW";

fn provocations() -> Vec<Provocation> {
    let all: fn(&Operation) -> bool = |_| true;
    let bodies = Operation::takes_body;
    let needs_body: fn(&Operation) -> bool = |one| one.needs_body;
    let ids = Operation::names_resource;
    let numbers: fn(&Operation) -> bool =
        |one| one.names_resource() && one.id != "getEvent" && !one.path.starts_with("/webhooks");
    let event: fn(&Operation) -> bool = |one| one.id == "getEvent";
    let streams = Operation::is_stream;
    let log: fn(&Operation) -> bool = |one| one.takes("after");
    let log_pages: fn(&Operation) -> bool = |one| one.takes("after") && one.is_list();
    let lists = Operation::is_list;
    let conditional: fn(&Operation) -> bool = |one| one.takes("If-Match");
    let selective: fn(&Operation) -> bool = |one| one.takes("If-None-Match");
    let cacheable: fn(&Operation) -> bool = |one| one.takes("If-None-Match") && one.method == "GET";
    let exclusive: fn(&Operation) -> bool = |one| one.takes("If-None-Match") && one.method != "GET";
    let unconditional: fn(&Operation) -> bool = |one| one.method == "POST";
    let repeatable: fn(&Operation) -> bool = |one| one.takes("Idempotency-Key");
    vec![
        provocation(304, "", cacheable, |one| one.with_header("if-none-match", "*")),
        provocation(400, "invalid_host", all, |one| one.with_header("host", "elsewhere")),
        provocation(400, "ambiguous_credentials", all, |one| one.with_header("x-api-key", ANOTHER_KEY)),
        provocation(400, "invalid_parameter", all, |one| one.with_query("verbose=1")),
        provocation(400, "invalid_parameter", ids, |one| one.with_id("abc")),
        provocation(400, "invalid_parameter", lists, |one| one.with_query("limit=0&colour=red")),
        provocation(400, "invalid_cursor", lists, |one| one.with_query("cursor=abc")),
        provocation(400, "invalid_header", conditional, |one| one.with_header("if-match", "3")),
        provocation(400, "invalid_header", selective, |one| one.with_header("if-none-match", "\"3")),
        provocation(400, "invalid_header", repeatable, |one| one.with_header("idempotency-key", "\"\"")),
        provocation(400, "invalid_header", unconditional, |one| one.with_header("if-match", "*")),
        provocation(400, "invalid_header", streams, |one| one.with_header("last-event-id", "4711")),
        provocation(400, "invalid_json", bodies, |one| one.with_body("{\"name\": ")),
        provocation(400, "invalid_json", needs_body, ValidRequest::without_body),
        provocation(400, "invalid_json", needs_body, |one| {
            one.with_body("").with_header("content-type", FORM)
        }),
        provocation(400, "validation_failed", bodies, |one| one.with_body_member("colour", "red")),
        provocation(400, "validation_failed", bodies, |one| one.with_body("{\"colour\": null}")),
        provocation(400, "validation_failed", bodies, |one| one.with_body("[]")),
        provocation(400, "invalid_parameter", log, |one| one.with_query("after=4711")),
        provocation(400, "invalid_parameter", log_pages, |one| {
            one.with_query(&format!("after={}&sort=-id", stock::FIRST_PLACE))
        }),
        provocation(404, "not_found", numbers, |one| one.with_id(stock::UNKNOWN_ID)),
        provocation(404, "not_found", numbers, |one| one.with_id(OUT_OF_RANGE)),
        provocation(405, "method_not_allowed", all, |one| one.with_method("TRACE")),
        provocation(406, "not_acceptable", all, |one| one.with_header("accept", "text/html")),
        provocation(410, "event_expired", event, |one| one.with_id(stock::OTHER_LOG)),
        provocation(410, "event_expired", event, |one| one.with_id(stock::FIRST_PLACE)),
        provocation(410, "event_expired", event, |one| one.with_id(stock::NO_LOG)),
        provocation(410, "event_expired", log, |one| {
            one.without_header("last-event-id").with_query(&format!("after={}", stock::OTHER_LOG))
        }),
        provocation(410, "event_expired", log, |one| {
            one.without_header("last-event-id").with_query(&format!("after={}", stock::NO_LOG))
        }),
        provocation(410, "event_expired", streams, |one| one.with_header("last-event-id", stock::NO_LOG)),
        provocation(412, "precondition_failed", conditional, |one| one.with_header("if-match", "\"stale\"")),
        provocation(412, "precondition_failed", exclusive, |one| one.with_header("if-none-match", "*")),
        provocation(413, "body_too_large", bodies, |one| one.with_body(" ".repeat(BODY))),
        provocation(414, "uri_too_long", all, |one| one.with_query(&"x".repeat(TARGET))),
        provocation(415, "unsupported_media_type", bodies, |one| {
            one.with_header("content-type", "text/plain")
        }),
        provocation(415, "unsupported_media_type", bodies, |one| one.with_header("content-encoding", "gzip")),
        provocation(431, "headers_too_large", all, |one| one.with_header("x-long", &"x".repeat(FIELD))),
    ]
}

pub(super) fn provoke(checker: &mut Checker) {
    // No request here changes the shop, so one shop serves all.
    let (_shop, client) = stock::open();
    for operation in document::operations() {
        for provocation in provocations().iter().filter(|one| (one.concerns)(operation)) {
            let answer = (provocation.spoil)(ValidRequest::of(operation)).send(&client);
            checker.expect(operation, &answer, provocation.status, provocation.code);
        }
    }
}
