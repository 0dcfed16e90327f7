//! All faults of one request, reported together.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use petstore_domain::{IdError, RangeError, TextError, TimestampError};

use crate::wire::error::{ApiError, Code, Detail};

/// The maximum number of faults in one response.
pub(crate) const DETAILS_MAX: usize = 100;

/// The maximum number of characters of a client's own text in a response.
pub(crate) const FIELD_MAX: usize = 200;

/// The maximum number of faults whose texts are part of the message of the error itself.
const SUMMARY_MAX: usize = 5;

/// The maximum number of characters of a value that a message repeats.
const VALUE_MAX: usize = 40;

/// The beginnings of secrets, which no message repeats.
const SECRET_STARTS: [&str; 2] = ["pet_", "whsec_"];

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

    /// Returns whether the value is none of a fixed set of texts.
    pub(crate) fn is_of_a_set(&self) -> bool {
        self.code == "unknown_value"
    }

    /// Adds the value to the message, unless it is empty, long or perhaps a secret, or the fault is none of the value alone.
    pub(crate) fn of_value(mut self, value: &str) -> Self {
        let is_of_value = matches!(self.code, "out_of_range" | "invalid_format" | "unknown_value");
        let is_short = !value.is_empty() && value.chars().nth(VALUE_MAX).is_none();
        let is_secret = SECRET_STARTS.iter().any(|start| value.contains(start));
        if is_of_value && is_short && !is_secret {
            self.rule = format!("{}; it is {}", self.rule, printable(value, VALUE_MAX)).into();
        }
        self
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
        let summary = format!("The body has {} {errors}", self.count);
        self.into_error(Code::ValidationFailed, summary)
    }

    /// Returns the error of invalid query parameters.
    pub(crate) fn of_query(self) -> ApiError {
        let parameters = if self.count == 1 { "parameter is" } else { "parameters are" };
        let summary = format!("{} {parameters} not valid", self.count);
        self.into_error(Code::InvalidParameter, summary)
    }

    /// Returns the error. Its message has the first faults, because many programs show the message alone.
    fn into_error(self, code: Code, mut message: String) -> ApiError {
        if self.count > self.details.len() {
            // Writing to a string cannot fail, here and below.
            let _ = write!(message, ", of which the first {DETAILS_MAX} are listed");
        }
        for (place, detail) in self.details.iter().take(SUMMARY_MAX).enumerate() {
            let mark = if place == 0 { ": " } else { "; " };
            let _ = write!(message, "{mark}{}", detail.message.trim_end_matches('.'));
        }
        if let Some(more @ 1..) = self.count.checked_sub(SUMMARY_MAX) {
            let _ = write!(message, "; and {more} more");
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

/// Returns a number of seconds in words: `1 second`, `17 seconds`.
pub(crate) fn in_seconds(secs: u64) -> String {
    if secs == 1 { "1 second".to_owned() } else { format!("{secs} seconds") }
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
        assert_eq!(
            error.message,
            "The body has 150 errors, of which the first 100 are listed: 0 is unknown; 1 is unknown; 2 is unknown; \
             3 is unknown; 4 is unknown; and 145 more."
        );
    }

    #[test]
    fn a_message_has_the_value_unless_it_is_long_or_perhaps_a_secret() {
        let message = |code, value: &str| {
            let mut faults = FieldFaults::default();
            faults.add("limit", &FieldFault::new(code, "must be between 1 and 100").of_value(value));
            faults.of_query().message.into_owned()
        };
        let plain = "1 parameter is not valid: limit must be between 1 and 100.";
        assert_eq!(
            message("out_of_range", "500"),
            "1 parameter is not valid: limit must be between 1 and 100; it is 500."
        );
        assert!(message("unknown_value", &"x".repeat(40)).contains("; it is xxxx"));
        assert!(message("invalid_format", "a\nb").ends_with("; it is a\u{FFFD}b."));
        for value in ["", "pet_4fW1abcDe", "a whsec_b", &"x".repeat(41)] {
            assert_eq!(message("out_of_range", value), plain, "{value}");
        }
        assert_eq!(message("too_long", "500"), plain);
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
