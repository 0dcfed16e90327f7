//! Conditional headers against the grammar of RFC 9110, implemented again as a pattern.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::*;
use crate::woven::both;

const EPOCH: u64 = 0x1f;

const WORDS: &[&str] = &[
    "\"1f-1\"",
    "\"1f-a\"",
    "W/\"1f-1\"",
    "\"1e-1\"",
    "\"",
    "W/",
    "w/",
    "*",
    ",",
    ", ",
    " ",
    "\t",
    "\n",
    "1f-",
    "-",
    "1",
    "ff",
    "x",
    "é",
    "\\",
    "\"\"",
    "\"0000000000000abc\"",
    "W/\"0000000000000abc\"",
];

/// A list of tags with optional empty elements.
static LIST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!(r"^(?:[ \t]*(?:{TAG})?[ \t]*(?:,|$))*$")).unwrap());

/// Matches one tag. The test converts each byte of the header to the character with the same number, so that the
/// pattern can match bytes that are not UTF-8.
static TAGS: LazyLock<Regex> = LazyLock::new(|| Regex::new(TAG).unwrap());

const TAG: &str = r#"(?:W/)?"[\x21\x23-\x7e\u{80}-\u{ff}]*""#;

#[test]
fn a_condition_is_a_list_of_tags_or_an_asterisk() {
    bolero::check!(name = "conditional").for_each(|input| both(input, WORDS, check));
}

fn check(input: &[u8]) {
    let mut headers = HeaderMap::new();
    let mut lines = Vec::new();
    for line in input.split(|byte| *byte == b'\n') {
        let Ok(value) = HeaderValue::from_bytes(line) else { return };
        headers.append(IF_MATCH, value.clone());
        headers.append(IF_NONE_MATCH, value);
        lines.push(line.iter().map(|byte| char::from(*byte)).collect::<String>());
    }
    let is_any = lines.len() == 1 && lines[0].trim_matches([' ', '\t']) == "*";
    let tags: Vec<_> = lines.iter().flat_map(|line| TAGS.find_iter(line)).map(|tag| tag.as_str()).collect();
    let is_list = lines.iter().all(|line| LIST.is_match(line)) && !tags.is_empty();

    let (demanded, known) = (if_match(&headers, EPOCH), if_none_match(&headers));
    assert_eq!(demanded.is_ok(), is_any || is_list, "{lines:?}");
    assert_eq!(known.is_ok(), demanded.is_ok());
    let (Ok(Some(demanded)), Ok(known)) = (demanded, known) else { return };
    let list = EntityTag::weak(0xabc);
    let Precondition::AnyOf(versions) = demanded else {
        assert_eq!((is_any, demanded), (true, Precondition::Exists));
        assert!(known.matches(&list));
        return;
    };
    let opaque = |tag: &str| tag.trim_start_matches("W/").to_owned();
    assert_eq!(known.matches(&list), tags.iter().any(|tag| opaque(tag) == "\"0000000000000abc\""));
    // The versions that were read are exactly those of the strong tags of this epoch in the header.
    let strong: Vec<_> = versions.iter().map(|version| EntityTag::strong(EPOCH, *version)).collect();
    assert!(strong.iter().all(|tag| known.matches(tag)));
    let written: Vec<_> = strong.iter().map(|tag| str::from_utf8(tag.as_bytes()).unwrap()).collect();
    let mine = |tag: &&&str| tag.strip_prefix("\"1f-").is_some_and(is_version);
    assert_eq!(written, tags.iter().filter(mine).copied().collect::<Vec<_>>());
}

/// Returns whether the text is a version in hexadecimal and the closing quote.
fn is_version(rest: &str) -> bool {
    let number = rest.strip_suffix('"').and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.is_some_and(|number| number > 0 && rest == format!("{number:x}\""))
}
