//! Bytes as values and records.

use petstore_domain::{
    Member, MemberChange, MemberSource, Members, Previous, Timestamp, Value, ValueKind, ValueType,
};
use serde::Deserialize;

use crate::BodyError;

/// Reads from the beginning of bytes, in one form.
pub(crate) struct Reader<'b> {
    rest: &'b [u8],
    form: u32,
}

impl<'b> Reader<'b> {
    pub(crate) const fn new(rest: &'b [u8], form: u32) -> Self {
        Self { rest, form }
    }

    /// Returns whether all bytes have been read.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads a value in postcard's format.
    pub(crate) fn plain<T: Deserialize<'b>>(&mut self) -> Result<T, BodyError> {
        let (value, after) =
            postcard::take_from_bytes(self.rest).map_err(|error| damaged(&error.to_string()))?;
        self.rest = after;
        Ok(value)
    }

    /// Reads a record. Members that the form does not have are absent.
    pub(crate) fn record<R: Members>(&mut self) -> Result<R, BodyError> {
        R::read(self)
    }

    /// Reads the old values of a record's members.
    pub(crate) fn previous<R: Members + Clone>(
        &mut self,
        after: &R,
        is_bare: fn(&str) -> bool,
    ) -> Result<Previous<R>, BodyError> {
        let mut previous = Previous::none(after);
        for (place, entry) in R::MEMBERS.iter().enumerate() {
            let member = &entry.member;
            if self.has_previous(member) && (is_bare(member.column) || self.plain()?) {
                let old = self.optional(member)?;
                // An old value without a flag is the present one if the member has not changed.
                if !is_bare(member.column) || old != (entry.get)(after) {
                    previous.set(place, old).map_err(|_| invalid())?;
                }
            }
        }
        Ok(previous)
    }

    fn has_previous(&self, member: &Member) -> bool {
        member.change == MemberChange::Updated && member.since <= self.form
    }

    fn optional(&mut self, member: &Member) -> Result<Value<'b>, BodyError> {
        if member.is_optional && !self.plain::<bool>()? {
            return Ok(Value::Absent);
        }
        self.value(member.kind)
    }

    /// Reads a value of this kind.
    pub(crate) fn value(&mut self, kind: ValueKind) -> Result<Value<'b>, BodyError> {
        Ok(match kind {
            ValueKind::Id | ValueKind::Number { .. } => Value::Number(self.plain()?),
            ValueKind::Text { .. } => Value::Text(self.plain()?),
            ValueKind::Word(words) => {
                let number: u8 = self.plain()?;
                Value::Word(words.get(usize::from(number)).ok_or_else(invalid)?)
            }
            ValueKind::Time => Value::Time(Timestamp::from_millis(self.plain()?).map_err(|_| invalid())?),
            ValueKind::Flag => Value::Flag(self.plain()?),
        })
    }

    /// Passes over a record without building it.
    pub(crate) fn skip_record<R: Members>(&mut self) -> Result<(), BodyError> {
        let form = self.form;
        let mut members = R::MEMBERS.iter().map(|entry| &entry.member);
        members.by_ref().filter(|member| member.since <= form).try_for_each(|member| self.skip(member))
    }

    /// Passes over the old values of a record's members.
    pub(crate) fn skip_previous<R: Members>(&mut self, is_bare: fn(&str) -> bool) -> Result<(), BodyError> {
        for entry in R::MEMBERS {
            let member = &entry.member;
            if self.has_previous(member) && (is_bare(member.column) || self.plain()?) {
                self.skip(member)?;
            }
        }
        Ok(())
    }

    fn skip(&mut self, member: &Member) -> Result<(), BodyError> {
        if member.is_optional && !self.plain::<bool>()? {
            return Ok(());
        }
        self.skip_value(member.kind)
    }

    /// Passes over a value of this kind, which may be out of its range.
    pub(crate) fn skip_value(&mut self, kind: ValueKind) -> Result<(), BodyError> {
        match kind {
            ValueKind::Id | ValueKind::Number { .. } => self.plain::<u64>().map(drop),
            ValueKind::Text { .. } => self.plain::<&str>().map(drop),
            ValueKind::Word(_) => self.plain::<u8>().map(drop),
            ValueKind::Time => self.plain::<i64>().map(drop),
            ValueKind::Flag => self.plain::<bool>().map(drop),
        }
    }
}

impl MemberSource for Reader<'_> {
    type Fault = BodyError;

    fn take<T: ValueType>(&mut self, member: &Member) -> Result<T, BodyError> {
        let value = if member.since <= self.form { self.optional(member)? } else { Value::Absent };
        T::of(value).map_err(|_| invalid())
    }
}

pub(crate) fn damaged(why: &str) -> BodyError {
    BodyError::Damaged(why.to_owned())
}

/// The error of a value that the domain does not accept.
pub(crate) fn invalid() -> BodyError {
    damaged("a value is out of its range")
}
