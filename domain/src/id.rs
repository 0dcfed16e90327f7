//! Identifiers: assigned by the store only, increasing, never reused.

use std::num::NonZeroU64;

/// The largest id: 2^53 - 1, the last integer that every JSON client holds exactly.
pub const ID_MAX: u64 = (1 << 53) - 1;

/// The reason why a text is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is not a plain decimal number. It has a sign, a leading zero, a fraction or another character that is
    /// not a digit.
    #[error("must be a decimal number without sign or leading zeros")]
    NotDecimal,
    /// The text is a plain decimal number, but not one between 1 and [`ID_MAX`].
    #[error("must be between 1 and {ID_MAX}")]
    OutOfRange,
}

#[expect(clippy::inline_always, reason = "the compiler does not follow a mere hint here")]
#[inline(always)]
fn parse(text: &str) -> Result<NonZeroU64, IdError> {
    let digits = text.as_bytes();
    if digits.is_empty() || (digits[0] == b'0' && digits.len() > 1) {
        return Err(IdError::NotDecimal);
    }
    let mut number: u64 = 0;
    for digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return Err(IdError::NotDecimal);
        }
        // A number with more digits than a u64 holds saturates, and is out of range.
        number = number.saturating_mul(10).saturating_add(u64::from(value));
    }
    check(number)
}

fn check(number: u64) -> Result<NonZeroU64, IdError> {
    NonZeroU64::new(number).filter(|id| id.get() <= ID_MAX).ok_or(IdError::OutOfRange)
}

macro_rules! id_type {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(NonZeroU64);

        impl $name {
            /// The first id that a store assigns.
            pub const FIRST: Self = Self(NonZeroU64::MIN);

            /// Takes a number between 1 and [`ID_MAX`].
            pub fn new(number: u64) -> Result<Self, IdError> {
                check(number).map(Self)
            }

            /// Takes plain decimal digits: no sign, no leading zero.
            #[inline(always)]
            pub fn parse(text: &str) -> Result<Self, IdError> {
                parse(text).map(Self)
            }

            /// The number, from 1 to [`ID_MAX`].
            pub const fn get(self) -> u64 {
                self.0.get()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

id_type! {
    /// The id of a pet, and of the inventory item that tracks it.
    PetId
    /// The id of a category.
    CategoryId
    /// The id of an order.
    OrderId
    /// The id of an account.
    AccountId
    /// The id of an API key. It is not the secret: an operator may write it down.
    KeyId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_plain_decimals_in_range_and_names_the_rule_that_others_break() {
        let cases = [
            ("1", Ok(1)),
            ("42", Ok(42)),
            ("9007199254740991", Ok(ID_MAX)),
            ("9007199254740992", Err(IdError::OutOfRange)),
            ("99999999999999999999999999", Err(IdError::OutOfRange)),
            ("0", Err(IdError::OutOfRange)),
            ("", Err(IdError::NotDecimal)),
            ("01", Err(IdError::NotDecimal)),
            ("+1", Err(IdError::NotDecimal)),
            ("-1", Err(IdError::NotDecimal)),
            ("1.5", Err(IdError::NotDecimal)),
            ("1e2", Err(IdError::NotDecimal)),
            ("abc", Err(IdError::NotDecimal)),
            ("١", Err(IdError::NotDecimal)),
        ];
        for (text, expected) in cases {
            assert_eq!(PetId::parse(text).map(PetId::get), expected, "{text:?}");
        }
    }

    #[test]
    fn an_optional_id_takes_eight_bytes() {
        assert_eq!(size_of::<Option<PetId>>(), 8);
    }
}
