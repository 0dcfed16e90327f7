//! The clients whose calls reach a rule of a plan.

use hyper::HeaderMap;
use hyper::header::HeaderName;

use crate::exchange::credentials::presented;
use crate::wire::request_head::RequestHead;

/// The maximum number of characters of the key, and of the value of a header, that a rule may name.
pub(crate) const SCOPE_MAX: usize = 200;

/// The clients whose calls reach a rule. A rule without key, header and way is for all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    /// The key that the client presents, or the beginning of it.
    pub(crate) key: Option<Box<str>>,
    /// A header that the request has, and its value.
    pub(crate) header: Option<(HeaderName, Box<str>)>,
    /// The way on which the request comes.
    pub(crate) via: Option<Via>,
}

/// The way on which a request comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    /// As a request of its own.
    Http,
    /// As a call of a tool, inside of a request to `/mcp`.
    Mcp,
}

impl Via {
    /// Returns the word in plans.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Mcp => "mcp",
        }
    }
}

impl Scope {
    /// Returns whether a request is in the scope.
    pub(crate) fn contains(&self, head: &RequestHead<'_>, headers: &HeaderMap, via: Via) -> bool {
        let has_key =
            |key: &str| presented(head, headers).is_ok_and(|presented| presented.starts_with(key.as_bytes()));
        let has_header = |(name, value): &(HeaderName, Box<str>)| {
            headers.get_all(name).iter().any(|one| one.as_bytes() == value.as_bytes())
        };
        self.via.is_none_or(|one| one == via)
            && self.key.as_deref().is_none_or(has_key)
            && self.header.as_ref().is_none_or(has_header)
    }
}
