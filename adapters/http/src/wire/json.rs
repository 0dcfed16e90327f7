//! A strict JSON parser (RFC 8259).
//!
//! General parsers do not support the following rules. A member name must be unique, and the depth is bounded. A number
//! of any size is valid JSON; a number that is too large is a fault of its member only, not of the whole body. The
//! members of objects are kept, to find duplicate names. The elements of arrays are checked, but kept only if the
//! caller asks for them. A fault is reported by its position, without text of the body.

use std::borrow::Cow;

use crate::wire::error::{ApiError, Code};

/// The maximum depth of nested arrays and objects, counting the outermost one as 1. The resources need only 1. The
/// parser is recursive, so it needs a bound with which no stack overflows.
pub(crate) const DEPTH_MAX: usize = 32;

/// The number of members up to which all pairs of names are compared to find duplicates. The time for that is
/// quadratic, so the names of a larger object are sorted.
const MEMBERS_COMPARED_MAX: usize = 8;

/// A JSON value, with only the details that the resources need.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    /// A number without fraction and exponent; negative zero is 0. A number beyond 64 bits becomes the nearest 64-bit
    /// number, which is out of range for every field.
    Integer(i64),
    /// A number with a fraction or an exponent.
    Number,
    Text(Cow<'a, str>),
    /// An array. No resource has one, so its elements are kept only if the caller asks for them.
    Array(Vec<Self>),
    Object(Members<'a>),
}

/// The members of an object in the order of the document, with unique names.
pub(crate) type Members<'a> = Vec<(Cow<'a, str>, Node<'a>)>;

/// Parses a body that is one JSON value. Array elements are checked, but not kept.
pub(crate) fn parse(body: &[u8]) -> Result<Node<'_>, ApiError> {
    read(body, false)
}

/// Parses like [`parse`], and keeps array elements. The result takes up to sixteen times the memory of the body.
pub(crate) fn parse_with_arrays(body: &[u8]) -> Result<Node<'_>, ApiError> {
    read(body, true)
}

/// Returns the error of a request without the body that it needs.
fn no_body() -> ApiError {
    ApiError::new(Code::InvalidJson, "The request has no body; send a JSON object as application/json.")
}

fn read(body: &[u8], keeps_arrays: bool) -> Result<Node<'_>, ApiError> {
    if body.is_empty() {
        return Err(no_body());
    }
    let text = std::str::from_utf8(body)
        .map_err(|error| JsonFault { what: "invalid UTF-8", at: error.valid_up_to() }.into_error(body))?;
    let mut reader = JsonReader { text, at: 0, keeps_arrays };
    reader.document().map_err(|fault| fault.into_error(body))
}

/// A fault and the byte at which it was found.
struct JsonFault {
    what: &'static str,
    at: usize,
}

impl JsonFault {
    fn into_error(self, body: &[u8]) -> ApiError {
        let before = body.get(..self.at).unwrap_or(body);
        let mut lines = before.split(|byte| *byte == b'\n');
        let last = lines.next_back().unwrap_or_default();
        let line = lines.count() + 1;
        // Columns count characters, so the continuation bytes of UTF-8 do not count.
        let column = last.iter().filter(|byte| **byte & 0xC0 != 0x80).count() + 1;
        let what = self.what;
        let message = format!("The body is not valid JSON: {what} at line {line}, column {column}.");
        ApiError::new(Code::InvalidJson, message)
    }
}

struct JsonReader<'a> {
    text: &'a str,
    /// The position of the next byte.
    at: usize,
    keeps_arrays: bool,
}

impl<'a> JsonReader<'a> {
    fn document(&mut self) -> Result<Node<'a>, JsonFault> {
        self.skip_space();
        if self.peek().is_none() {
            return Err(self.fault("expected a value, found the end"));
        }
        let node = self.value(1)?;
        self.skip_space();
        match self.peek() {
            None => Ok(node),
            Some(_) => Err(self.fault("unexpected text after the value")),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node<'a>, JsonFault> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Node::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'n') => self.word("null", Node::Null),
            Some(b't') => self.word("true", Node::Bool(true)),
            Some(b'f') => self.word("false", Node::Bool(false)),
            _ => Err(self.fault("expected a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node<'a>, JsonFault> {
        self.open(depth)?;
        let mut members = Members::new();
        let mut starts = Vec::new();
        if self.eat(b'}') {
            return Ok(Node::Object(members));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.fault("expected a member name"));
            }
            starts.push(self.at);
            let name = self.string()?;
            self.skip_space();
            if !self.eat(b':') {
                return Err(self.fault("expected a colon"));
            }
            self.skip_space();
            members.push((name, self.value(depth + 1)?));
            self.skip_space();
            if self.eat(b'}') {
                break;
            }
            if !self.eat(b',') {
                return Err(self.fault("expected a comma or a closing brace"));
            }
        }
        match repeated_name(&members) {
            Some(index) => Err(JsonFault { what: "duplicate member name", at: starts[index] }),
            None => Ok(Node::Object(members)),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Node<'a>, JsonFault> {
        self.open(depth)?;
        if self.eat(b']') {
            return Ok(Node::Array(vec![]));
        }
        let mut elements = vec![];
        loop {
            self.skip_space();
            let element = self.value(depth + 1)?;
            if self.keeps_arrays {
                elements.push(element);
            }
            self.skip_space();
            if self.eat(b']') {
                return Ok(Node::Array(elements));
            }
            if !self.eat(b',') {
                return Err(self.fault("expected a comma or a closing bracket"));
            }
        }
    }

    /// Skips an opening bracket or brace and the white space after it.
    fn open(&mut self, depth: usize) -> Result<(), JsonFault> {
        if depth > DEPTH_MAX {
            return Err(self.fault("nested too deeply"));
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, JsonFault> {
        self.at += 1;
        let mut unescaped = String::new();
        let mut plain_from = self.at;
        loop {
            match self.peek() {
                None => return Err(self.fault("unterminated string")),
                Some(b'"') => {
                    let plain = &self.text[plain_from..self.at];
                    self.at += 1;
                    if unescaped.is_empty() {
                        return Ok(Cow::Borrowed(plain));
                    }
                    unescaped.push_str(plain);
                    return Ok(Cow::Owned(unescaped));
                }
                Some(b'\\') => {
                    unescaped.push_str(&self.text[plain_from..self.at]);
                    unescaped.push(self.escape()?);
                    plain_from = self.at;
                }
                Some(0..0x20) => return Err(self.fault("unescaped control character")),
                Some(_) => self.at += 1,
            }
        }
    }

    /// Parses an escape sequence, including the backslash.
    fn escape(&mut self) -> Result<char, JsonFault> {
        let fault = self.fault("invalid escape sequence");
        let letter = self.text.as_bytes().get(self.at + 1);
        let escaped = match letter {
            Some(b'u') => return self.unicode_escape().ok_or(fault),
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(fault),
        };
        self.at += 2;
        Ok(escaped)
    }

    /// Parses `\uXXXX`, or two of them that form a surrogate pair. An unpaired surrogate is refused, because it is not
    /// a character.
    fn unicode_escape(&mut self) -> Option<char> {
        let first = self.code_unit()?;
        if !(0xD800..=0xDBFF).contains(&first) {
            return char::from_u32(first);
        }
        let second = self.code_unit().filter(|unit| (0xDC00..=0xDFFF).contains(unit))?;
        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    }

    /// Parses `\uXXXX` as a number.
    fn code_unit(&mut self) -> Option<u32> {
        let [b'\\', b'u', digits @ ..] = self.text.as_bytes().get(self.at..self.at + 6)? else {
            return None;
        };
        let mut unit = 0;
        for digit in digits {
            unit = unit << 4 | char::from(*digit).to_digit(16)?;
        }
        self.at += 6;
        Some(unit)
    }

    fn number(&mut self) -> Result<Node<'a>, JsonFault> {
        let start = self.at;
        let negative = self.eat(b'-');
        // A leading zero must be the only digit.
        if !self.eat(b'0') {
            self.digits()?;
        }
        let mut integer = true;
        if self.eat(b'.') {
            integer = false;
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            integer = false;
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        if !integer {
            return Ok(Node::Number);
        }
        let nearest = if negative { i64::MIN } else { i64::MAX };
        Ok(Node::Integer(self.text[start..self.at].parse().unwrap_or(nearest)))
    }

    /// Skips one or more digits.
    fn digits(&mut self) -> Result<(), JsonFault> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.fault("expected a digit"));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, word: &str, node: Node<'a>) -> Result<Node<'a>, JsonFault> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.fault("expected a value"));
        }
        self.at += word.len();
        Ok(node)
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    const fn fault(&self, what: &'static str) -> JsonFault {
        JsonFault { what, at: self.at }
    }
}

/// Returns the index of the first member whose name occurred before.
fn repeated_name(members: &Members<'_>) -> Option<usize> {
    if members.len() <= MEMBERS_COMPARED_MAX {
        return (1..members.len())
            .find(|index| members[..*index].iter().any(|(name, _)| *name == members[*index].0));
    }
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_unstable_by_key(|index| (&members[*index].0, *index));
    let pairs = order.windows(2).filter(|pair| members[pair[0]].0 == members[pair[1]].0);
    pairs.map(|pair| pair[1]).min()
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
