//! `Prefer` (RFC 7240): the fault that a request asks for itself.

use std::borrow::Cow;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use super::fault_plan::{DELAY_MAX, InjectedFault, Moment, Outcome};
use super::retry_after::RetryAfter;
use crate::wire::error::{ApiError, Code};

pub(super) const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The maximum number of preferences that are read.
const PREFERENCES_MAX: usize = 20;

/// The fault that a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Preferred {
    pub(super) fault: InjectedFault,
    /// The preferences that are applied, as `Preference-Applied` shows them.
    pub(super) applied: HeaderValue,
}

/// Returns the fault that a request asks for; `None` if it has no preference that is known here. A preference with a value
/// that is not valid is refused.
pub(super) fn preferred(headers: &HeaderMap) -> Result<Option<Preferred>, ApiError> {
    let (mut code, mut latency, mut drops, mut retry_after) = (None, None, false, None);
    let values = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let mut applied: Vec<String> = vec![];
    for preference in values.flat_map(|value| split_unquoted(value, ',')).take(PREFERENCES_MAX) {
        // Parameters of a preference follow a semicolon; none of those here has one.
        let preference = split_unquoted(preference, ';').next().unwrap_or_default().trim();
        let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
        let value = value.trim().trim_matches('"');
        match name.trim().to_ascii_lowercase().as_str() {
            // The first of several preferences of a name is in force (RFC 7240, section 2).
            "code" if code.is_none() => code = Some(error_code(value)?),
            "latency" if latency.is_none() => latency = Some(duration(value)?),
            "drop" if value.is_empty() => drops = true,
            "drop" => return Err(refused("drop has no value")),
            "retry-after" if retry_after.is_none() => retry_after = Some(retry_after_of(value)?),
            _ => continue,
        }
        applied.push(preference.to_owned());
    }
    if applied.is_empty() {
        return Ok(None);
    }
    if drops && code.is_some() {
        return Err(refused("drop cannot be combined with code"));
    }
    if retry_after.is_some() && !code.is_some_and(Code::has_retry_after) {
        return Err(refused("retry-after is allowed only with a code of 429 or 503, or key_banned"));
    }
    let end = match code {
        Some(code) => {
            let usual = if code.has_retry_after() { RetryAfter::Seconds(1) } else { RetryAfter::None };
            Outcome::Answered { code, retry_after: retry_after.unwrap_or(usual) }
        }
        None if drops => Outcome::Dropped,
        None => Outcome::Served,
    };
    let delay = latency.unwrap_or_default();
    let fault = InjectedFault { delay, moment: Moment::Before, end, draw: 0 };
    let applied =
        HeaderValue::from_str(&applied.join(", ")).map_err(|_| refused("it is not visible ASCII"))?;
    Ok(Some(Preferred { fault, applied }))
}

/// Splits the value of a header where a separator is not in a quoted string, such as that of a date (RFC 9110, section 5.6.4).
fn split_unquoted(value: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    value.split(move |letter: char| {
        if is_escaped {
            is_escaped = false;
        } else if letter == '"' {
            is_quoted = !is_quoted;
        } else {
            is_escaped = is_quoted && letter == '\\';
        }
        !is_quoted && letter == separator
    })
}

/// Returns the code with this name, or the first one with this status.
fn error_code(value: &str) -> Result<Code, ApiError> {
    let found = match value.parse::<u16>() {
        Ok(status) => Code::ALL.iter().find(|code| code.status().as_u16() == status),
        Err(_) => Code::ALL.iter().find(|code| code.as_str() == value),
    };
    found.copied().ok_or_else(|| refused("code must be the status or the code of an API error"))
}

fn duration(value: &str) -> Result<Duration, ApiError> {
    let parsed = humantime::parse_duration(value).ok().filter(|time| *time <= DELAY_MAX);
    parsed.ok_or_else(|| refused("latency must be a duration of at most 1m, such as 200ms"))
}

fn retry_after_of(value: &str) -> Result<RetryAfter, ApiError> {
    if value.is_empty() {
        return Err(refused("retry-after must have a value, such as 3"));
    }
    Ok(value.parse().map_or_else(|_| RetryAfter::Text(value.into()), RetryAfter::Seconds))
}

fn refused(reason: &'static str) -> ApiError {
    let message: Cow<'static, str> = format!("The Prefer header is not valid: {reason}.").into();
    ApiError::new(Code::InvalidHeader, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(values: &[&'static str]) -> Result<Option<Preferred>, ApiError> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(PREFER, HeaderValue::from_static(value));
        }
        preferred(&headers)
    }

    #[test]
    fn a_preference_is_a_fault_and_others_are_ignored() {
        let answered = |code, retry_after| Outcome::Answered { code, retry_after };
        let second = RetryAfter::Seconds(1);
        for (values, end, millis, applied) in [
            (&["code=503"][..], answered(Code::Unavailable, second.clone()), 0, "code=503"),
            (
                &["code=\"pet_not_available\""],
                answered(Code::PetNotAvailable, RetryAfter::None),
                0,
                "code=\"pet_not_available\"",
            ),
            (&["latency=200ms"], Outcome::Served, 200, "latency=200ms"),
            (&["respond-async, Drop", "latency=1s"], Outcome::Dropped, 1_000, "Drop, latency=1s"),
            (
                &["code=429; a=b, retry-after=soon"],
                answered(Code::RateLimitExceeded, RetryAfter::Text("soon".into())),
                0,
                "code=429, retry-after=soon",
            ),
            (
                &["code=503;a=\",\", retry-after=\"Sun, 06 Nov 1994 08:49:37 GMT\""],
                answered(Code::Unavailable, RetryAfter::Text("Sun, 06 Nov 1994 08:49:37 GMT".into())),
                0,
                "code=503, retry-after=\"Sun, 06 Nov 1994 08:49:37 GMT\"",
            ),
            (&["code=429, code=500"], answered(Code::RateLimitExceeded, second), 0, "code=429"),
        ] {
            let found = parsed(values).unwrap().unwrap();
            assert_eq!(
                (&found.fault.end, found.fault.delay),
                (&end, Duration::from_millis(millis)),
                "{values:?}"
            );
            assert_eq!(found.applied, applied);
        }
        assert_eq!(parsed(&[]), Ok(None));
        assert_eq!(parsed(&["return=minimal, wait=10"]), Ok(None));
    }

    #[test]
    fn a_value_that_is_not_valid_is_refused() {
        for value in [
            "code=200",
            "code=teapot",
            "code=",
            "latency=2m",
            "latency=fast",
            "drop=1",
            "retry-after=3",
            "code=404, retry-after=3",
            "code=503, retry-after=",
            "drop, code=503",
        ] {
            assert_eq!(parsed(&[value]).map_err(|error| error.code), Err(Code::InvalidHeader), "{value}");
        }
    }
}
