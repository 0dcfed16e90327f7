//! The JSON parser against serde_json.

use serde_json::Value;

use super::tests::{agrees, check};
use super::*;
use crate::woven::both;

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\"a\"",
    "\"a\":",
    "\"b\":",
    "{\"a\":",
    "{\"b\":1}",
    "\\",
    "\\n",
    "\\b",
    "\\/",
    "\\u0041",
    "\\u0061",
    "\\ud83e",
    "\\udda4",
    "\\udc00",
    "0",
    "1",
    "-",
    "-0",
    ".",
    "e",
    "E+",
    "999",
    "1e999",
    "9223372036854775807",
    "18446744073709551616",
    "true",
    "false",
    "null",
    " ",
    "\n",
    "é",
    "🦤",
    "\u{0}",
    "\u{7f}",
    "\u{feff}",
    "[[[[[[[[[[[[[[[[",
    "]]]]]]]]]]]]]]]]",
];

#[test]
fn documents_are_read_as_by_serde_json() {
    bolero::check!(name = "json").for_each(|input| {
        both(input, WORDS, |body| {
            check(body).unwrap();
            let (Ok(_), Ok(value)) = (parse(body), serde_json::from_slice::<Value>(body)) else { return };
            let written = value.to_string();
            // The document is written by serde_json and parsed again. A number that neither 64 bits nor a
            // floating-point number can hold may become either kind.
            assert!(
                agrees(&parse(written.as_bytes()).unwrap(), &serde_json::from_str(&written).unwrap()),
                "{written}"
            );
        });
    });
}
