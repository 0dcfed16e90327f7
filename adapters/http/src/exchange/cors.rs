//! Cross-origin requests (the Fetch standard, section 3.2), and OPTIONS.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ALLOW, HeaderName, HeaderValue,
};
use hyper::{HeaderMap, StatusCode};

use crate::response::answer::Answer;
use crate::thread::live_cors::LiveCors;
use crate::wire::request_head::RequestHead;
use crate::wire::{ACCEPT_PATCH, PATCH_TYPES};

/// Request headers that pages of listed origins may send: those that mean something here, and those that tracing, caches
/// and common clients add. Where any origin may call there are no credentials of the browser's to guard, and a page may send
/// what it likes.
const ALLOW_HEADERS: HeaderValue = HeaderValue::from_static(
    "Authorization, X-API-Key, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id, \
     traceparent, tracestate, baggage, Cache-Control, X-Requested-With, User-Agent",
);

const EXPOSE_HEADERS: HeaderValue = HeaderValue::from_static(
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Resource, Retry-After, ETag, Link, \
     Location, Deprecation, Sunset, X-Request-Id, Idempotent-Replayed, WWW-Authenticate, Allow, Accept-Patch, Date, \
     Last-Event-ID",
);

/// What is taken somewhere.
pub(crate) const ALL_METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// How long a browser may remember a preflight: two hours, the most that Chromium takes.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// The request headers that a preflight permits.
fn permitted_headers(cors: &LiveCors, headers: &HeaderMap) -> HeaderValue {
    cors.is_any().then(|| asked_for(headers)).flatten().unwrap_or(ALLOW_HEADERS)
}

/// The names of the headers that a preflight asks for, as a list; none where it asks for none. What is no name is left
/// out.
fn asked_for(headers: &HeaderMap) -> Option<HeaderValue> {
    let lines = headers.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter();
    let words = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let names = words.filter_map(|word| HeaderName::from_bytes(word.trim_ascii()).ok());
    let names: Vec<_> = names.collect();
    let names: Vec<_> = names.iter().map(HeaderName::as_str).collect();
    HeaderValue::try_from(names.join(", ")).ok().filter(|names| !names.is_empty())
}

/// Puts on what lets a page of that origin read the answer.
pub(crate) fn put_on(headers: &mut Vec<(HeaderName, HeaderValue)>, origin: Option<HeaderValue>) {
    if let Some(origin) = origin {
        headers.push((ACCESS_CONTROL_ALLOW_ORIGIN, origin));
        headers.push((ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSE_HEADERS));
    }
}

/// The answer to OPTIONS: what may be done, and to a preflight that it may be done from elsewhere.
pub(crate) fn options(
    allow: &'static str,
    cors: &LiveCors,
    head: &RequestHead<'_>,
    headers: &HeaderMap,
) -> Answer {
    let mut answer =
        Answer::empty(StatusCode::NO_CONTENT).with_header(ALLOW, HeaderValue::from_static(allow));
    if allow.contains("PATCH") {
        answer = answer.with_header(ACCEPT_PATCH, PATCH_TYPES);
    }
    if is_permitted(cors, head, headers) {
        permit(answer, allow, permitted_headers(cors, headers))
    } else {
        answer
    }
}

/// The answer to OPTIONS of a path that does not exist, if that is a preflight: any method may be asked. Then the page reads
/// the 404 of its request, where a browser would tell it of a failed network and of nothing else.
pub(crate) fn preflight_of_nothing(
    cors: &LiveCors,
    head: &RequestHead<'_>,
    headers: &HeaderMap,
) -> Option<Answer> {
    let permit_all =
        || permit(Answer::empty(StatusCode::NO_CONTENT), ALL_METHODS, permitted_headers(cors, headers));
    is_permitted(cors, head, headers).then(permit_all)
}

/// Whether this is a preflight, of a page that may call.
fn is_permitted(cors: &LiveCors, head: &RequestHead<'_>, headers: &HeaderMap) -> bool {
    headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) && cors.allowed_origin(head).is_some()
}

fn permit(answer: Answer, methods: &'static str, names: HeaderValue) -> Answer {
    answer
        .with_header(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods))
        .with_header(ACCESS_CONTROL_ALLOW_HEADERS, names)
        .with_header(ACCESS_CONTROL_MAX_AGE, MAX_AGE)
}
