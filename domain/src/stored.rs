//! Values that older versions have stored but that are no longer valid, and their replacements.

use crate::text::{NAME_MAX, parse_name};
use crate::{TextError, Timestamp, TimestampError};

/// A stored value, parsed by the current rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored<T> {
    /// The stored value is valid.
    Sound(T),
    /// The replacement of a stored value that an older version accepted.
    Mended(T),
}

impl<T> Stored<T> {
    /// The stored value or its replacement.
    pub fn into_value(self) -> T {
        match self {
            Self::Sound(value) | Self::Mended(value) => value,
        }
    }

    /// The replacement, if the stored value is not valid.
    pub fn mended(self) -> Option<T> {
        match self {
            Self::Sound(_) => None,
            Self::Mended(value) => Some(value),
        }
    }
}

/// Reads a stored point in time. A time in the year 0000, which an older version accepted, becomes [`Timestamp::MIN`].
pub fn stored_time(text: &str) -> Result<Stored<Timestamp>, TimestampError> {
    match Timestamp::parse(text) {
        Ok(time) => Ok(Stored::Sound(time)),
        // Only a well-formed time can be out of range.
        Err(TimestampError::OutOfRange) if text.starts_with("0000-") => Ok(Stored::Mended(Timestamp::MIN)),
        Err(error) => Err(error),
    }
}

/// Reads a stored name of a kind of record, such as `pet`. A name without a visible character, which an older version
/// accepted, is replaced by the kind and the id.
pub fn stored_name(text: &str, kind: &str, id: u64) -> Result<Stored<String>, TextError> {
    match parse_name(text, NAME_MAX) {
        Ok(name) => Ok(Stored::Sound(name.to_owned())),
        Err(TextError::Invisible) => Ok(Stored::Mended(format!("{kind} {id}"))),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_year_0_becomes_the_first_instant() {
        assert_eq!(stored_time("0000-01-01T00:00:00.000Z"), Ok(Stored::Mended(Timestamp::MIN)));
        assert_eq!(stored_time("0000-12-31T23:59:59.999Z"), Ok(Stored::Mended(Timestamp::MIN)));
        assert_eq!(stored_time("0001-01-01T00:00:00.000Z"), Ok(Stored::Sound(Timestamp::MIN)));
        assert_eq!(stored_time("0000-13-01T00:00:00.000Z"), Err(TimestampError::NotRfc3339));
        assert_eq!(stored_time("9999-12-31T23:59:59-01:00"), Err(TimestampError::OutOfRange));
    }

    #[test]
    fn only_a_name_that_nobody_sees_becomes_the_kind_and_the_id() {
        assert_eq!(stored_name("\u{200b}", "pet", 7), Ok(Stored::Mended("pet 7".into())));
        assert_eq!(stored_name("Rex", "pet", 7), Ok(Stored::Sound("Rex".into())));
        assert_eq!(stored_name("", "pet", 7), Err(TextError::Empty));
        assert_eq!(stored_name("a\0", "pet", 7), Err(TextError::ControlCharacter));
    }
}
