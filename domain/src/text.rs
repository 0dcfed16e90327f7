//! Text values: their rules and their storage.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::visible::has_visible;

/// The number of bytes that are stored inline. With its length and its tag a [`ShortText`] then has 32 bytes. Nearly
/// every name fits, so that reading a record touches no second cache line.
const INLINE_MAX: usize = 27;

/// A string that lives inside its record when it is short, on the heap otherwise.
pub(crate) struct ShortText(Repr);

enum Repr {
    Inline(Inline),
    Heap(Box<str>),
}

impl Clone for ShortText {
    /// Copies an inline text as one block.
    #[inline]
    fn clone(&self) -> Self {
        match &self.0 {
            Repr::Inline(inline) => Self(Repr::Inline(*inline)),
            Repr::Heap(text) => Self::on_heap(text),
        }
    }
}

/// An inline text. The tag has four bytes, so that a copy takes four aligned moves. With a tag of one byte, the last
/// move would overlap the one before it and wait for it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Inline {
    bytes: [u8; INLINE_MAX],
    len: u8,
    tag: Tag,
}

/// The tag of an inline text. [`Repr`] needs no separate discriminant, because the compiler encodes it in the unused
/// values of this type.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Tag {
    Inline,
}

impl ShortText {
    pub(crate) fn new(text: &str) -> Self {
        let mut bytes = [0; INLINE_MAX];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(len)) => {
                place.copy_from_slice(text.as_bytes());
                Self(Repr::Inline(Inline { bytes, len, tag: Tag::Inline }))
            }
            _ => Self::on_heap(text),
        }
    }

    /// Allocates a long text. It is rare, so it stays out of the code that copies records.
    #[cold]
    #[inline(never)]
    fn on_heap(text: &str) -> Self {
        Self(Repr::Heap(text.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Inline(_) => std::str::from_utf8(self.as_bytes()).expect("copied from a str"),
            Repr::Heap(text) => text,
        }
    }

    /// Returns the bytes without the UTF-8 check of `as_str`. Rendering needs no `str`.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline(Inline { bytes, len, .. }) => &bytes[..usize::from(*len)],
            Repr::Heap(text) => text.as_bytes(),
        }
    }
}

impl PartialEq for ShortText {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for ShortText {}

impl Hash for ShortText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl PartialOrd for ShortText {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ShortText {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl fmt::Debug for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// The reason why a text is not valid for its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing is left after trimming.
    #[error("must not be empty")]
    Empty,
    /// The text has more characters (Unicode scalar values) than the field takes.
    #[error("must have at most {max} characters")]
    TooLong {
        /// The maximum number of characters that the field takes.
        max: usize,
    },
    /// A control character, U+0000 among them.
    #[error("must not contain control characters")]
    ControlCharacter,
    /// The text has only characters that are not visible, such as U+200B ZERO WIDTH SPACE.
    #[error("must contain a visible character")]
    Invisible,
}

/// The maximum number of characters of a name, after trimming.
pub const NAME_MAX: usize = 100;

/// The maximum number of characters of a description.
pub const DESCRIPTION_MAX: usize = 1_000;

/// Returns the text as it is stored as a name: trimmed of white space, then 1 to `max` characters, none of them a control
/// character and at least one of them visible.
pub(crate) fn parse_name(text: &str, max: usize) -> Result<&str, TextError> {
    let name = text.trim();
    if name.chars().any(char::is_control) {
        return Err(TextError::ControlCharacter);
    }
    if name.is_empty() {
        return Err(TextError::Empty);
    }
    // A text has at most as many characters as bytes, so they are counted only if the bytes exceed the limit.
    if name.len() > max && name.chars().count() > max {
        return Err(TextError::TooLong { max });
    }
    if !has_visible(name) {
        return Err(TextError::Invisible);
    }
    Ok(name)
}

/// Defines the type of a name, of at most [`NAME_MAX`] characters or of another maximum. Each kind of name has a separate
/// newtype, so that they cannot be mixed up.
macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $crate::text::name_type! { $(#[$doc])* $name, $crate::NAME_MAX }
    };
    ($(#[$doc:meta])* $name:ident, $max:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name($crate::text::ShortText);

        impl $name {
            /// The maximum number of characters.
            pub const MAX: usize = $max;

            /// Trims the text and takes it if 1 to `MAX` characters are left, none of them a control character and at
            /// least one of them visible.
            pub fn parse(text: &str) -> Result<Self, $crate::TextError> {
                $crate::text::parse_name(text, Self::MAX).map(|name| Self($crate::text::ShortText::new(name)))
            }

            /// The name as it was given, without blanks at its ends.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }

            /// The name's UTF-8 bytes.
            pub fn as_bytes(&self) -> &[u8] {
                self.0.as_bytes()
            }

            /// The form in which names are compared.
            pub fn folded(&self) -> $crate::FoldedName {
                $crate::FoldedName::of(self.as_str())
            }
        }

        impl $crate::ValueType for $name {
            const KIND: $crate::ValueKind = $crate::ValueKind::Text { min: 1, max: Self::MAX };

            fn value(&self) -> $crate::Value<'_> {
                $crate::Value::Text(self.as_str())
            }

            fn of(value: $crate::Value<'_>) -> Result<Self, $crate::ValueError> {
                Ok(Self::parse(value.text()?)?)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use name_type;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_it_was_given_on_both_sides_of_the_inline_bound() {
        for len in [0, 1, INLINE_MAX - 1, INLINE_MAX, INLINE_MAX + 1, 400] {
            let text = "x".repeat(len);
            assert_eq!(ShortText::new(&text).as_str(), text);
        }
        assert_eq!(ShortText::new("ñandú 🦤").as_str(), "ñandú 🦤");
    }

    #[test]
    fn a_text_takes_half_a_cache_line() {
        assert_eq!(size_of::<ShortText>(), 32);
        assert_eq!(size_of::<Option<ShortText>>(), 32);
    }

    #[test]
    fn names_are_trimmed_counted_in_characters_and_free_of_controls() {
        let cases: [(&str, Result<&str, TextError>); 13] = [
            ("Rex", Ok("Rex")),
            ("  Rex \u{2003}", Ok("Rex")),
            ("", Err(TextError::Empty)),
            (" \u{3000} ", Err(TextError::Empty)),
            ("a\0b", Err(TextError::ControlCharacter)),
            ("a\u{85}b", Err(TextError::ControlCharacter)),
            ("a\nb", Err(TextError::ControlCharacter)),
            ("\tRex\n", Ok("Rex")),
            ("\u{200b}", Err(TextError::Invisible)),
            ("\u{2060}\u{3164}\u{2800}", Err(TextError::Invisible)),
            ("\u{200b}Rex", Ok("\u{200b}Rex")),
            (&"é".repeat(100), Ok(&"é".repeat(100))),
            (&"é".repeat(101), Err(TextError::TooLong { max: NAME_MAX })),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_name(text, NAME_MAX), expected, "{text:?}");
        }
    }
}
