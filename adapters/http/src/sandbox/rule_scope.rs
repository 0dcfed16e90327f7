//! The clients whose calls reach a rule of a plan.

use hyper::HeaderMap;
use hyper::header::HeaderName;
use petstore_domain::ApiKey;

use crate::exchange::credentials::presented;
use crate::wire::faults::FieldFault;
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

/// Parses a key or the beginning of one.
pub(super) fn scope_key(value: &str) -> Result<Box<str>, FieldFault> {
    scope_value(value).map(|value| key_beginning(&value))
}

/// Returns the public beginning of a whole key, and another text as it is. So no answer shows a key.
pub(super) fn key_beginning(key: &str) -> Box<str> {
    let whole = ApiKey::parse(key.as_bytes());
    whole.map_or_else(|_| key.into(), |whole| whole.display_prefix().to_string().into())
}

/// Parses the value of a header.
pub(super) fn scope_value(value: &str) -> Result<Box<str>, FieldFault> {
    let is_visible = value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    match value.len() {
        0 => Err(FieldFault::new("too_short", "must not be empty")),
        1..=SCOPE_MAX if is_visible => Ok(value.into()),
        1..=SCOPE_MAX => Err(FieldFault::new("invalid_character", "must have visible ASCII characters only")),
        _ => Err(FieldFault::new("too_long", format!("must have at most {SCOPE_MAX} characters"))),
    }
}
