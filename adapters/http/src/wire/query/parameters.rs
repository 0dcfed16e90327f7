//! The parameters of a query. They are taken one by one, and parameters that are left at the end are unknown.

use std::borrow::Cow;

use super::super::faults::{FieldFault, FieldFaults};
use super::super::links::push_parameter;
use super::decode;
use crate::wire::error::ApiError;

/// The maximum number of values of one parameter. Values are separated by commas, or the parameter is repeated.
const VALUES_MAX: usize = 100;

/// The maximum number of parameters of one query: two filters that are repeated [`VALUES_MAX`] times each, and the
/// others.
const PARAMETERS_MAX: usize = 256;

/// A parameter that has not been taken yet; its value is `None` if it cannot be decoded.
type Parameter<'q> = (Cow<'q, str>, Option<Cow<'q, str>>);

/// The parameters of one query.
pub(crate) struct Parameters<'q> {
    rest: Vec<Parameter<'q>>,
    faults: FieldFaults,
    /// The parameters that were taken, encoded again.
    taken: String,
}

impl<'q> Parameters<'q> {
    /// Splits a query into parameters. Empty pieces are ignored.
    pub(crate) fn of(query: Option<&'q str>) -> Self {
        let query = query.unwrap_or_default();
        let taken = String::with_capacity(query.len());
        let mut parameters = Self { rest: Vec::new(), faults: FieldFaults::default(), taken };
        let pieces = query.split('&').filter(|piece| !piece.is_empty());
        for piece in pieces {
            if parameters.rest.len() == PARAMETERS_MAX {
                // The other parameters are not parsed, because one fault is enough to refuse the query.
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

    /// Takes a parameter with a single value.
    pub(crate) fn one<T>(
        &mut self,
        name: &'static str,
        judge: impl FnOnce(&str) -> Result<T, FieldFault>,
    ) -> Option<T> {
        let judged = self.single(name)?.and_then(|value| {
            let judged = judge(&value).map_err(|fault| fault.of_value(&value))?;
            // White space around a name is not part of the name, and no other parameter allows white space. So links
            // contain the value without it.
            push_parameter(&mut self.taken, name, value.trim());
            Ok(judged)
        });
        judged.map_err(|fault| self.faults.add(name, &fault)).ok()
    }

    /// Takes a parameter with several values, repeated or separated by commas.
    pub(crate) fn many<T>(
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

    /// Takes the cursor without parsing it. A cursor that cannot be decoded becomes empty, which is not a valid
    /// cursor.
    pub(super) fn cursor(&mut self) -> Option<Cow<'q, str>> {
        self.single("cursor").map(Result::unwrap_or_default)
    }

    /// Returns the parameters that were taken, encoded again, or the error if any fault was found.
    pub(crate) fn finish(mut self) -> Result<String, ApiError> {
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
        let judge = |value: &str| judge(value).map_err(|fault| fault.of_value(value));
        let judged = joined.split(',').map(judge).collect::<Result<Vec<_>, _>>()?;
        push_parameter(&mut self.taken, name, &joined);
        Ok(judged)
    }

    /// Takes all values of a parameter. A value is taken only when the caller draws it from the iterator.
    fn take(&mut self, name: &str) -> impl Iterator<Item = Result<Cow<'q, str>, FieldFault>> {
        let taken = self.rest.extract_if(.., move |(other, _)| other == name);
        taken.map(|(_, value)| value.ok_or_else(undecodable))
    }
}

/// Parses a plain decimal number; `None` if it is too large.
pub(crate) fn number(text: &str) -> Result<Option<usize>, FieldFault> {
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
