//! The media type and the coding of a request body (RFC 9110, sections 8.3 and 8.4).

use hyper::HeaderMap;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};

use super::list_elements::{elements, parameter, trim};
use crate::wire::error::{ApiError, Code};

/// Checks that a body is `application/json` without a content coding. A patch may also be
/// `application/merge-patch+json`.
pub(crate) fn check_content_type(headers: &HeaderMap, merge_patch: bool) -> Result<(), Unsupported> {
    let other = if merge_patch { Unsupported::PatchType } else { Unsupported::Type };
    check_body_type(headers, other, |essence| {
        let json = essence.eq_ignore_ascii_case(b"application/json");
        json || merge_patch && essence.eq_ignore_ascii_case(b"application/merge-patch+json")
    })
}

/// Checks that a body is `application/x-ndjson` without a content coding.
pub(crate) fn check_lines_type(headers: &HeaderMap) -> Result<(), Unsupported> {
    check_body_type(headers, Unsupported::LinesType, |essence| {
        essence.eq_ignore_ascii_case(b"application/x-ndjson")
    })
}

/// Checks that a body has no content coding, and a type that is known. `other`: the fault if it has another type.
fn check_body_type(
    headers: &HeaderMap,
    other: Unsupported,
    is_known: impl FnOnce(&[u8]) -> bool,
) -> Result<(), Unsupported> {
    let encodings = headers.get_all(CONTENT_ENCODING);
    for encoding in encodings.iter().flat_map(|value| elements(value.as_bytes(), b',')).map(trim) {
        if !encoding.is_empty() && !encoding.eq_ignore_ascii_case(b"identity") {
            return Err(Unsupported::Coding);
        }
    }
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let is_supported = match (values.next(), values.next()) {
        (Some(only), None) => is_supported(only.as_bytes(), is_known),
        _ => false,
    };
    if is_supported { Ok(()) } else { Err(other) }
}

/// The reason why a body is not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsupported {
    /// The content coding of the body is not supported.
    Coding,
    /// The type of the body is not JSON.
    Type,
    /// The type of the body is not that of a merge patch.
    PatchType,
    /// The type of the body is not newline-delimited JSON.
    LinesType,
}

impl From<Unsupported> for ApiError {
    fn from(unsupported: Unsupported) -> Self {
        Self::new(
            Code::UnsupportedMediaType,
            match unsupported {
                Unsupported::Coding => "The body must not have a Content-Encoding.",
                Unsupported::Type => "The body must be application/json, in UTF-8.",
                Unsupported::PatchType => {
                    "The body must be application/merge-patch+json or application/json, in UTF-8."
                }
                Unsupported::LinesType => "The body must be application/x-ndjson, in UTF-8.",
            },
        )
    }
}

fn is_supported(content_type: &[u8], is_known: impl FnOnce(&[u8]) -> bool) -> bool {
    let mut parts = elements(content_type, b';').map(trim);
    is_known(parts.next().unwrap_or_default())
        && parts.filter_map(|part| parameter(part, b"charset")).all(is_utf8)
}

fn is_utf8(charset: &[u8]) -> bool {
    let bare = match charset {
        [b'"', quoted @ .., b'"'] => quoted,
        bare => bare,
    };
    // `utf8` is not a registered name, but many clients send it.
    [&b"utf-8"[..], b"utf8"].iter().any(|name| bare.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::super::tests::headers;
    use super::*;

    #[test]
    fn a_body_is_json_in_utf_8() {
        let cases: &[(&[&str], bool)] = &[
            (&["application/json"], true),
            (&["APPLICATION/Json"], true),
            (&["application/json;charset=utf-8"], true),
            (&["application/json ; Charset=\"UTF-8\" ; x=\"a;charset=latin1\""], true),
            (&["application/json;charset=utf8"], true),
            (&["application/json; charset=\"UTF8\""], true),
            (&["application/json;charset=utf8mb4"], false),
            (&["application/json;charset=utf-88"], false),
            (&["application/json;"], true),
            (&[], false),
            (&[""], false),
            (&["application/json;charset=latin1"], false),
            (&["application/json;charset=utf-8;charset=utf-16"], false),
            (&["application/json;charset=\"utf-8"], false),
            (&["application/json;charset="], false),
            (&["application/json, application/json"], false),
            (&["application/json", "application/json"], false),
            (&["application/jsonx"], false),
            (&["application/json x"], false),
            (&["text/json"], false),
            (&["application/x-www-form-urlencoded"], false),
            (&["application/problem+json"], false),
        ];
        for (values, expected) in cases {
            let headers = headers(&CONTENT_TYPE, values);
            assert_eq!(check_content_type(&headers, false).is_ok(), *expected, "{values:?}");
            assert_eq!(check_content_type(&headers, true).is_ok(), *expected, "{values:?}");
        }
        let patch = headers(&CONTENT_TYPE, &["application/merge-patch+json; charset=utf-8"]);
        assert_eq!(check_content_type(&patch, true), Ok(()));
        assert_eq!(check_content_type(&patch, false), Err(Unsupported::Type));
        assert_eq!(ApiError::from(Unsupported::Type).code, Code::UnsupportedMediaType);
    }

    #[test]
    fn a_body_is_not_encoded() {
        for (encodings, expected) in [
            (&["identity"][..], true),
            (&["Identity, identity", ""], true),
            (&["gzip"], false),
            (&["identity, gzip"], false),
            (&["identity", "br"], false),
        ] {
            let mut headers = headers(&CONTENT_ENCODING, encodings);
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let checked = check_content_type(&headers, false);
            assert_eq!(checked, if expected { Ok(()) } else { Err(Unsupported::Coding) }, "{encodings:?}");
        }
    }
}
