//! The parts of advice that several rules share. Advice says in a sentence what a client should have done, and names the header
//! that told it. Code is between two backticks.

use crate::request::ClientRequest;

/// The number of characters of a header's value that advice shows.
const VALUE_MAX: usize = 60;

/// Returns a header as code: with its value, unless that is long or not plain ASCII, which a terminal may obey.
pub(crate) fn header(name: &str, value: Option<&str>) -> String {
    let is_plain = |value: &&str| {
        (1..=VALUE_MAX).contains(&value.len())
            && value.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'`')
    };
    match value.filter(is_plain) {
        Some(value) => format!("`{name}: {value}`"),
        None => format!("`{name}`"),
    }
}

/// Returns how long to wait after an answer, such as `` wait 3 s, as `Retry-After: 3` said ``.
pub(crate) fn wait_after(answer: &ClientRequest<'_>) -> String {
    let answer = answer.answer.as_ref();
    let value = answer.and_then(|answer| answer.retry_after_text).unwrap_or_default();
    let told = header("Retry-After", Some(value));
    let secs = answer.and_then(|answer| answer.retry_after).unwrap_or_default();
    let is_decimal = value.starts_with(|first: char| first.is_ascii_digit())
        && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && value.parse::<f64>().is_ok();
    if is_decimal {
        format!("wait {value} s, as {told} said")
    } else if httpdate::parse_http_date(value).is_ok() {
        format!("wait until the time in {told}, about {} s after the answer", secs.saturating_add(1))
    } else {
        format!("wait at least {secs} s, because the answer had {told}, which is neither seconds nor a date")
    }
}

/// Returns a text whose first letter is a capital letter.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{get, numbered};

    #[test]
    fn each_form_of_retry_after_has_words() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (value, secs, expected) in [
            ("3", 3, "wait 3 s, as `Retry-After: 3` said".to_owned()),
            ("120.5", 120, "wait 120.5 s, as `Retry-After: 120.5` said".to_owned()),
            (date, 2, format!("wait until the time in `Retry-After: {date}`, about 3 s after the answer")),
            (
                "soon",
                1,
                "wait at least 1 s, because the answer had `Retry-After: soon`, which is neither seconds nor a date"
                    .to_owned(),
            ),
            (
                "inf",
                1,
                "wait at least 1 s, because the answer had `Retry-After: inf`, which is neither seconds nor a date"
                    .to_owned(),
            ),
            (
                "1e3",
                1,
                "wait at least 1 s, because the answer had `Retry-After: 1e3`, which is neither seconds nor a date"
                    .to_owned(),
            ),
        ] {
            let requests = numbered(&[get(0).limited(secs).told(value)]);
            assert_eq!(wait_after(&requests[0]), expected);
        }
    }

    #[test]
    fn a_value_that_a_terminal_or_a_reader_may_take_for_more_is_left_out() {
        assert_eq!(header("A", Some("1")), "`A: 1`");
        let long = "x".repeat(VALUE_MAX + 1);
        for value in ["", "a`b", "\u{1b}[0m", "é", "a\u{202e}b", &long] {
            assert_eq!(header("A", Some(value)), "`A`", "{value:?}");
        }
        assert_eq!(header("A", None), "`A`");
    }
}
