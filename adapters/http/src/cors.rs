//! Cross-origin requests (the Fetch standard, section 3.2), and OPTIONS.

use std::sync::atomic::{AtomicU8, Ordering};

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ALLOW, HeaderName, HeaderValue,
};
use hyper::{HeaderMap, StatusCode};
use parking_lot::RwLock;

use crate::answer::Answer;
use crate::authority::Origin;
use crate::head::{Field, Head};
use crate::settings::Cors;
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

/// Which pages of other origins may read answers: every request reads it, a reload changes it.
pub(crate) struct LiveCors {
    /// Read alone unless there is a list, so that a request takes no lock for it.
    mode: AtomicU8,
    origins: RwLock<Vec<Origin>>,
}

const OFF: u8 = 0;
const ANY: u8 = 1;
const LISTED: u8 = 2;

impl LiveCors {
    pub(crate) fn new(cors: Cors) -> Self {
        let live = Self { mode: AtomicU8::new(OFF), origins: RwLock::default() };
        live.set(cors);
        live
    }

    /// From now on this is in force.
    pub(crate) fn set(&self, cors: Cors) {
        let (mode, origins) = match cors {
            Cors::Off => (OFF, vec![]),
            Cors::AnyOrigin => (ANY, vec![]),
            Cors::Origins(origins) => (LISTED, origins),
        };
        *self.origins.write() = origins;
        self.mode.store(mode, Ordering::Relaxed);
    }

    /// The origin that may read the answer to this request; none if the request has no origin, or no right to one.
    pub(crate) fn allowed_origin(&self, head: &Head<'_>) -> Option<HeaderValue> {
        let Field::Once(origin) = head.origin else { return None };
        match self.mode.load(Ordering::Relaxed) {
            OFF => None,
            ANY => Some(HeaderValue::from_static("*")),
            _ => self.lists(origin).then(|| origin.clone()),
        }
    }

    /// Whether a page may change what is changed without a key, for which no preflight is needed: a page of this machine,
    /// or one whose origin is listed. `any` is not enough. Whoever opens some page of the web would else have it at their
    /// own machine's servers.
    pub(crate) fn may_act(&self, head: &Head<'_>) -> bool {
        match head.origin {
            Field::Absent => true,
            Field::Twice => false,
            Field::Once(origin) => {
                parsed(origin).is_some_and(|origin| origin.host().is_of_this_machine()) || self.lists(origin)
            }
        }
    }

    /// Whether an origin is on the list, if there is one.
    fn lists(&self, origin: &HeaderValue) -> bool {
        parsed(origin).is_some_and(|origin| self.origins.read().contains(&origin))
    }

    /// The request headers that a preflight permits.
    fn headers(&self, headers: &HeaderMap) -> HeaderValue {
        let is_any = self.mode.load(Ordering::Relaxed) == ANY;
        is_any.then(|| asked_for(headers)).flatten().unwrap_or(ALLOW_HEADERS)
    }

    /// Whether any page of another origin may read answers.
    pub(crate) fn is_on(&self) -> bool {
        self.mode.load(Ordering::Relaxed) != OFF
    }
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

/// The origin in a field; none for `null`.
fn parsed(origin: &HeaderValue) -> Option<Origin> {
    Origin::parse(origin.to_str().ok()?)
}

/// Puts on what lets a page of that origin read the answer.
pub(crate) fn put_on(headers: &mut Vec<(HeaderName, HeaderValue)>, origin: Option<HeaderValue>) {
    if let Some(origin) = origin {
        headers.push((ACCESS_CONTROL_ALLOW_ORIGIN, origin));
        headers.push((ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSE_HEADERS));
    }
}

/// The answer to OPTIONS: what may be done, and to a preflight that it may be done from elsewhere.
pub(crate) fn options(allow: &'static str, cors: &LiveCors, head: &Head<'_>, headers: &HeaderMap) -> Answer {
    let mut answer =
        Answer::empty(StatusCode::NO_CONTENT).with_header(ALLOW, HeaderValue::from_static(allow));
    if allow.contains("PATCH") {
        answer = answer.with_header(ACCEPT_PATCH, PATCH_TYPES);
    }
    if is_permitted(cors, head, headers) { permit(answer, allow, cors.headers(headers)) } else { answer }
}

/// The answer to OPTIONS of a path that does not exist, if that is a preflight: any method may be asked. Then the page reads
/// the 404 of its request, where a browser would tell it of a failed network and of nothing else.
pub(crate) fn preflight_of_nothing(cors: &LiveCors, head: &Head<'_>, headers: &HeaderMap) -> Option<Answer> {
    let permit_all = || permit(Answer::empty(StatusCode::NO_CONTENT), ALL_METHODS, cors.headers(headers));
    is_permitted(cors, head, headers).then(permit_all)
}

/// Whether this is a preflight, of a page that may call.
fn is_permitted(cors: &LiveCors, head: &Head<'_>, headers: &HeaderMap) -> bool {
    headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) && cors.allowed_origin(head).is_some()
}

fn permit(answer: Answer, methods: &'static str, names: HeaderValue) -> Answer {
    answer
        .with_header(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods))
        .with_header(ACCESS_CONTROL_ALLOW_HEADERS, names)
        .with_header(ACCESS_CONTROL_MAX_AGE, MAX_AGE)
}
