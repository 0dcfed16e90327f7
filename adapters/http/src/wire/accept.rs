//! Content negotiation: the media types and codings that a client accepts (RFC 9110, sections 12.5.1 and 12.5.3).

mod body_type;
mod list_elements;

use hyper::HeaderMap;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HeaderName, HeaderValue};

pub(crate) use body_type::{Unsupported, check_content_type, check_lines_type};
use list_elements::{THOUSANDTHS, elements, parameter, trim, weight};

/// The header that lists the supported patch formats (RFC 5789).
pub(crate) const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

/// The supported patch formats.
pub(crate) const PATCH_TYPES: HeaderValue =
    HeaderValue::from_static("application/merge-patch+json, application/json");

/// Returns whether the client accepts `application/json`.
pub(crate) fn accepts_json(headers: &HeaderMap) -> bool {
    accepts(headers, b"application/json", b"application/*")
}

/// Returns whether the client accepts `text/event-stream`.
pub(crate) fn accepts_event_stream(headers: &HeaderMap) -> bool {
    accepts(headers, b"text/event-stream", b"text/*")
}

/// Returns whether the client names `application/problem+json`, and does not prefer `application/json` to it. A range of
/// several types does not count, because clients that do not know problem details send these.
pub(crate) fn prefers_problem(headers: &HeaderMap) -> bool {
    let weight = named(headers, b"application/problem+json");
    weight > 0 && weight >= preference(headers, b"application/json", b"application/*")
}

/// Returns whether the client prefers `text/plain` to `application/json`. If both have the same weight, it does not.
pub(crate) fn prefers_text(headers: &HeaderMap) -> bool {
    preference(headers, b"text/plain", b"text/*") > preference(headers, b"application/json", b"application/*")
}

/// Returns whether the client prefers `text/html` to both `application/json` and `text/plain`, as browsers do. If one of them has
/// the same weight, it does not.
pub(crate) fn prefers_html(headers: &HeaderMap) -> bool {
    let page = preference(headers, b"text/html", b"text/*");
    page > preference(headers, b"application/json", b"application/*")
        && page > preference(headers, b"text/plain", b"text/*")
}

/// Returns whether the client asks for OpenMetrics by name, and does not prefer `text/plain`.
pub(crate) fn asks_for_openmetrics(headers: &HeaderMap) -> bool {
    // No range of several types counts, because a client that does not know OpenMetrics sends these.
    let weight = named(headers, b"application/openmetrics-text");
    weight > 0 && weight >= named(headers, b"text/plain")
}

/// Returns the weight with which a client names a media type in thousandths; 0 if it does not name the type.
fn named(headers: &HeaderMap, media_type: &[u8]) -> u16 {
    let is_named = |range: &[u8]| {
        let name = elements(range, b';').next().map(trim).unwrap_or_default();
        name.eq_ignore_ascii_case(media_type)
    };
    let mut values = headers.get_all(ACCEPT).iter();
    let is_there = values.any(|value| elements(value.as_bytes(), b',').map(trim).any(is_named));
    if is_there { preference(headers, media_type, b"") } else { 0 }
}

fn accepts(headers: &HeaderMap, media_type: &[u8], media_group: &[u8]) -> bool {
    preference(headers, media_type, media_group) > 0
}

/// Returns the weight of a media type in thousandths; 0 if the client does not accept it. `media_group` is the range of all
/// subtypes of its type, such as `text/*`.
///
/// The most specific media range decides. If several ranges are equally specific, the one with the highest weight decides.
/// Parameters other than the weight are ignored, so `application/json; charset=utf-8` is accepted.
fn preference(headers: &HeaderMap, media_type: &[u8], media_group: &[u8]) -> u16 {
    // The specificity of the best range, and its weight. Without any range everything is accepted.
    let mut best: Option<(u8, u16)> = None;
    let mut ranges = 0_usize;
    for value in headers.get_all(ACCEPT) {
        for range in elements(value.as_bytes(), b',').map(trim).filter(|range| !range.is_empty()) {
            ranges += 1;
            let mut parts = elements(range, b';').map(trim);
            let specificity = match parts.next().unwrap_or_default() {
                full if full.eq_ignore_ascii_case(media_type) => 3,
                group if group.eq_ignore_ascii_case(media_group) => 2,
                // The asterisk alone is not in the grammar, but old Java clients send it.
                b"*/*" | b"*" => 1,
                _ => continue,
            };
            let weight = parts.filter_map(|part| parameter(part, b"q")).map(weight).min();
            best = best.max(Some((specificity, weight.unwrap_or(THOUSANDTHS))));
        }
    }
    best.map_or(if ranges == 0 { THOUSANDTHS } else { 0 }, |(_, weight)| weight)
}

/// Returns whether the client accepts gzip. A client without `Accept-Encoding` may not support gzip, so it gets none.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let (gzip, _) = codings(headers);
    gzip > 0
}

/// Returns whether the client prefers gzip to the identity coding. If both have the same weight, gzip is preferred,
/// because the body is shorter.
pub(crate) fn prefers_gzip(headers: &HeaderMap) -> bool {
    let (gzip, identity) = codings(headers);
    gzip > 0 && gzip >= identity
}

/// Returns the weights of gzip and of identity. If gzip is not listed, it has the weight of the asterisk. Without an
/// asterisk its weight is 0, as is the weight of identity if identity is not listed.
fn codings(headers: &HeaderMap) -> (u16, u16) {
    let (mut gzip, mut any, mut identity) = (None, None, None);
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    for element in values.flat_map(|value| elements(value.as_bytes(), b',')) {
        let mut parts = elements(element, b';').map(trim);
        let place = match parts.next().unwrap_or_default() {
            name if name.eq_ignore_ascii_case(b"gzip") || name.eq_ignore_ascii_case(b"x-gzip") => &mut gzip,
            name if name.eq_ignore_ascii_case(b"identity") => &mut identity,
            b"*" => &mut any,
            _ => continue,
        };
        let weight = parts.filter_map(|part| parameter(part, b"q")).map(weight).min();
        *place = (*place).max(Some(weight.unwrap_or(THOUSANDTHS)));
    }
    (gzip.or(any).unwrap_or(0), identity.unwrap_or(0))
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests {
    use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
    use proptest::prelude::*;

    use super::*;

    pub(super) fn headers(name: &HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    #[test]
    fn the_most_specific_range_decides_whether_json_is_accepted() {
        let cases: &[(&[&str], bool)] = &[
            (&[], true),
            (&[""], true),
            (&[" , "], true),
            (&["*/*"], true),
            (&["*"], true),
            (&["application/*"], true),
            (&["application/json"], true),
            (&["Application/JSON"], true),
            (&["application/json; charset=utf-8"], true),
            (&["application/json;q=0.001"], true),
            (&["text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8"], true),
            (&["text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"], true),
            (&["text/html", "application/json"], true),
            (&["*/*;q=0, application/json"], true),
            (&["application/*;q=0, application/json;q=0.5"], true),
            (&["application/json;q=0, application/json"], true),
            (&["text/plain;x=\"a,b\", application/json"], true),
            (&["text/plain;x=\"a\\\",b;q=0\", application/json"], true),
            (&["application/json;q=x"], true),
            (&["text/html"], false),
            (&["application/xml"], false),
            (&["application/problem+json"], false),
            (&["application/json;q=0"], false),
            (&["application/json; Q = 0.000"], false),
            (&["application/json;q=0, */*"], false),
            (&["*/*", "application/json;q=0."], false),
            (&["application/*;q=0, */*;q=1"], false),
            (&["*/*;q=0"], false),
            (&["text/plain;x=\",application/json\""], false),
            (&["applicationjson"], false),
        ];
        for (values, expected) in cases {
            assert_eq!(accepts_json(&headers(&ACCEPT, values)), *expected, "{values:?}");
        }
    }

    #[test]
    fn a_stream_is_accepted_by_its_own_type() {
        for (values, expected) in [
            (&[][..], true),
            (&["text/event-stream"], true),
            (&["text/event-stream, application/json"], true),
            (&["text/*"], true),
            (&["*/*"], true),
            (&["application/json"], false),
            (&["text/html"], false),
            (&["text/event-stream;q=0, */*"], false),
        ] {
            assert_eq!(accepts_event_stream(&headers(&ACCEPT, values)), expected, "{values:?}");
        }
    }

    #[test]
    fn text_is_preferred_if_it_weighs_more_than_json() {
        for (values, expected) in [
            (&[][..], false),
            (&["*/*"], false),
            (&["application/json"], false),
            (&["text/html"], false),
            (&["text/plain, application/json"], false),
            (&["text/plain;q=0.1, application/json"], false),
            (&["text/plain;q=0.5, */*;q=0.5"], false),
            (&["text/*;q=0.3, text/plain;q=0.1, application/*;q=0.2"], false),
            (&["text/plain;q=0, */*;q=0.1"], false),
            (&["text/plain"], true),
            (&["text/*"], true),
            (&["text/plain;q=0.1"], true),
            (&["application/json;q=0.9", "text/plain"], true),
            (&["text/plain, */*;q=0.5"], true),
            (&["text/plain;q=0.002, application/json;q=0.001"], true),
            (&["application/json;q=0, */*"], true),
        ] {
            assert_eq!(prefers_text(&headers(&ACCEPT, values)), expected, "{values:?}");
        }
    }

    #[test]
    fn a_page_is_preferred_if_it_weighs_more_than_json_and_text() {
        const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for (values, expected) in [
            (&[][..], false),
            (&["*/*"], false),
            (&["text/*"], false),
            (&["text/plain"], false),
            (&["application/json"], false),
            (&["text/html, application/json"], false),
            (&["text/html, text/plain"], false),
            (&["text/html;q=0.1, */*;q=0.2"], false),
            (&["text/html;q=0, */*;q=0.1"], false),
            (&["text/html"], true),
            (&[BROWSER], true),
            (&["text/html, text/plain;q=0.9"], true),
            (&["text/*;q=0.5", "text/html"], true),
            (&["TEXT/HTML;q=0.002, application/json;q=0.001"], true),
        ] {
            assert_eq!(prefers_html(&headers(&ACCEPT, values)), expected, "{values:?}");
        }
    }

    #[test]
    fn gzip_is_sent_only_to_clients_that_list_it() {
        let cases: &[(&[&str], bool)] = &[
            (&["gzip"], true),
            (&["gzip, deflate, br, zstd"], true),
            (&["br", "GZip;q=0.1"], true),
            (&["x-gzip"], true),
            (&["*"], true),
            (&["*;q=0, gzip"], true),
            (&["identity;q=0, *;q=0.5"], true),
            (&[], false),
            (&[""], false),
            (&["identity"], false),
            (&["br, deflate"], false),
            (&["gzip;q=0"], false),
            (&["gzip; q=0.000, *"], false),
            (&["*;q=0"], false),
            (&["gzipped"], false),
        ];
        for (values, expected) in cases {
            assert_eq!(accepts_gzip(&headers(&ACCEPT_ENCODING, values)), *expected, "{values:?}");
        }
    }

    #[test]
    fn gzip_is_preferred_unless_something_else_weighs_more() {
        let cases: &[(&[&str], bool)] = &[
            (&["gzip"], true),
            (&["gzip, identity"], true),
            (&["br;q=1, gzip;q=0.5"], true),
            (&["gzip;q=0.5, identity;q=0.5"], true),
            (&["gzip;q=0.51, *;q=0, identity;q=0.509"], true),
            (&["identity;q=0.5", "x-gzip"], true),
            (&["*"], true),
            (&["*;q=0.1"], true),
            (&["gzip;q=1.000"], true),
            (&["gzip;q=x"], true),
            (&["gzip;q=0.5, gzip;q=0"], true),
            (&[], false),
            (&["identity"], false),
            (&["identity, gzip;q=0.9"], false),
            (&["gzip;q=0.001, identity;q=0.002"], false),
            (&["gzip;q=0, *"], false),
            (&["gzip;q=0.000"], false),
            (&["gzip;q=0.0000"], false),
            (&["*;q=0"], false),
            (&["br, deflate"], false),
        ];
        for (values, expected) in cases {
            let headers = headers(&ACCEPT_ENCODING, values);
            assert_eq!(prefers_gzip(&headers), *expected, "{values:?}");
            assert!(!*expected || accepts_gzip(&headers), "{values:?}");
        }
    }

    proptest! {
        #[test]
        fn no_value_makes_it_panic(value in proptest::collection::vec(
            proptest::sample::select(b"application/json*;q=0., \"\\charset\x80".to_vec()), 0..30,
        )) {
            let mut headers = HeaderMap::new();
            for name in [ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, CONTENT_ENCODING] {
                headers.insert(name, HeaderValue::from_bytes(&value).unwrap());
            }
            let _either = accepts_json(&headers);
            let _either = accepts_gzip(&headers);
            assert!(!prefers_gzip(&headers) || accepts_gzip(&headers));
            let _either = check_content_type(&headers, true);
        }
    }
}
