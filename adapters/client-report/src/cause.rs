//! The reasons for which a client must wait or may try again.

use std::time::Duration;

use httpdate::parse_http_date;
use petstore_domain::Timestamp;

use crate::request::{ClientRequest, wait_of};

const TOO_MANY_REQUESTS: u16 = 429;
const SERVICE_UNAVAILABLE: u16 = 503;
const REQUEST_TIMEOUT: u16 = 408;

/// Codes of refusals that end with a window. Their answers have the end of the window in `X-RateLimit-Reset`, too.
const OF_A_WINDOW: [&str; 2] = ["rate_limit_exceeded", "quota_exceeded"];

/// Codes of answers that tell that a key will not be accepted again.
const KEY_LOST: [&str; 2] = ["api_key_revoked", "api_key_expired"];

/// Returns whether an answer asks the client to wait as long as its `Retry-After` says.
fn asks_to_wait(status: u16, code: Option<&str>) -> bool {
    matches!(status, TOO_MANY_REQUESTS | SERVICE_UNAVAILABLE) || code == Some("key_banned")
}

/// Returns the seconds that an answer asks the client to wait, given its headers `Retry-After` and `Date`, from which a date counts.
/// `None` if it does not ask, or if it has no `Date` for a date.
pub fn wait_asked(status: u16, code: Option<&str>, retry_after: &str, date: Option<&str>) -> Option<u64> {
    let value = retry_after.trim();
    let distance = || {
        let (until, from) = (parse_http_date(value).ok()?, parse_http_date(date?.trim()).ok()?);
        Some(until.duration_since(from).unwrap_or_default().as_secs())
    };
    if asks_to_wait(status, code) { wait_of(value, distance()) } else { None }
}

impl ClientRequest<'_> {
    /// Returns whether a limit refused the request.
    pub(crate) fn is_limited(&self) -> bool {
        self.status() == Some(TOO_MANY_REQUESTS)
    }

    /// Returns the time that the answer asks the client to wait, as its `Retry-After` says.
    pub(crate) fn wait_asked(&self) -> Option<Duration> {
        let answer = self.answer.as_ref()?;
        answer.retry_after.filter(|_| asks_to_wait(answer.status, answer.code)).map(Duration::from_secs)
    }

    /// Returns the time until which the answer asks the client to send nothing.
    ///
    /// It is the end of `Retry-After`, which is rounded up, or the end of the window if that is earlier.
    pub(crate) fn binds_until(&self) -> Option<Timestamp> {
        let answer = self.answer.as_ref()?;
        let end = self.ended?.at.plus(self.wait_asked()?);
        let window_end = answer.reset.filter(|_| OF_A_WINDOW.iter().any(|code| answer.has_code(code)));
        let window_end = window_end.map(|secs| Timestamp::EPOCH.plus(Duration::from_secs(secs)));
        Some(window_end.map_or(end, |window| window.min(end)))
    }

    /// Returns whether the request may succeed if it is sent again: it had no answer, or one that is temporary.
    pub(crate) fn failed_temporarily(&self) -> bool {
        self.is_without_result()
            || matches!(self.status(), Some(TOO_MANY_REQUESTS | REQUEST_TIMEOUT))
            || self.has_code("key_banned")
    }

    /// Returns whether the client cannot know the result of the request: it had no answer, one of 500 to 599, or one whose body
    /// cannot be read. A client that ends a wait for events by itself misses no result.
    pub(crate) fn is_without_result(&self) -> bool {
        let has_ended = self.ended.is_some() && !self.has_left_wait;
        match self.status() {
            None => has_ended,
            Some(status) => {
                (500..600).contains(&status) || self.answer.as_ref().is_some_and(|answer| answer.is_malformed)
            }
        }
    }

    /// Returns whether the request may succeed if it is sent again, and no answer says when.
    pub(crate) fn failed_without_a_wait(&self) -> bool {
        self.failed_temporarily() && self.answer.as_ref().is_none_or(|answer| answer.retry_after.is_none())
    }

    /// Returns whether the key has ended: no request with it will succeed.
    pub(crate) fn has_lost_its_key(&self) -> bool {
        KEY_LOST.iter().any(|code| self.has_code(code))
    }
}

#[cfg(test)]
mod tests {
    use super::wait_asked;

    #[test]
    fn refusals_ask_to_wait_and_other_answers_do_not() {
        const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (status, code, retry_after, date, expected) in [
            (429, None, "3", None, Some(3)),
            (503, Some("unavailable"), " 2.5 ", Some(DATE), Some(2)),
            (403, Some("key_banned"), "60", None, Some(60)),
            (403, Some("insufficient_scope"), "60", None, None),
            (200, None, "3", None, None),
            (429, None, "soon", Some(DATE), Some(1)),
            (429, None, "Sun, 06 Nov 1994 08:49:40 GMT", None, None),
            // Dates have no fractions, so three seconds may be little more than two.
            (429, None, "Sun, 06 Nov 1994 08:49:40 GMT", Some(DATE), Some(2)),
            (429, None, "Sun, 06 Nov 1994 08:49:30 GMT", Some(DATE), Some(0)),
        ] {
            assert_eq!(wait_asked(status, code, retry_after, date), expected, "{status} {retry_after}");
        }
    }
}
