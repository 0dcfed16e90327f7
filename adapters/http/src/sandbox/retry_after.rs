//! The forms of `Retry-After` in planned errors.

/// The value of `Retry-After` in a planned error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RetryAfter {
    /// No header.
    None,
    Seconds(u64),
    /// A text that is sent as it is.
    Text(Box<str>),
    /// An HTTP date this far from the machine's clock, in seconds; negative in the past.
    Date(i64),
}

impl RetryAfter {
    /// Returns the whole seconds after which a client may retry, rounded up; `None` if the value tells no time to come.
    pub(crate) fn seconds(&self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Seconds(secs) => Some(*secs),
            Self::Date(distance) => u64::try_from(*distance).ok(),
            Self::Text(text) => {
                let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
                let is_number = [whole, fraction]
                    .iter()
                    .all(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
                let secs = is_number.then(|| whole.parse::<u64>().ok()).flatten()?;
                secs.checked_add(u64::from(fraction.bytes().any(|digit| digit != b'0')))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_to_come_have_seconds() {
        let text = |text: &str| RetryAfter::Text(text.into()).seconds();
        for (value, expected) in [
            ("120", Some(120)),
            ("120.5", Some(121)),
            ("120.0", Some(120)),
            ("soon", None),
            ("-1", None),
            ("1e3", None),
            (".5", None),
            ("18446744073709551615.5", None),
        ] {
            assert_eq!(text(value), expected, "{value}");
        }
        assert_eq!(RetryAfter::Date(3).seconds(), Some(3));
        assert_eq!((RetryAfter::Date(-1).seconds(), RetryAfter::None.seconds()), (None, None));
        assert_eq!(RetryAfter::Seconds(0).seconds(), Some(0));
    }
}
