//! All faults of one request, reported together.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use petstore_domain::{IdError, RangeError, TextError, TimestampError};

use crate::wire::error::{ApiError, Code, Detail};

/// The maximum number of faults in one response.
pub(crate) const DETAILS_MAX: usize = 100;

/// The maximum number of characters of a client's own text in a response.
pub(crate) const FIELD_MAX: usize = 200;

/// A fault of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldFault {
    code: &'static str,
    /// The part of the message after the field's name, such as `must be a string`.
    rule: Cow<'static, str>,
}

impl FieldFault {
    pub(crate) fn new(code: &'static str, rule: impl Into<Cow<'static, str>>) -> Self {
        Self { code, rule: rule.into() }
    }
}

impl From<TextError> for FieldFault {
    fn from(error: TextError) -> Self {
        let code = match error {
            TextError::Empty => "too_short",
            TextError::TooLong { .. } => "too_long",
            TextError::ControlCharacter | TextError::Invisible => "invalid_character",
        };
        Self::new(code, error.to_string())
    }
}

impl From<IdError> for FieldFault {
    fn from(error: IdError) -> Self {
        let code = match error {
            IdError::NotDecimal => "invalid_format",
            IdError::OutOfRange => "out_of_range",
        };
        Self::new(code, error.to_string())
    }
}

impl From<RangeError> for FieldFault {
    fn from(error: RangeError) -> Self {
        Self::new("out_of_range", error.to_string())
    }
}

impl From<TimestampError> for FieldFault {
    fn from(error: TimestampError) -> Self {
        let code = match error {
            TimestampError::NotRfc3339 => "invalid_format",
            TimestampError::OutOfRange => "out_of_range",
        };
        Self::new(code, error.to_string())
    }
}

/// Faults in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct FieldFaults {
    details: Vec<Detail>,
    /// The number of all faults, including those beyond [`DETAILS_MAX`].
    count: usize,
}

impl FieldFaults {
    /// Adds a fault of a field, whose name may come from the client.
    pub(crate) fn add(&mut self, field: &str, fault: &FieldFault) {
        self.count += 1;
        if self.details.len() == DETAILS_MAX {
            return;
        }
        let field = printable(field, FIELD_MAX);
        let subject = if field.is_empty() { "\"\"" } else { &field };
        let message = format!("{subject} {}.", fault.rule);
        self.details.push(Detail { field: field.into_owned(), code: fault.code, message: message.into() });
    }

    /// Adds a fault of the request as a whole, with a complete message.
    pub(crate) fn add_whole(&mut self, code: &'static str, message: impl Into<Cow<'static, str>>) {
        self.count += 1;
        if self.details.len() < DETAILS_MAX {
            self.details.push(Detail { field: String::new(), code, message: message.into() });
        }
    }

    /// Adds the faults of a nested object.
    pub(crate) fn take_in(&mut self, error: ApiError) {
        self.count += error.details.len();
        let room = DETAILS_MAX - self.details.len();
        self.details.extend(error.details.into_iter().take(room));
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the error of an invalid body.
    pub(crate) fn of_body(self) -> ApiError {
        let errors = if self.count == 1 { "error" } else { "errors" };
        self.into_error(Code::ValidationFailed, |count| format!("The body has {count} {errors}"))
    }

    /// Returns the error of invalid query parameters.
    pub(crate) fn of_query(self) -> ApiError {
        self.into_error(Code::InvalidParameter, |count| match count {
            1 => "A parameter is not valid".to_owned(),
            _ => format!("{count} parameters are not valid"),
        })
    }

    fn into_error(self, code: Code, summary: impl FnOnce(usize) -> String) -> ApiError {
        let mut message = summary(self.count);
        if self.count > self.details.len() {
            // Writing to a string cannot fail.
            let _ = write!(message, "; the first {DETAILS_MAX} are listed");
        }
        message.push('.');
        ApiError::with_details(code, message, self.details)
    }
}

/// Returns a text in the form in which a response may repeat it: truncated, and with control characters replaced.
pub(crate) fn printable(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max && !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().take(max);
    Cow::Owned(shown.map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect())
}

/// Joins words with commas: `a, b, c`.
pub(crate) fn listed(words: impl IntoIterator<Item = impl Display>) -> String {
    let mut text = String::new();
    for word in words {
        let comma = if text.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{word}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_a_hundred_faults_are_listed_and_all_are_counted() {
        let mut faults = FieldFaults::default();
        for index in 0..150 {
            faults.add(&index.to_string(), &FieldFault::new("unknown_member", "is unknown"));
        }
        let error = faults.of_body();
        assert_eq!(error.details.len(), DETAILS_MAX);
        assert_eq!(error.message, "The body has 150 errors; the first 100 are listed.");
    }

    #[test]
    fn a_clients_text_is_truncated_and_has_no_control_characters() {
        let mut faults = FieldFaults::default();
        faults.add(&"ñ\u{85}\n".repeat(1_000), &FieldFault::new("unknown_member", "is unknown"));
        faults.add("", &FieldFault::new("unknown_member", "is unknown"));
        let error = faults.of_body();
        assert_eq!(
            error.details[0].field,
            "ñ\u{FFFD}\u{FFFD}".repeat(67).chars().take(200).collect::<String>()
        );
        assert!(!error.details[0].message.contains(char::is_control));
        assert_eq!(error.details[1].field, "");
        assert_eq!(error.details[1].message, "\"\" is unknown.");
    }
}
