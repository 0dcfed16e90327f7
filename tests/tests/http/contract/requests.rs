//! What a request can do wrong by itself, whatever the shop's state and the client's key.

use super::document::{self, Operation};
use super::specimen::Specimen;
use super::stock;
use super::witness::Witness;

/// A way to spoil a request, and what comes of it.
struct Provocation {
    status: u16,
    /// Empty where the answer is no error.
    code: &'static str,
    /// Which operations it can be tried on.
    concerns: fn(&Operation) -> bool,
    spoil: fn(Specimen) -> Specimen,
}

/// One byte more than the server takes by default.
const BODY: usize = 1024 * 1024 + 1;

/// More than a target and a head may have, but less than what the parser refuses by itself.
const TARGET: usize = 8 * 1024;
const FIELD: usize = 16 * 1024;

/// An id that is a number, but none that an id can be.
const OUT_OF_RANGE: &str = "9007199254740992";

fn provocation(
    status: u16,
    code: &'static str,
    concerns: fn(&Operation) -> bool,
    spoil: fn(Specimen) -> Specimen,
) -> Provocation {
    Provocation { status, code, concerns, spoil }
}

/// A well-formed key that nothing was made with.
const ANOTHER_KEY: &str = "pet_0El6XFXwsUFD8J2vGxsaboW7rZYnQRBP5d9erwRwd2928IMiW";

fn provocations() -> Vec<Provocation> {
    let all: fn(&Operation) -> bool = |_| true;
    let bodies = Operation::takes_body;
    let ids = Operation::names_resource;
    let lists = Operation::is_list;
    let conditional: fn(&Operation) -> bool = |one| one.takes("If-Match");
    let selective: fn(&Operation) -> bool = |one| one.takes("If-None-Match");
    let cacheable: fn(&Operation) -> bool = |one| one.takes("If-None-Match") && one.method == "GET";
    let exclusive: fn(&Operation) -> bool = |one| one.takes("If-None-Match") && one.method != "GET";
    let repeatable: fn(&Operation) -> bool = |one| one.takes("Idempotency-Key");
    vec![
        provocation(304, "", cacheable, |one| one.with("if-none-match", "*")),
        provocation(400, "invalid_host", all, |one| one.with("host", "elsewhere")),
        provocation(400, "ambiguous_credentials", all, |one| one.with("x-api-key", ANOTHER_KEY)),
        provocation(400, "invalid_parameter", all, |one| one.asking("verbose=1")),
        provocation(400, "invalid_parameter", ids, |one| one.about("abc")),
        provocation(400, "invalid_parameter", lists, |one| one.asking("limit=0&colour=red")),
        provocation(400, "invalid_cursor", lists, |one| one.asking("cursor=abc")),
        provocation(400, "invalid_header", conditional, |one| one.with("if-match", "3")),
        provocation(400, "invalid_header", selective, |one| one.with("if-none-match", "\"3")),
        provocation(400, "invalid_header", repeatable, |one| one.with("idempotency-key", "\"\"")),
        provocation(400, "invalid_json", bodies, |one| one.saying("{\"name\": ")),
        provocation(400, "validation_failed", bodies, |one| one.adding("colour", "red")),
        provocation(400, "validation_failed", bodies, |one| one.saying("{\"colour\": null}")),
        provocation(400, "validation_failed", bodies, |one| one.saying("[]")),
        provocation(404, "not_found", ids, |one| one.about(stock::NOBODY)),
        provocation(404, "not_found", ids, |one| one.about(OUT_OF_RANGE)),
        provocation(405, "method_not_allowed", all, |one| one.by("TRACE")),
        provocation(406, "not_acceptable", all, |one| one.with("accept", "text/html")),
        provocation(412, "precondition_failed", conditional, |one| one.with("if-match", "\"stale\"")),
        provocation(412, "precondition_failed", exclusive, |one| one.with("if-none-match", "*")),
        provocation(413, "body_too_large", bodies, |one| one.saying(" ".repeat(BODY))),
        provocation(414, "uri_too_long", all, |one| one.asking(&"x".repeat(TARGET))),
        provocation(415, "unsupported_media_type", bodies, |one| one.with("content-type", "text/plain")),
        provocation(415, "unsupported_media_type", bodies, |one| one.with("content-encoding", "gzip")),
        provocation(431, "headers_too_large", all, |one| one.with("x-long", &"x".repeat(FIELD))),
    ]
}

pub(super) fn provoke(witness: &mut Witness) {
    // Nothing here changes anything, so one shop is enough.
    let (_shop, client) = stock::open();
    for operation in document::operations() {
        for provocation in provocations().iter().filter(|one| (one.concerns)(operation)) {
            let answer = (provocation.spoil)(Specimen::of(operation)).send(&client);
            witness.expect(operation, &answer, provocation.status, provocation.code);
        }
    }
}
