//! Media types: spellings that must be equivalent.

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};

use super::*;
use crate::woven::both;

const WORDS: &[&str] = &[
    "application/json",
    "application/*",
    "*/*",
    "*",
    "text/html",
    "application/merge-patch+json",
    ";q=0",
    ";q=0.5",
    "; Q = 0.0",
    ";",
    ",",
    " , ",
    "\"",
    "\\",
    "x=\"a,b\"",
    "charset=utf-8",
    ";charset=\"UTF-8\"",
    "charset=latin1",
    "identity",
    "gzip",
    "=",
    " ",
    "\t",
    "é",
    "0.",
    "1",
];

#[test]
fn equivalent_spellings_of_a_type_are_treated_alike() {
    bolero::check!(name = "accept").for_each(|input| both(input, WORDS, check));
}

fn with(name: &HeaderName, values: &[&[u8]]) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(name, HeaderValue::from_bytes(value).ok()?);
    }
    Some(headers)
}

fn check(value: &[u8]) {
    let accepts = |values: &[&[u8]]| with(&ACCEPT, values).map(|headers| accepts_json(&headers));
    let Some(accepted) = accepts(&[value]) else { return };
    assert_eq!(accepts(&[&value.to_ascii_uppercase()]), Some(accepted));
    assert_eq!(accepts(&[&[b" \t", value, b" "].concat()]), Some(accepted));
    assert_eq!(accepts(&[b"", value, b" , "]), Some(accepted));
    if !value.contains(&b'"') {
        let lines: Vec<_> = value.split(|byte| *byte == b',').collect();
        assert_eq!(accepts(&lines), Some(accepted), "several lines are one list");
        assert_eq!(accepts(&[&[value, b",application/json"].concat()]), Some(true), "it is among them");
        let names_json = value.to_ascii_lowercase().windows(16).any(|window| window == b"application/json");
        for exclusion in [",application/json;q=0", ",application/json;charset=utf-8; Q=0.0"] {
            let decides = accepts(&[&[value, exclusion.as_bytes()].concat()]) == Some(false);
            assert!(names_json || decides, "it alone decides");
        }
    }

    let is_taken = |value: &[u8], merge_patch| {
        check_content_type(&with(&CONTENT_TYPE, &[value]).unwrap(), merge_patch).is_ok()
    };
    let plain = is_taken(value, false);
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    assert!(!plain || essence.eq_ignore_ascii_case(b"application/json"));
    assert!(!plain || is_taken(value, true), "a patch may be plain JSON");
    for merge_patch in [false, true] {
        assert_eq!(is_taken(&value.to_ascii_uppercase(), merge_patch), is_taken(value, merge_patch));
    }
    // Every content coding is refused, except `identity`, which is the same as no coding.
    let mut headers = with(&CONTENT_TYPE, &[b"application/json"]).unwrap();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_bytes(value).unwrap());
    let encodings = value.to_ascii_lowercase();
    let unencoded =
        encodings.split(|byte| *byte == b',').all(|one| matches!(one.trim_ascii(), b"" | b"identity"));
    assert!(value.contains(&b'"') || check_content_type(&headers, true).is_ok() == unencoded);
}
