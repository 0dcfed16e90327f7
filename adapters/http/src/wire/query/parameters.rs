//! The parameters of a query, taken out one by one; what nobody asked for is unknown.

use std::borrow::Cow;

use super::super::faults::{FieldFault, FieldFaults};
use super::super::links::push_parameter;
use super::decode;
use crate::wire::error::ApiError;

/// Values of one parameter that takes several: commas and repetitions together.
const VALUES_MAX: usize = 100;

/// Parameters of one query: two filters of [`VALUES_MAX`] values that are repeated for each, and room for the others.
const PARAMETERS_MAX: usize = 256;

/// A parameter that nobody has asked for yet; its value is none if it cannot be decoded.
type Parameter<'q> = (Cow<'q, str>, Option<Cow<'q, str>>);

/// The parameters of one query.
pub(super) struct Parameters<'q> {
    rest: Vec<Parameter<'q>>,
    faults: FieldFaults,
    /// What has been taken, encoded again.
    taken: String,
}

impl<'q> Parameters<'q> {
    /// Takes a query apart. Empty pieces, such as between two ampersands, are nothing.
    pub(super) fn of(query: Option<&'q str>) -> Self {
        let query = query.unwrap_or_default();
        let taken = String::with_capacity(query.len());
        let mut parameters = Self { rest: Vec::new(), faults: FieldFaults::default(), taken };
        let pieces = query.split('&').filter(|piece| !piece.is_empty());
        for piece in pieces {
            if parameters.rest.len() == PARAMETERS_MAX {
                // The others are not looked at: one fault is enough said.
                parameters.rest.clear();
                let message = format!("The query has more than {PARAMETERS_MAX} parameters.");
                parameters.faults.add_whole("too_long", message);
                return parameters;
            }
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            match decode(name) {
                Some(name) => parameters.rest.push((name, decode(value))),
                None => parameters.faults.add(name, &undecodable()),
            }
        }
        parameters
    }

    /// A parameter that takes one value.
    pub(super) fn one<T>(
        &mut self,
        name: &'static str,
        judge: impl FnOnce(&str) -> Result<T, FieldFault>,
    ) -> Option<T> {
        let judged = self.single(name)?.and_then(|value| {
            let judged = judge(&value)?;
            // White space around a name does not count, and no other value has any: a link has no use for it.
            push_parameter(&mut self.taken, name, value.trim());
            Ok(judged)
        });
        judged.map_err(|fault| self.faults.add(name, &fault)).ok()
    }

    /// A parameter that takes several values, repeated or separated by commas.
    pub(super) fn many<T>(
        &mut self,
        name: &'static str,
        judge: impl Fn(&str) -> Result<T, FieldFault>,
    ) -> Option<Vec<T>> {
        let values: Vec<_> = self.take(name).collect();
        if values.is_empty() {
            return None;
        }
        let judged = self.judge_all(name, values, judge);
        judged.map_err(|fault| self.faults.add(name, &fault)).ok()
    }

    /// The cursor, not yet read. One that cannot be decoded is one that nobody wrote.
    pub(super) fn cursor(&mut self) -> Option<Cow<'q, str>> {
        self.single("cursor").map(Result::unwrap_or_default)
    }

    /// What was taken, encoded again, unless there is any fault.
    pub(super) fn finish(mut self) -> Result<String, ApiError> {
        for (index, (name, _)) in self.rest.iter().enumerate() {
            if self.rest[..index].iter().all(|(other, _)| other != name) {
                let fault = FieldFault::new("unknown_parameter", "is not a parameter of this operation");
                self.faults.add(name, &fault);
            }
        }
        if self.faults.is_empty() { Ok(self.taken) } else { Err(self.faults.of_query()) }
    }

    fn single(&mut self, name: &'static str) -> Option<Result<Cow<'q, str>, FieldFault>> {
        let mut values = self.take(name);
        let value = values.next()?;
        if values.count() > 0 {
            self.faults.add(name, &FieldFault::new("repeated_parameter", "must not be repeated"));
            return None;
        }
        Some(value)
    }

    fn judge_all<T>(
        &mut self,
        name: &'static str,
        values: Vec<Result<Cow<'q, str>, FieldFault>>,
        judge: impl Fn(&str) -> Result<T, FieldFault>,
    ) -> Result<Vec<T>, FieldFault> {
        let joined = values.into_iter().collect::<Result<Vec<_>, _>>()?.join(",");
        if joined.split(',').nth(VALUES_MAX).is_some() {
            return Err(FieldFault::new("too_long", format!("must have at most {VALUES_MAX} values")));
        }
        let judged = joined.split(',').map(judge).collect::<Result<Vec<_>, _>>()?;
        push_parameter(&mut self.taken, name, &joined);
        Ok(judged)
    }

    /// Takes all values of a parameter: those that are left in the iterator are not taken.
    fn take(&mut self, name: &str) -> impl Iterator<Item = Result<Cow<'q, str>, FieldFault>> {
        let taken = self.rest.extract_if(.., move |(other, _)| other == name);
        taken.map(|(_, value)| value.ok_or_else(undecodable))
    }
}

/// A plain decimal number; none if it is larger than any that is asked for.
pub(super) fn number(text: &str) -> Result<Option<usize>, FieldFault> {
    let plain = match text.as_bytes() {
        [b'0'] => true,
        [] | [b'0', ..] => false,
        digits => digits.iter().all(u8::is_ascii_digit),
    };
    if plain { Ok(text.parse().ok()) } else { Err(FieldFault::from(petstore_domain::IdError::NotDecimal)) }
}

fn undecodable() -> FieldFault {
    FieldFault::new("invalid_format", "must be percent-encoded UTF-8")
}
