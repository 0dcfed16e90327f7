//! The single pass over a head against a look-up of each field, and the API key of a request.

use std::collections::BTreeSet;

use hyper::header::HeaderName;
use petstore_domain::ApiKey;

use super::*;
use crate::exchange::credentials::{NoKey, presented};
use crate::woven::both;

const WORDS: &[&str] = &[
    "Host: h\n",
    "Authorization: Bearer abc\n",
    "authorization: bearer  abc \n",
    "Authorization: Basic abc\n",
    "Authorization:\n",
    "X-API-Key: abc\n",
    "Authorization: Bearer pet_0El6XFXwsUFD8J2vGxsaboW7rZYnQRBP5d9erwRwd2928IMiW\n",
    "X-API-Key: pet_0El6XFXwsUFD8J2vGxsaboW7rZYnQRBP5d9erwRwd2928IMiW\n",
    "X-API-Key: pet_0TWD4V5tkyUQGc5qXvlBDd2Fj97aqsMoBGJJjsttG4I4DkZp9\n",
    ",",
    "x-api-key:\n",
    "X-Request-Id: 1\n",
    "Origin: http://o\n",
    "Expect: 100-continue\n",
    "Accept: */*\n",
    "If-Match: *\n",
    "If-Unmodified-Since: now\n",
    "Idempotency-Key: a\n",
    "If-None-Match: *\n",
    "Transfer-Encoding: chunked\n",
    "Transfer-Encoding: gzip, chunked\n",
    "Transfer-Encoding: Chunked\n",
    "Cookie: a=b\n",
    ":",
    "\n",
    " ",
    "Bearer ",
    "é",
    "\t",
];

#[test]
fn a_head_has_the_values_of_its_fields() {
    bolero::check!(name = "head").for_each(|input| both(input, WORDS, check));
}

fn check(lines: &[u8]) {
    let mut headers = HeaderMap::new();
    let mut bytes = 0;
    for line in lines.split(|byte| *byte == b'\n').take(100) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (HeaderName::from_bytes(&line[..colon]), line[colon + 1..].trim_ascii());
        let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) else { continue };
        bytes += format!("{name}: \r\n").len() + value.len();
        headers.append(name, value);
    }
    let head = RequestHead::read(&headers);
    assert_eq!(head.bytes, bytes);
    let values = |name: &str| headers.get_all(name).iter().collect::<Vec<_>>();
    for (name, field) in [
        ("host", head.host),
        ("authorization", head.authorization),
        ("x-api-key", head.api_key),
        ("x-request-id", head.request_id),
        ("origin", head.origin),
        ("idempotency-key", head.idempotency_key),
    ] {
        let expected = match values(name)[..] {
            [] => Field::Absent,
            [value] => Field::Once(value),
            _ => Field::Twice,
        };
        assert_eq!(field, expected, "{name}");
    }
    assert_eq!(head.expects_continue(), headers.contains_key("expect"));
    assert_eq!(head.has_accept(), headers.contains_key("accept"));
    assert_eq!(head.has_if_match(), headers.contains_key("if-match"));
    assert_eq!(head.has_if_unmodified_since(), headers.contains_key("if-unmodified-since"));
    assert_eq!(head.has_if_none_match(), headers.contains_key("if-none-match"));
    let chunked = |value: &&HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    let codings = values("transfer-encoding");
    assert_eq!(head.is_chunked(), !codings.is_empty());
    assert_eq!(head.has_other_coding(), codings.len() > 1 || !codings.iter().all(chunked));

    check_key(&head, &headers);
}

/// Checks the key against the rules of the contract, which are implemented here again.
fn check_key(head: &RequestHead<'_>, headers: &HeaderMap) {
    let bearer = |value: &[u8]| {
        let scheme = value.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case(b"bearer "));
        scheme.map(|_| value[7..].trim_ascii().to_vec()).unwrap_or_default()
    };
    let mut values = Vec::new();
    for (name, value) in headers {
        for part in value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            match name.as_str() {
                "authorization" => values.push(bearer(part)),
                "x-api-key" => values.push(part.to_vec()),
                _ => {}
            }
        }
    }
    values.retain(|value| !value.is_empty());
    let usable: BTreeSet<_> = values.iter().filter(|value| ApiKey::parse(value).is_ok()).collect();
    match (presented(head, headers), usable.len()) {
        (Err(NoKey::Ambiguous), 2..) => {}
        (Ok(key), 1) => assert!(usable.iter().all(|usable| *usable == key)),
        // A value with the length of a key is not split at commas.
        (Ok(key), 0) => assert!(key.contains(&b',') || values.iter().any(|value| value == key)),
        (Err(NoKey::Missing), 0) => assert!(values.is_empty(), "{values:?}"),
        (other, usable) => panic!("{other:?} of {usable} usable ones in {values:?}"),
    }
}
