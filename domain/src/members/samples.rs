//! Samples of records, made from the tables of their members. A test that uses them covers a new member by itself.

use super::{Member, MemberSource, Members, StoredMembers, Value, ValueError, ValueKind, ValueType};
use crate::{ID_MAX, Timestamp};

/// A choice of values for all members of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// The smallest value of each member; optional members are absent.
    Least,
    /// The smallest value of each member, also of optional ones.
    Smallest,
    /// The largest value of each member, with texts of characters of several bytes.
    Fullest,
}

impl Sample {
    /// Each sample.
    pub const ALL: [Self; 3] = [Self::Least, Self::Smallest, Self::Fullest];

    /// Calls `with` with the value of this sample for a member.
    fn value<T>(self, member: &Member, with: impl FnOnce(Value<'_>) -> T) -> T {
        let is_full = self == Self::Fullest;
        if self == Self::Least && member.is_optional {
            return with(Value::Absent);
        }
        match member.kind {
            ValueKind::Id => with(Value::Number(if is_full { ID_MAX } else { 1 })),
            ValueKind::Number { min, max } => with(Value::Number(if is_full { max } else { min })),
            ValueKind::Text { max, .. } if is_full => with(Value::Text(&"é".repeat(max))),
            ValueKind::Text { min, .. } => with(Value::Text(&"a".repeat(min))),
            ValueKind::Word(words) => {
                let word = if is_full { words.last() } else { words.first() };
                with(Value::Word(word.copied().unwrap_or_default()))
            }
            ValueKind::Time => with(Value::Time(if is_full { Timestamp::MAX } else { Timestamp::MIN })),
            ValueKind::Flag => with(Value::Flag(is_full)),
        }
    }
}

struct Source<F> {
    choose: F,
}

impl<F: FnMut(&Member) -> Sample> MemberSource for Source<F> {
    type Fault = ValueError;

    fn take<T: ValueType>(&mut self, member: &Member) -> Result<T, ValueError> {
        (self.choose)(member).value(member, T::of)
    }
}

/// Returns a sample of a resource.
///
/// # Panics
/// If a bound of a member is not a value of its type. A test of the domain makes every sample.
pub fn sample<R: Members>(sample: Sample) -> R {
    sample_by(|_| sample)
}

/// Returns a sample of a resource whose members are chosen one by one.
///
/// # Panics
/// If a bound of a member is not a value of its type. A test of the domain makes every sample.
pub fn sample_by<R: Members>(choose: impl FnMut(&Member) -> Sample) -> R {
    R::read(&mut Source { choose }).expect("the bounds of a member are values of its type")
}

/// Returns a sample of a record as a store keeps it. Its members are chosen one by one, so they need not agree.
///
/// # Panics
/// If a bound of a member is not a value of its type. A test of the domain makes every sample.
pub fn stored_sample_by<R: StoredMembers>(choose: impl FnMut(&Member) -> Sample) -> R {
    R::read(&mut Source { choose }).expect("the bounds of a member are values of its type")
}
