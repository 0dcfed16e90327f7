//! An answer before its common headers are put on.

use hyper::StatusCode;
use hyper::header::{ACCEPT_ENCODING, ALLOW, HeaderName, HeaderValue, RETRY_AFTER};
use petstore_ports::{StoreError, StoreErrorKind};

use crate::response::body::Body;
use crate::wire::error::{ApiError, Code};
use crate::wire::{self, EntityTag, Unsupported};

const OVERLOADED: &str = "The service is overloaded; retry later.";

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// There is none.
    Nothing,
    Json,
    Yaml,
    /// What the answer's own headers say.
    Told,
}

/// How a body is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// It is as it is, or the answer's own headers say how.
    Fixed,
    /// It is as it is, for this client.
    Plain,
    /// As gzip, for this client.
    Gzip,
}

/// Where something new is. An id has seven bytes at most, and an answer no room for eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    collection: Collection,
    id: [u8; 7],
}

/// What something new is one of.
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

    /// Writes it as a path, so that it holds whatever name the client has for this server.
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

/// An answer: what is particular to it. It is handed through several futures, and moves by itself up to 128 bytes.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Body,
    pub(crate) content: Content,
    pub(crate) coding: Coding,
    /// The entity tag of what the answer shows.
    pub(crate) tag: Option<EntityTag>,
    /// Where that which was made is.
    pub(crate) location: Option<Location>,
    /// Headers that few answers have.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// What broke, for the log; the client is not told.
    pub(crate) fault: Option<Box<str>>,
}

impl Answer {
    /// An answer without a body.
    pub(crate) const fn empty(status: StatusCode) -> Self {
        Self {
            status,
            body: Body::EMPTY,
            content: Content::Nothing,
            coding: Coding::Fixed,
            tag: None,
            location: None,
            headers: Vec::new(),
            fault: None,
        }
    }

    /// An answer with a JSON body.
    pub(crate) fn json(status: StatusCode, body: impl Into<Body>) -> Self {
        Self { content: Content::Json, body: body.into(), ..Self::empty(status) }
    }

    /// An answer that another client would get as gzip.
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

    pub(crate) fn with_retry_after(self, secs: u64) -> Self {
        self.with_header(RETRY_AFTER, HeaderValue::from(secs.max(1)))
    }

    /// There are too many requests.
    pub(crate) fn overloaded() -> Self {
        Self::comes_again(Code::Overloaded, OVERLOADED)
    }

    /// An error after which the client may ask again.
    pub(crate) fn comes_again(code: Code, message: &'static str) -> Self {
        Self::from(ApiError::new(code, message)).with_retry_after(jitter())
    }

    /// Something broke, and asking again does not mend it.
    pub(crate) fn failed(fault: impl Into<Box<str>>) -> Self {
        let message = "An internal error occurred; it has been logged.";
        Self::from(ApiError::new(Code::InternalError, message)).with_fault(fault)
    }

    /// What is there takes other methods, namely these.
    pub(crate) fn not_allowed(allow: &'static str) -> Self {
        let message = "This path does not support the method; the Allow header lists the supported methods.";
        Self::from(ApiError::new(Code::MethodNotAllowed, message))
            .with_header(ALLOW, HeaderValue::from_static(allow))
    }

    pub(crate) fn with_fault(mut self, fault: impl Into<Box<str>>) -> Self {
        self.fault = Some(fault.into());
        self
    }
}

impl From<ApiError> for Answer {
    fn from(error: ApiError) -> Self {
        Self::json(error.code.status(), wire::render_error(&error))
    }
}

impl From<Unsupported> for Answer {
    /// With the codings that would have been supported, if it is the coding that is not (RFC 9110, section 15.5.16).
    fn from(unsupported: Unsupported) -> Self {
        let answer = Self::from(ApiError::from(unsupported));
        match unsupported {
            Unsupported::Coding => {
                answer.with_header(ACCEPT_ENCODING, const { HeaderValue::from_static("identity") })
            }
            Unsupported::Type | Unsupported::PatchType => answer,
        }
    }
}

impl From<StoreError> for Answer {
    /// By what the caller should do: try again a little later, or not at all.
    fn from(error: StoreError) -> Self {
        let (code, message) = match error.kind() {
            StoreErrorKind::Busy => (Code::Overloaded, OVERLOADED),
            StoreErrorKind::Unavailable => (Code::Unavailable, "The storage is unavailable; retry later."),
            StoreErrorKind::Indeterminate => (
                Code::Unavailable,
                "The outcome of the request is unknown; read the resource before you retry.",
            ),
            StoreErrorKind::Corrupt => return Self::failed(error.report()),
        };
        Self::comes_again(code, message).with_fault(error.report())
    }
}

/// A second, and for about half of the callers two, so that they do not come back all at once; without a pattern that two
/// clients share.
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
    fn an_answer_is_moved_without_a_call() {
        assert!(size_of::<Answer>() <= 128, "{}", size_of::<Answer>());
    }

    #[test]
    fn the_largest_id_has_a_place() {
        let mut path = Vec::new();
        Location::new(Collection::Orders, petstore_domain::ID_MAX).push(&mut path, "/v1");
        assert_eq!(path, format!("/v1/store/orders/{}", petstore_domain::ID_MAX).into_bytes());
    }
}
