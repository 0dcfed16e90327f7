//! Dates, against an independent calendar and grammar.

use std::sync::LazyLock;

use petstore_domain::{Timestamp, TimestampError};
use regex_lite::Regex;

use crate::woven::both;

const WORDS: &[&str] = &[
    "2026-11-21T",
    "2024-02-29T",
    "2026-11-21T00:00:00",
    "2026-11-21 00:00:00",
    "0000-01-01T",
    "0000-12-31T",
    "0001-01-01T",
    "9999-12-31T",
    "-",
    ":",
    ".",
    "Z",
    "z",
    "+",
    "00:00:00",
    "23:59:59",
    "23:59:60",
    "+01:00",
    "-23:59",
    "+24:00",
    "-00:00",
    "T",
    "t",
    " ",
    "0",
    "1",
    "9",
    "99",
    "999999999",
    "\u{2212}",
];

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// The grammar of RFC 3339, section 5.6. The ranges of the numbers are checked separately.
static GRAMMAR: LazyLock<Regex> = LazyLock::new(|| {
    let (date, time) =
        (r"([0-9]{4})-([0-9]{2})-([0-9]{2})", r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?");
    let offset = r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))";
    Regex::new(&format!("^{date}[Tt]{time}{offset}$")).unwrap()
});

/// Returns the milliseconds of a date, computed by the grammar and a count of days.
fn millis(text: &str) -> Result<i64, TimestampError> {
    let parts = GRAMMAR.captures(text).ok_or(TimestampError::NotRfc3339)?;
    let number = |index: usize| parts.get(index).map_or(0, |part| part.as_str().parse::<i64>().unwrap());
    let [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(number);
    let (sign, offset_hour, offset_minute) =
        (parts.get(8).map_or(1, |sign| if sign.as_str() == "-" { -1 } else { 1 }), number(9), number(10));
    let leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if leap_year { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let in_range = (1..=12).contains(&month)
        && (1..=lengths[usize::try_from(month - 1).unwrap_or(0)]).contains(&day)
        && hour <= 23
        && minute <= 59
        && second <= 60
        && offset_hour <= 23
        && offset_minute <= 59;
    if !in_range {
        return Err(TimestampError::NotRfc3339);
    }
    let before = year - 1;
    let leap_days = before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let months: i64 = lengths[..usize::try_from(month - 1).unwrap()].iter().sum();
    // 719,162 is the number of days from the first day of the year 1 to the first day of 1970.
    let days = before * 365 + leap_days + months + day - 1 - 719_162;
    let minutes = (days * 24 + hour) * 60 + minute - sign * (offset_hour * 60 + offset_minute);
    // Section 5.7 allows a leap second only in the last second of a month in UTC. An offset moves the date by at most
    // a day.
    let first = days + 1 - day;
    let firsts = [first, first + lengths[usize::try_from(month - 1).unwrap()]];
    if second == 60 && !firsts.map(|day| day * 24 * 60).contains(&(minutes + 1)) {
        return Err(TimestampError::NotRfc3339);
    }
    let fraction = parts.get(7).map_or("", |digits| digits.as_str());
    let fraction: i64 = format!("{fraction}000")[..3].parse().unwrap();
    let millis = (minutes * 60 + second) * 1_000 + fraction;
    // From the first day of the year 1 to the last day of the year 9999.
    let range = -719_162 * DAY..(-719_162 + 3_652_059) * DAY;
    if range.contains(&millis) { Ok(millis) } else { Err(TimestampError::OutOfRange) }
}

#[test]
fn a_date_is_read_as_a_calendar_says_and_written_as_it_is_read() {
    bolero::check!(name = "date").for_each(|input| {
        both(input, WORDS, |text| {
            let Ok(text) = std::str::from_utf8(text) else { return };
            let parsed = Timestamp::parse(text);
            assert_eq!(parsed.map(Timestamp::as_millis), millis(text), "{text}");
            if let Ok(time) = parsed {
                let written = time.to_string();
                assert_eq!(Timestamp::parse(&written), Ok(time), "{written}");
                assert!(written.len() == 24 && written.ends_with('Z'), "{written}");
            }
        });
    });
}
