//! A response before its common headers are added.

use hyper::StatusCode;
use hyper::header::{ACCEPT_ENCODING, ALLOW, HeaderName, HeaderValue, RETRY_AFTER};
use petstore_ports::{StoreError, StoreErrorKind};

use crate::response::body::Body;
use crate::wire::error::{ApiError, Code};
use crate::wire::{self, EntityTag, Unsupported};

/// The content of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// The response has no body.
    Nothing,
    Json,
    /// An error in the contract's own form. Another client would get problem details.
    Error,
    /// An error as problem details (RFC 9457).
    Problem,
    Yaml,
    EventStream,
    /// The content type is among the response's own headers.
    Custom,
}

/// The content coding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// No coding is chosen here, but the response's own headers may name one.
    Fixed,
    /// The body is sent as it is. Another client may get it with gzip.
    Plain,
    /// The body is compressed with gzip, which this client prefers.
    Gzip,
}

/// The path of a created resource. The id is stored in seven bytes, because [`Answer`] has no room for eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    collection: Collection,
    id: [u8; 7],
}

/// The collection of a created resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Collection {
    Pets,
    Categories,
    Orders,
}

impl Location {
    pub(crate) fn new(collection: Collection, id: u64) -> Self {
        let mut bytes = [0; 7];
        bytes.copy_from_slice(&id.to_le_bytes()[..7]);
        Self { collection, id: bytes }
    }

    /// Writes the location as a path, which is valid under every host name of this server.
    pub(crate) fn push(self, out: &mut Vec<u8>, base_path: &str) {
        out.extend_from_slice(base_path.as_bytes());
        out.extend_from_slice(match self.collection {
            Collection::Pets => b"/pets/",
            Collection::Categories => b"/categories/",
            Collection::Orders => b"/store/orders/",
        });
        let mut id = [0; 8];
        id[..7].copy_from_slice(&self.id);
        wire::push_number(out, u64::from_le_bytes(id));
    }
}

/// A response without its common headers. It is passed through several futures, so it has at most 128 bytes: a struct
/// of that size is moved without a call of `memcpy`.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Body,
    pub(crate) content: Content,
    pub(crate) coding: Coding,
    /// The entity tag of the resource or page in the body.
    pub(crate) tag: Option<EntityTag>,
    /// The location of the created resource.
    pub(crate) location: Option<Location>,
    /// Headers that only a few responses have.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The cause of a failure, for the log. The client does not see it.
    pub(crate) fault: Option<Box<str>>,
}

impl Answer {
    /// A response without a body.
    pub(crate) const fn empty(status: StatusCode) -> Self {
        Self::with_body(status, Content::Nothing, Body::EMPTY)
    }

    const fn with_body(status: StatusCode, content: Content, body: Body) -> Self {
        Self {
            status,
            body,
            content,
            coding: Coding::Fixed,
            tag: None,
            location: None,
            headers: Vec::new(),
            fault: None,
        }
    }

    /// A response with a JSON body.
    pub(crate) fn json(status: StatusCode, body: impl Into<Body>) -> Self {
        Self::with_body(status, Content::Json, body.into())
    }

    fn error(status: StatusCode, body: Vec<u8>) -> Self {
        Self::with_body(status, Content::Error, body.into())
    }

    /// Marks a response whose body another client would get with gzip.
    pub(crate) fn varying(self) -> Self {
        Self { coding: Coding::Plain, ..self }
    }

    pub(crate) fn with_tag(mut self, tag: EntityTag) -> Self {
        self.tag = Some(tag);
        self
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// An error after which the client may retry in `secs` seconds, at least one. The header and the body name them: many
    /// programs, and models that call through converters, see the body only.
    pub(crate) fn retry_in(error: &ApiError, secs: u64) -> Self {
        debug_assert!(
            error.code.has_retry_after(),
            "{:?} has no Retry-After in the table of codes",
            error.code
        );
        let secs = secs.max(1);
        let body = wire::render_error(error, Some(secs));
        Self::error(error.code.status(), body).with_header(RETRY_AFTER, HeaderValue::from(secs))
    }

    /// An error of a sandbox. Its `Retry-After` may have any form, so the caller adds it; `secs` is the time that it tells, and
    /// `None` if it tells none.
    pub(crate) fn planned(error: &ApiError, secs: Option<u64>) -> Self {
        Self::error(error.code.status(), wire::render_error(error, secs))
    }

    /// The response of an overloaded server.
    pub(crate) fn overloaded() -> Self {
        Self::retryable(Code::Overloaded, "The service is overloaded")
    }

    /// An error after which the client may retry a little later. `reason` is a sentence without its full stop.
    pub(crate) fn retryable(code: Code, reason: &str) -> Self {
        let secs = jitter();
        let message = format!("{reason}; retry in {}.", wire::in_seconds(secs));
        Self::retry_in(&ApiError::new(code, message), secs)
    }

    /// The response to an internal failure, which a retry does not fix.
    pub(crate) fn failed(fault: impl Into<Box<str>>) -> Self {
        let message = "An internal error occurred; it has been logged.";
        Self::from(ApiError::new(Code::InternalError, message)).with_fault(fault)
    }

    /// The response to a method that the path does not support.
    pub(crate) fn not_allowed(allow: &'static str) -> Self {
        let message = "This path does not support the method; the Allow header and the OpenAPI document list the methods that it has.";
        Self::from(ApiError::new(Code::MethodNotAllowed, message))
            .with_header(ALLOW, HeaderValue::from_static(allow))
    }

    pub(crate) fn with_fault(mut self, fault: impl Into<Box<str>>) -> Self {
        self.fault = Some(fault.into());
        self
    }
}

impl From<ApiError> for Answer {
    /// An error whose code has `Retry-After` gets the shortest wait.
    fn from(error: ApiError) -> Self {
        if error.code.has_retry_after() {
            return Self::retry_in(&error, jitter());
        }
        Self::error(error.code.status(), wire::render_error(&error, None))
    }
}

impl From<Unsupported> for Answer {
    /// Adds the supported content codings if the coding was refused (RFC 9110, section 15.5.16).
    fn from(unsupported: Unsupported) -> Self {
        let answer = Self::from(ApiError::from(unsupported));
        match unsupported {
            Unsupported::Coding => {
                answer.with_header(ACCEPT_ENCODING, const { HeaderValue::from_static("identity") })
            }
            Unsupported::Type | Unsupported::PatchType | Unsupported::LinesType => answer,
        }
    }
}

impl From<StoreError> for Answer {
    /// Chooses the response by the kind of the error. The kind determines if the client may retry a little later or
    /// should not retry.
    fn from(error: StoreError) -> Self {
        let answer = match error.kind() {
            StoreErrorKind::Busy => Self::overloaded(),
            StoreErrorKind::Unavailable => Self::retryable(Code::Unavailable, "The storage is unavailable"),
            StoreErrorKind::Indeterminate => Self::retryable(
                Code::Unavailable,
                "The outcome of the request is unknown; read the resource first",
            ),
            StoreErrorKind::Corrupt => return Self::failed(error.report()),
        };
        answer.with_fault(error.report())
    }
}

/// Returns 1 and 2 alternately. The result is a number of seconds after which a client may retry; it alternates so that
/// not all clients retry at the same time.
fn jitter() -> u64 {
    thread_local! {
        static TURN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    TURN.with(|turn| {
        turn.set(turn.get() ^ 1);
        1 + turn.get()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_moved_without_a_call_of_memcpy() {
        assert!(size_of::<Answer>() <= 128, "{}", size_of::<Answer>());
    }

    #[test]
    fn each_code_has_its_status_and_retry_after_if_the_table_says_so() {
        for code in Code::ALL {
            let answer = Answer::from(ApiError::new(*code, "No."));
            let names: Vec<_> = answer.headers.iter().map(|(name, _)| name).collect();
            assert_eq!(answer.status, code.status());
            assert_eq!(names, if code.has_retry_after() { vec![&RETRY_AFTER] } else { vec![] }, "{code:?}");
        }
    }

    #[test]
    fn the_largest_id_fits_into_a_location() {
        let mut path = Vec::new();
        Location::new(Collection::Orders, petstore_domain::ID_MAX).push(&mut path, "/v1");
        assert_eq!(path, format!("/v1/store/orders/{}", petstore_domain::ID_MAX).into_bytes());
    }
}
