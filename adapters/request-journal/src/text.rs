//! JSON in which no character acts on a terminal.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::ser::{CompactFormatter, Formatter};

/// Writes compact JSON. Besides the characters that JSON requires, it escapes the other control characters and the
/// characters that change the direction of text. A terminal would obey the former, and the latter let text look
/// different from what it is.
pub(crate) struct PlainFormatter;

impl Formatter for PlainFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, character)) = rest.char_indices().find(|(_, character)| is_active(*character)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            write!(writer, "\\u{:04x}", u32::from(character))?;
            rest = &rest[at + character.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        CompactFormatter.begin_object_key(writer, first)
    }
}

/// Returns `true` for a control character, a line separator, or a character that changes the direction of text. All of
/// them are in the Basic Multilingual Plane.
pub const fn is_active(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{1F}'
            | '\u{7F}'..='\u{9F}'
            | '\u{61C}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}'
            | '\u{FFF9}'..='\u{FFFB}'
    )
}

/// Returns JSON with the active characters in its strings escaped, which changes no value; `None` if there are none. A
/// terminal can then show the JSON of any writer.
pub fn plain_json(json: &str) -> Option<String> {
    // Between its strings, JSON may have white space only, which stays.
    let must_be_escaped = |character: char| is_active(character) && !matches!(character, '\n' | '\r' | '\t');
    if !json.contains(must_be_escaped) {
        return None;
    }
    let mut plain = String::with_capacity(json.len() + 64);
    for character in json.chars() {
        if must_be_escaped(character) {
            // Writing to a string does not fail.
            let _ = write!(plain, "\\u{:04x}", u32::from(character));
        } else {
            plain.push(character);
        }
    }
    Some(plain)
}

/// Returns the text of a header value. Bytes that are not UTF-8 are read as Latin-1, as HTTP defines them.
pub(crate) fn header_text(value: &[u8]) -> String {
    match str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().map(|byte| char::from(*byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_in_the_json_and_a_reader_gets_the_same_text() {
        let text = "\u{1b}[31m red \u{9b}0m \u{7f} \"q\" \\ \u{202e}live\u{2028} <b> ä 🐇\0";
        let mut out = Vec::new();
        text.serialize(&mut serde_json::Serializer::with_formatter(&mut out, PlainFormatter)).unwrap();
        let json = String::from_utf8(out).unwrap();
        assert!(!json.chars().any(is_active), "{json:?}");
        assert!(json.contains("<b> ä 🐇"));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        let usual = format!("{{\n\t\"a\": {}}}", serde_json::to_string(text).unwrap());
        let plain = plain_json(&usual).unwrap();
        assert!(!plain.chars().any(|c| is_active(c) && !matches!(c, '\n' | '\t')), "{plain:?}");
        let value: serde_json::Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(value["a"], text);
        assert_eq!(plain_json("{\n\t\"a\": \"ä <b>\"}\r\n"), None);
    }
}
