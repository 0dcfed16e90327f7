//! Cross-origin requests (the Fetch standard, section 3.2), and OPTIONS.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ALLOW, HeaderName, HeaderValue,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};

use crate::response::answer::Answer;
use crate::thread::live_cors::LiveCors;
use crate::wire::builtin_routes::BuiltinRoute;
use crate::wire::request_head::RequestHead;
use crate::wire::{ACCEPT_PATCH, PATCH_TYPES};

/// Request headers that pages of listed origins may send. They are the headers that this API reads, and the
/// headers that tracing, caches and common clients add. If any origin is allowed, and in a sandbox, a page may send any header. That
/// is safe, because this API does not use cookies or other credentials that a browser adds.
const ALLOW_HEADERS: HeaderValue = HeaderValue::from_static(
    "Authorization, X-API-Key, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id, \
     traceparent, tracestate, baggage, Cache-Control, X-Requested-With, User-Agent",
);

const EXPOSE_HEADERS: HeaderValue = HeaderValue::from_static(
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Resource, RateLimit-Policy, RateLimit, \
     RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, ETag, Link, Location, Deprecation, Sunset, \
     X-Request-Id, Idempotent-Replayed, WWW-Authenticate, Allow, Accept-Patch, Date, Last-Event-ID, \
     Preference-Applied",
);

/// The methods of the whole API, for paths that do not name a resource.
pub(crate) const ALL_METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Time for which a browser may cache a preflight: two hours, the maximum of Chromium.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// Returns the request headers that a preflight permits.
fn permitted_headers(cors: &LiveCors, headers: &HeaderMap) -> HeaderValue {
    cors.admits_any_header().then(|| asked_for(headers)).flatten().unwrap_or(ALLOW_HEADERS)
}

/// Returns the header names that a preflight asks for, as a list without invalid names; `None` if it asks for none.
fn asked_for(headers: &HeaderMap) -> Option<HeaderValue> {
    let lines = headers.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter();
    let words = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let names = words.filter_map(|word| HeaderName::from_bytes(word.trim_ascii()).ok());
    let names: Vec<_> = names.collect();
    let names: Vec<_> = names.iter().map(HeaderName::as_str).collect();
    HeaderValue::try_from(names.join(", ")).ok().filter(|names| !names.is_empty())
}

/// Returns the origin that may read the answer to a request. Under the paths of the sandbox it is an origin that may use the
/// sandbox. So with the setting `any`, too, a page of another origin learns nothing from a refusal, not even that there is
/// a sandbox.
#[expect(clippy::inline_always, reason = "the compiler does not follow a mere hint here")]
#[inline(always)]
pub(crate) fn reading_origin(cors: &LiveCors, path: &str, head: &RequestHead<'_>) -> Option<HeaderValue> {
    let origin = cors.allowed_origin(head)?;
    (!BuiltinRoute::is_of_sandbox(path) || cors.may_act(head)).then_some(origin)
}

/// Adds the headers that let a page of this origin read the response.
pub(crate) fn add_headers(headers: &mut Vec<(HeaderName, HeaderValue)>, origin: Option<HeaderValue>) {
    if let Some(origin) = origin {
        headers.push((ACCESS_CONTROL_ALLOW_ORIGIN, origin));
        headers.push((ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSE_HEADERS));
    }
}

/// Returns the response to OPTIONS: the allowed methods, and the CORS permissions if it is a preflight.
pub(crate) fn options(allow: &'static str, cors: &LiveCors, head: &RequestHead<'_>, parts: &Parts) -> Answer {
    let mut answer =
        Answer::empty(StatusCode::NO_CONTENT).with_header(ALLOW, HeaderValue::from_static(allow));
    if allow.contains("PATCH") {
        answer = answer.with_header(ACCEPT_PATCH, PATCH_TYPES);
    }
    if is_permitted(cors, head, parts) {
        permit(answer, allow, permitted_headers(cors, &parts.headers))
    } else {
        answer
    }
}

/// Returns the response to a preflight for a path that does not exist; `None` if the request is not a permitted
/// preflight. The response permits any method, so that the page can send its request and read the 404 instead of a
/// network error.
pub(crate) fn preflight_of_unknown_path(
    cors: &LiveCors,
    head: &RequestHead<'_>,
    parts: &Parts,
) -> Option<Answer> {
    let names = || permitted_headers(cors, &parts.headers);
    let permit_all = || permit(Answer::empty(StatusCode::NO_CONTENT), ALL_METHODS, names());
    is_permitted(cors, head, parts).then(permit_all)
}

/// Returns whether this is a preflight from a page whose origin is allowed.
fn is_permitted(cors: &LiveCors, head: &RequestHead<'_>, parts: &Parts) -> bool {
    parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        && reading_origin(cors, parts.uri.path(), head).is_some()
}

fn permit(answer: Answer, methods: &'static str, names: HeaderValue) -> Answer {
    answer
        .with_header(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods))
        .with_header(ACCESS_CONTROL_ALLOW_HEADERS, names)
        .with_header(ACCESS_CONTROL_MAX_AGE, MAX_AGE)
}
