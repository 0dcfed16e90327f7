//! The correct answer to a request.

use serde_json::Value;

/// An answer without its quota headers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expected {
    pub(crate) status: u16,
    /// The error's code; empty if the answer is not an error.
    pub(crate) code: &'static str,
    pub(crate) body: Option<Value>,
    pub(crate) tag: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) replayed: bool,
    /// The id that a page of events has reached, as in `Last-Event-ID`.
    pub(crate) reached: Option<Box<str>>,
    /// `true` if another page follows; none if the answer is not a page.
    pub(crate) has_next: Option<bool>,
}

impl Expected {
    const NOTHING: Self = Self {
        status: 0,
        code: "",
        body: None,
        tag: None,
        location: None,
        replayed: false,
        reached: None,
        has_next: None,
    };

    pub(crate) fn shown(status: u16, body: Value, tag: String) -> Self {
        Self { status, body: Some(body), tag: Some(tag), ..Self::NOTHING }
    }

    pub(crate) fn made(body: Value, tag: String, location: String) -> Self {
        Self { location: Some(location), ..Self::shown(201, body, tag) }
    }

    pub(crate) fn plain(body: Value) -> Self {
        Self { status: 200, body: Some(body), ..Self::NOTHING }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self { status, ..Self::NOTHING }
    }

    pub(crate) fn refused(status: u16, code: &'static str) -> Self {
        Self { status, code, ..Self::NOTHING }
    }

    /// A failed precondition, with the tag of the current version.
    pub(crate) fn outdated(tag: String) -> Self {
        Self { tag: Some(tag), ..Self::refused(412, "precondition_failed") }
    }

    /// Returns whether the answer is recorded under an idempotency key.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.status, 200..300 | 409)
    }
}
