//! Requests whose head is refused: paths, methods, headers.

use super::Case;

/// Requests with a fault in the path, the method or a media type.
pub(super) const HEADS: &[Case] = &[
    ("GET /v1/nothing", &[], "", &["This path does not exist; the OpenAPI document lists all paths."]),
    ("GET /nothing", &[], "", &["This path does not exist; the API operations are under /v1/."]),
    ("GET /v1/categories/99", &[], "", &["Category 99 does not exist."]),
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

const NOT_ALLOWED: &str = "This path does not support the method; the Allow header and the OpenAPI document list the methods that it has.";
