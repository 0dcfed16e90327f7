//! The types of members, and their values as stores and codecs see them.

use crate::text::DESCRIPTION_MAX;
use crate::{
    CategoryId, Description, ID_MAX, IdError, OrderId, OrderQuantity, PetId, PetStatus, RangeError,
    TextError, Timestamp, TimestampError, Version,
};

/// A value of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'v> {
    /// The member has no value.
    Absent,
    /// An id or a number.
    Number(u64),
    /// A text.
    Text(&'v str),
    /// A word of a fixed set, or, as it is read, any text.
    Word(&'v str),
    /// A point in time.
    Time(Timestamp),
    /// Yes or no.
    Flag(bool),
}

/// The kind of a member's values, with their bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// An id: a number from 1 to [`ID_MAX`].
    Id,
    /// A number from `min` to `max`.
    Number {
        /// The lower bound, included.
        min: u64,
        /// The upper bound, included.
        max: u64,
    },
    /// A text of `min` to `max` characters.
    Text {
        /// The minimum number of characters.
        min: usize,
        /// The maximum number of characters.
        max: usize,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// A point in time.
    Time,
    /// Yes or no.
    Flag,
}

/// The reason why a value is not one of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A required value is absent.
    #[error("is absent")]
    Absent,
    /// The value is of another kind, such as a text in place of a number.
    #[error("has another type or range")]
    OtherKind,
    /// The text is not one of the words.
    #[error("is an unknown word")]
    UnknownWord,
    /// The number is not a version.
    #[error("is less than 1")]
    Version,
    /// The number is not an id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The text is not valid.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The number is outside its range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// The text or number is not a point in time.
    #[error(transparent)]
    Time(#[from] TimestampError),
}

/// A type that a member can have.
pub trait ValueType: Sized + Clone + PartialEq {
    /// The kind of its values.
    const KIND: ValueKind;
    /// True if a member of this type may be absent.
    const IS_OPTIONAL: bool = false;

    /// Returns the value as stores and codecs see it.
    fn value(&self) -> Value<'_>;

    /// Parses a value as a store or a codec has read it.
    fn of(value: Value<'_>) -> Result<Self, ValueError>;
}

impl<'v> Value<'v> {
    /// The number.
    pub fn number(self) -> Result<u64, ValueError> {
        match self {
            Self::Number(number) => Ok(number),
            other => Err(other.unexpected()),
        }
    }

    /// The text or word.
    pub fn text(self) -> Result<&'v str, ValueError> {
        match self {
            Self::Text(text) | Self::Word(text) => Ok(text),
            other => Err(other.unexpected()),
        }
    }

    fn unexpected(self) -> ValueError {
        if self == Self::Absent { ValueError::Absent } else { ValueError::OtherKind }
    }
}

macro_rules! ids {
    ($($id:ident)*) => {$(
        impl ValueType for $id {
            const KIND: ValueKind = ValueKind::Id;

            fn value(&self) -> Value<'_> {
                Value::Number(self.get())
            }

            fn of(value: Value<'_>) -> Result<Self, ValueError> {
                Ok(Self::new(value.number()?)?)
            }
        }
    )*};
}

ids! { PetId CategoryId OrderId }

impl ValueType for Description {
    const KIND: ValueKind = ValueKind::Text { min: 0, max: DESCRIPTION_MAX };

    fn value(&self) -> Value<'_> {
        Value::Text(self.as_str())
    }

    fn of(value: Value<'_>) -> Result<Self, ValueError> {
        Ok(Self::parse(value.text()?)?)
    }
}

impl ValueType for PetStatus {
    const KIND: ValueKind = ValueKind::Word(&Self::WORDS);

    fn value(&self) -> Value<'_> {
        Value::Word(self.as_str())
    }

    fn of(value: Value<'_>) -> Result<Self, ValueError> {
        Self::parse(value.text()?).ok_or(ValueError::UnknownWord)
    }
}

impl ValueType for OrderQuantity {
    const KIND: ValueKind = ValueKind::Number { min: 1, max: Self::MAX as u64 };

    fn value(&self) -> Value<'_> {
        Value::Number(self.get().into())
    }

    fn of(value: Value<'_>) -> Result<Self, ValueError> {
        // A number beyond the range of i64 is as invalid as 0.
        Ok(Self::new(i64::try_from(value.number()?).unwrap_or(0))?)
    }
}

impl ValueType for Version {
    const KIND: ValueKind = ValueKind::Number { min: 1, max: ID_MAX };

    fn value(&self) -> Value<'_> {
        Value::Number(self.get())
    }

    fn of(value: Value<'_>) -> Result<Self, ValueError> {
        Self::new(value.number()?).ok_or(ValueError::Version)
    }
}

impl ValueType for u64 {
    const KIND: ValueKind = ValueKind::Number { min: 0, max: ID_MAX };

    fn value(&self) -> Value<'_> {
        Value::Number(*self)
    }

    fn of(value: Value<'_>) -> Result<Self, ValueError> {
        value.number()
    }
}

impl ValueType for u32 {
    const KIND: ValueKind = ValueKind::Number { min: 0, max: Self::MAX as u64 };

    fn value(&self) -> Value<'_> {
        Value::Number((*self).into())
    }

    fn of(value: Value<'_>) -> Result<Self, ValueError> {
        Self::try_from(value.number()?).map_err(|_| ValueError::OtherKind)
    }
}

impl ValueType for Timestamp {
    const KIND: ValueKind = ValueKind::Time;

    fn value(&self) -> Value<'_> {
        Value::Time(*self)
    }

    fn of(value: Value<'_>) -> Result<Self, ValueError> {
        match value {
            Value::Time(time) => Ok(time),
            other => Ok(Self::parse(other.text()?)?),
        }
    }
}

impl ValueType for bool {
    const KIND: ValueKind = ValueKind::Flag;

    fn value(&self) -> Value<'_> {
        Value::Flag(*self)
    }

    fn of(value: Value<'_>) -> Result<Self, ValueError> {
        match value {
            Value::Flag(flag) => Ok(flag),
            other => Err(other.unexpected()),
        }
    }
}

impl<T: ValueType> ValueType for Option<T> {
    const KIND: ValueKind = T::KIND;
    const IS_OPTIONAL: bool = true;

    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, T::value)
    }

    fn of(value: Value<'_>) -> Result<Self, ValueError> {
        if value == Value::Absent { Ok(None) } else { T::of(value).map(Some) }
    }
}
