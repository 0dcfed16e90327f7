//! The text of a JSON value and of its parts, so that a part is passed on exactly as it was written.

use std::borrow::Cow;

use crate::wire;
use crate::wire::json::{self, Node};

/// A JSON value as text. It was parsed before, so it is valid and the names of members are unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// A value without space around it, which [`json::parse`] has accepted.
    pub(crate) fn of_valid(text: &'a str) -> Self {
        Self(text.trim_matches(is_space))
    }

    /// Returns the value as it was written.
    pub(crate) const fn as_str(self) -> &'a str {
        self.0
    }

    pub(crate) fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Returns the text of a string; `None` for another value.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        match json::parse(self.0.as_bytes()) {
            Ok(Node::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the text of a string, or the number or the word as it was written; `None` for an object, an array and null.
    pub(crate) fn scalar(self) -> Option<Cow<'a, str>> {
        match self.0.as_bytes().first() {
            Some(b'"') => self.text(),
            Some(b'{' | b'[' | b'n') | None => None,
            Some(_) => Some(Cow::Borrowed(self.0)),
        }
    }

    /// Returns the value of a member; `None` without it, and for a value that is not an object.
    pub(crate) fn get(self, name: &str) -> Option<Self> {
        self.members().into_iter().find(|(one, _)| one == name).map(|(_, value)| value)
    }

    /// Returns the members of an object; none for another value.
    pub(crate) fn members(self) -> Vec<(Cow<'a, str>, Self)> {
        let mut parts = Parts::of(self.0, '{');
        let mut members = Vec::new();
        while let Some(name) = parts.next() {
            let (Some(name), Some(value)) = (name.text(), parts.next()) else { break };
            members.push((name, value));
        }
        members
    }

    /// Returns the elements of an array; `None` for another value.
    pub(crate) fn elements(self) -> Option<Vec<Self>> {
        self.0.starts_with('[').then(|| Parts::of(self.0, '[').collect())
    }
}

/// Returns a text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    wire::push_string(&mut out, text.as_bytes());
    // The text is UTF-8, and so are escapes.
    String::from_utf8(out).unwrap_or_default()
}

/// The values between the brackets of an object or an array, in their order; the names of members are among them.
struct Parts<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parts<'a> {
    /// The parts of a value that begins with this bracket; none of another value.
    fn of(text: &'a str, bracket: char) -> Self {
        let inner = text.strip_prefix(bracket).map_or("", |rest| &rest[..rest.len().saturating_sub(1)]);
        Self { text: inner, at: 0 }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Raw<'a>> {
        let between = |c: char| is_space(c) || c == ',' || c == ':';
        let rest = self.text.get(self.at..)?.trim_start_matches(between);
        if rest.is_empty() {
            return None;
        }
        let value = &rest[..value_end(rest.as_bytes())];
        self.at = self.text.len() - rest.len() + value.len();
        Some(Raw(value))
    }
}

/// Returns the number of bytes of the value at the beginning of a text.
fn value_end(text: &[u8]) -> usize {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for (place, byte) in text.iter().enumerate() {
        if in_text {
            in_text = is_escaped || *byte != b'"';
            is_escaped = *byte == b'\\' && !is_escaped;
            if !in_text && depth == 0 {
                return place + 1;
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return place + 1;
                }
            }
            b',' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return place,
            _ => {}
        }
    }
    text.len()
}

/// Returns whether JSON takes a character for space.
const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Vec<(String, &str)> {
        assert!(json::parse(text.as_bytes()).is_ok(), "{text}");
        let members = Raw::of_valid(text).members().into_iter();
        members.map(|(name, value)| (name.into_owned(), value.as_str())).collect()
    }

    #[test]
    fn members_keep_the_text_of_their_values() {
        let text = " { \"a\" : 1.50e2 ,\"b\":{\"c\":[1, \"]}\\\"\"]}\n,\"\\u0064\":\"x,:\\\\\", \"e\":null,\"f\":[ ] } ";
        let expected = [
            ("a", "1.50e2"),
            ("b", "{\"c\":[1, \"]}\\\"\"]}"),
            ("d", "\"x,:\\\\\""),
            ("e", "null"),
            ("f", "[ ]"),
        ];
        assert_eq!(members(text), expected.map(|(name, value)| (name.to_owned(), value)));
        for other in ["{}", "{ }", "[]", "[1]", "\"{\"", "7", "null"] {
            assert_eq!(members(other), [], "{other}");
        }
    }

    #[test]
    fn elements_and_scalars_are_told_apart() {
        let value = Raw::of_valid("[1, \"a,b\",true ,[2],{\"a\":3}]");
        let elements = value.elements().unwrap();
        let texts: Vec<_> = elements.iter().map(|one| one.as_str()).collect();
        assert_eq!(texts, ["1", "\"a,b\"", "true", "[2]", "{\"a\":3}"]);
        let scalars: Vec<_> = elements.iter().map(|one| one.scalar()).collect();
        assert_eq!(scalars, [Some("1".into()), Some("a,b".into()), Some("true".into()), None, None]);
        assert_eq!(Raw::of_valid("{}").elements(), None);
        assert_eq!(Raw::of_valid("[]").elements(), Some(vec![]));
        assert!(Raw::of_valid(" null ").is_null() && Raw::of_valid("null").scalar().is_none());
    }
}
