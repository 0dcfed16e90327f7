//! Points in time, to the millisecond. The domain reads no clock: the time is an argument.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Datelike, SecondsFormat, Timelike, Utc};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z, in the years 0001 to 9999.
///
/// The range is what the time types of common languages can hold. RFC 3339 also allows the year 0000, but clients in
/// those languages cannot parse an answer that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// The reason why a text or number is not a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimestampError {
    /// The text is not an RFC 3339 date and time with an offset.
    #[error("must be an RFC 3339 date and time with an offset, such as 2030-12-05T14:30:00Z")]
    NotRfc3339,
    /// The time in UTC is outside the years 0001 to 9999.
    #[error("must be from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z in UTC")]
    OutOfRange,
}

impl Timestamp {
    /// The time from which milliseconds are counted: 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);

    /// The latest point in time: 9999-12-31T23:59:59.999Z.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// The earliest point in time: 0001-01-01T00:00:00Z.
    pub const MIN: Self = Self(-62_135_596_800_000);

    /// Takes milliseconds since the epoch.
    pub fn from_millis(millis: i64) -> Result<Self, TimestampError> {
        let time = Self(millis);
        if (Self::MIN..=Self::MAX).contains(&time) { Ok(time) } else { Err(TimestampError::OutOfRange) }
    }

    /// Takes RFC 3339 (section 5.6) with an offset; digits finer than a millisecond are cut off.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        // chrono also accepts a space in place of the `T`, and a Unicode minus in place of the ASCII one. The grammar
        // of the standard does not.
        if !matches!(text.as_bytes().get(10), Some(b'T' | b't')) || !text.is_ascii() {
            return Err(TimestampError::NotRfc3339);
        }
        let time = DateTime::parse_from_rfc3339(text).map_err(|_| TimestampError::NotRfc3339)?;
        // A leap second is valid only as the last second of a month in UTC (section 5.7).
        if text.as_bytes().get(17..19) == Some(b"60") {
            let next = time.to_utc() + chrono::Duration::seconds(1);
            if next.day() != 1 || next.num_seconds_from_midnight() != 0 {
                return Err(TimestampError::NotRfc3339);
            }
        }
        Self::from_millis(time.timestamp_millis())
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down; a time before the epoch counts as the epoch.
    pub fn as_secs(self) -> u64 {
        u64::try_from(self.0.div_euclid(1_000)).unwrap_or(0)
    }

    /// Whole seconds since the epoch, rounded up; a time before the epoch counts as the epoch.
    pub fn as_secs_ceil(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0).div_ceil(1_000)
    }

    /// The time this much later, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis).min(Self::MAX.0))
    }

    /// Returns the time this much earlier, at least [`Timestamp::MIN`].
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(millis).max(Self::MIN.0))
    }

    /// Returns the time since `earlier`; zero if this is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl From<DateTime<Utc>> for Timestamp {
    /// Cuts off digits finer than a millisecond; a time outside the range becomes its nearest end.
    fn from(time: DateTime<Utc>) -> Self {
        let (first, last) = (Self::MIN.0, Self::MAX.0);
        Self(time.timestamp_millis().clamp(first, last))
    }
}

impl From<Timestamp> for DateTime<Utc> {
    fn from(time: Timestamp) -> Self {
        DateTime::from_timestamp_millis(time.0).expect("the years 0001 to 9999 are chrono's too")
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with `Z`, to the millisecond.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&DateTime::<Utc>::from(*self).to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_any_offset_and_writes_utc_to_the_millisecond() {
        let cases = [
            ("2030-12-05T00:00:00Z", "2030-12-05T00:00:00.000Z"),
            ("2030-12-05T00:00:00.123456789+02:00", "2030-12-04T22:00:00.123Z"),
            ("2030-12-05t00:00:00.5z", "2030-12-05T00:00:00.500Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
            ("0000-12-31T23:00:00-01:00", "0001-01-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(
                Timestamp::parse(text).map(|time| time.to_string()).as_deref(),
                Ok(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn refuses_what_is_not_rfc_3339_or_cannot_be_written_back() {
        for text in [
            "",
            "2030-12-05",
            "2030-12-05T00:00:00",
            "2030-12-05 00:00:00Z",
            "2030-12-05T00:00:00\u{2212}01:00",
            "2030-02-30T00:00:00Z",
            "1e3",
        ] {
            assert_eq!(Timestamp::parse(text), Err(TimestampError::NotRfc3339), "{text}");
        }
        for text in [
            "9999-12-31T23:59:59-01:00",
            "9999-12-31T23:59:60Z",
            "0001-01-01T00:00:00+01:00",
            "0000-12-31T23:59:59.999Z",
            "0000-01-01T00:00:00+01:00",
        ] {
            assert_eq!(Timestamp::parse(text), Err(TimestampError::OutOfRange), "{text}");
        }
    }

    #[test]
    fn the_bounds_are_what_they_say() {
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp::MIN.to_string(), "0001-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::MAX.plus(Duration::from_secs(1)), Timestamp::MAX);
        assert_eq!(Timestamp::MIN.minus(Duration::from_secs(1)), Timestamp::MIN);
        assert_eq!(Timestamp::EPOCH.minus(Duration::MAX), Timestamp::MIN);
        assert_eq!(
            Timestamp::EPOCH.plus(Duration::from_secs(9)).minus(Duration::from_secs(9)),
            Timestamp::EPOCH
        );
        assert_eq!(Timestamp::from_millis(1_001).map(Timestamp::as_secs_ceil), Ok(2));
    }
}
