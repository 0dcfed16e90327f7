//! Values and records as bytes.

use petstore_domain::{Members, Previous, Value, ValueKind};
use serde::Serialize;

/// Writes to a vector, in one form.
pub(crate) struct Writer<'o> {
    bytes: &'o mut Vec<u8>,
    form: u32,
}

impl<'o> Writer<'o> {
    pub(crate) fn new(bytes: &'o mut Vec<u8>, form: u32) -> Self {
        Self { bytes, form }
    }

    /// Writes a value in postcard's format.
    pub(crate) fn plain(&mut self, value: &impl Serialize) {
        let bytes = std::mem::take(self.bytes);
        *self.bytes = postcard::to_extend(value, bytes).expect("a vector takes every byte");
    }

    /// Writes the members of a record that the form has.
    pub(crate) fn record<R: Members>(&mut self, record: &R) {
        let form = self.form;
        for entry in R::MEMBERS.iter().filter(|entry| entry.member.since <= form) {
            self.optional(entry.member.is_optional, entry.member.kind, (entry.get)(record));
        }
    }

    /// Writes the old values: for each member that can have one a flag, which is absent if `is_bare`, and the value.
    pub(crate) fn previous<R: Members + Clone>(&mut self, previous: &Previous<R>, is_bare: fn(&str) -> bool) {
        let form = self.form;
        for (place, member, old) in previous.all().filter(|(_, member, _)| member.since <= form) {
            let old = if is_bare(member.column) {
                Some((R::MEMBERS[place].get)(previous.record()))
            } else {
                self.plain(&old.is_some());
                old
            };
            if let Some(old) = old {
                self.optional(member.is_optional, member.kind, old);
            }
        }
    }

    fn optional(&mut self, is_optional: bool, kind: ValueKind, value: Value<'_>) {
        if is_optional {
            self.plain(&(value != Value::Absent));
        }
        self.value(kind, value);
    }

    /// Writes a value. A word is written as its number among the words of its kind.
    pub(crate) fn value(&mut self, kind: ValueKind, value: Value<'_>) {
        match (value, kind) {
            (Value::Absent, _) => {}
            (Value::Number(number), _) => self.plain(&number),
            (Value::Word(word), ValueKind::Word(words)) => {
                let number = words.iter().position(|other| *other == word).unwrap_or(words.len());
                self.plain(&u8::try_from(number).unwrap_or(u8::MAX));
            }
            (Value::Text(text) | Value::Word(text), _) => self.plain(&text),
            (Value::Time(time), _) => self.plain(&time.as_millis()),
            (Value::Flag(flag), _) => self.plain(&flag),
        }
    }
}
