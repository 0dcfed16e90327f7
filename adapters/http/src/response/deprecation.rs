//! The headers of the deprecated operation (RFC 9745, RFC 8594), and its sunset date.

use hyper::header::{HeaderName, HeaderValue};

use crate::wire;
use crate::wire::route::Resource;

pub(crate) const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
pub(crate) const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// The date on which getPet was deprecated, 2025-07-09, in the form of RFC 9745.
pub(crate) const DEPRECATED_AT: HeaderValue = HeaderValue::from_static("@1752019200");

/// The sunset date of the API contract, in the form of RFC 8594.
pub(crate) const SUNSET_AT: HeaderValue = HeaderValue::from_static("Thu, 05 Dec 2030 00:00:00 GMT");

/// The sunset date in milliseconds since 1970, to compare with the clock.
pub(crate) const SUNSET_MILLIS: i64 = 1_922_659_200_000;

/// Returns whether reading this resource is deprecated; only getPet is.
pub(crate) const fn is_deprecated(resource: &Resource) -> bool {
    matches!(resource, Resource::Pet(_))
}

/// The end of the links with the end of their line.
pub(crate) const LINKS_END_LINE: &[u8] = b">; rel=\"successor-version\"\r\n";

/// Writes the links of a deprecated operation: to its documentation and to its successor.
pub(crate) fn push_deprecated_links(out: &mut Vec<u8>, resource: Resource, base_path: &str) {
    push_links_start(out, base_path);
    push_links_query(out, resource);
    out.extend_from_slice(LINKS_END_LINE.trim_ascii_end());
}

/// Writes the part of the links that is the same for all resources of a server.
pub(crate) fn push_links_start(out: &mut Vec<u8>, base_path: &str) {
    // The fragment makes the reference page show the operation.
    const DOCUMENTED: &[u8] =
        b"</docs#/animals/getPet>; rel=\"deprecation\", </docs#/animals/getPet>; rel=\"sunset\", <";
    out.extend_from_slice(DOCUMENTED);
    out.extend_from_slice(base_path.as_bytes());
    out.extend_from_slice(b"/pets");
}

/// Writes the part of the links between [`push_links_start`] and [`LINKS_END_LINE`].
pub(crate) fn push_links_query(out: &mut Vec<u8>, resource: Resource) {
    if let Resource::Pet(Ok(id)) = resource {
        out.extend_from_slice(b"?id=");
        wire::push_number(out, id.get());
    }
}
