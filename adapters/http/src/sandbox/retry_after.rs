//! The forms of `Retry-After` in planned errors.

use std::time::UNIX_EPOCH;

use petstore_domain::Timestamp;

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
    /// Returns the whole seconds after which a client may retry, rounded up; `None` if the value tells no time to come. A
    /// date counts from the machine's time, as the `Date` header tells it.
    pub(crate) fn seconds(&self, machine_time: Timestamp) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Seconds(secs) => Some(*secs),
            Self::Date(distance) => u64::try_from(*distance).ok(),
            Self::Text(text) => {
                if let Ok(date) = httpdate::parse_http_date(text) {
                    let at = date.duration_since(UNIX_EPOCH).ok()?.as_secs();
                    return at.checked_sub(machine_time.as_secs());
                }
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
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_times_to_come_have_seconds() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = Timestamp::EPOCH.plus(Duration::from_secs(784_111_777));
        let text = |text: &str| RetryAfter::Text(text.into()).seconds(now);
        for (value, expected) in [
            ("120", Some(120)),
            ("120.5", Some(121)),
            ("120.0", Some(120)),
            ("soon", None),
            ("-1", None),
            ("1e3", None),
            (".5", None),
            ("18446744073709551615.5", None),
            ("Sun, 06 Nov 1994 08:49:40 GMT", Some(3)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:36 GMT", None),
        ] {
            assert_eq!(text(value), expected, "{value}");
        }
        assert_eq!(RetryAfter::Date(3).seconds(now), Some(3));
        assert_eq!((RetryAfter::Date(-1).seconds(now), RetryAfter::None.seconds(now)), (None, None));
        assert_eq!(RetryAfter::Seconds(0).seconds(now), Some(0));
    }
}
