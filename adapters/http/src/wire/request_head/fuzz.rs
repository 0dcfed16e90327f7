//! The one pass over a head, against a look-up for each field; and the key that it presents.

use hyper::header::HeaderName;

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
    "x-api-key:\n",
    "X-Request-Id: 1\n",
    "Origin: http://o\n",
    "Expect: 100-continue\n",
    "Accept: */*\n",
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
fn a_head_is_what_its_fields_are() {
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
    let head = Head::read(&headers);
    assert_eq!(head.bytes, bytes);
    let values = |name: &str| headers.get_all(name).iter().collect::<Vec<_>>();
    for (name, field) in [
        ("host", head.host),
        ("authorization", head.authorization),
        ("x-api-key", head.api_key),
        ("x-request-id", head.request_id),
        ("origin", head.origin),
    ] {
        let expected = match values(name)[..] {
            [] => Field::Absent,
            [value] => Field::Once(value),
            _ => Field::Twice,
        };
        assert_eq!(field, expected, "{name}");
    }
    assert_eq!(head.expects, headers.contains_key("expect"));
    assert_eq!(head.accepts, headers.contains_key("accept"));
    assert_eq!(head.knows, headers.contains_key("if-none-match"));
    let chunked = |value: &&HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    let codings = values("transfer-encoding");
    assert_eq!(head.chunked, !codings.is_empty());
    assert_eq!(head.coded, codings.len() > 1 || !codings.iter().all(chunked));

    let carriers = [values("authorization"), values("x-api-key")].concat();
    match (presented(&head), &carriers[..]) {
        (Err(NoKey::Ambiguous), [_, _, ..]) | (Err(NoKey::Missing), []) => {}
        (Ok(key), [carrier]) => {
            assert!(!key.is_empty() && key == key.trim_ascii());
            assert!(carrier.as_bytes().ends_with(key));
        }
        (Err(NoKey::Missing), [carrier]) => {
            // Nothing in the old field, or no token of the one scheme.
            let carrier = carrier.as_bytes().to_ascii_lowercase();
            let token = carrier.strip_prefix(b"bearer ").map(<[u8]>::trim_ascii);
            assert!(
                carrier.is_empty() || (head.api_key == Field::Absent && token.is_none_or(<[u8]>::is_empty))
            );
        }
        (other, carriers) => panic!("{other:?} of {carriers:?}"),
    }
}
