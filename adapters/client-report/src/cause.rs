//! The reasons for which a client must wait or may try again.

use std::time::Duration;

use petstore_domain::Timestamp;

use crate::request::ClientRequest;

const TOO_MANY_REQUESTS: u16 = 429;
const SERVICE_UNAVAILABLE: u16 = 503;
const REQUEST_TIMEOUT: u16 = 408;

/// Codes of refusals that end with a window. Their answers have the end of the window in `X-RateLimit-Reset`, too.
const OF_A_WINDOW: [&str; 2] = ["rate_limit_exceeded", "quota_exceeded"];

impl ClientRequest<'_> {
    /// Returns whether a limit refused the request.
    pub(crate) fn is_limited(&self) -> bool {
        self.status() == Some(TOO_MANY_REQUESTS)
    }

    /// Returns the time until which the answer asks the client to send nothing.
    ///
    /// It is the end of `Retry-After`, which is rounded up, or the end of the window if that is earlier.
    pub(crate) fn binds_until(&self) -> Option<Timestamp> {
        let answer = self.answer.as_ref()?;
        let asks_to_wait =
            matches!(answer.status, TOO_MANY_REQUESTS | SERVICE_UNAVAILABLE) || answer.has_code("key_banned");
        let wait = answer.retry_after.filter(|_| asks_to_wait)?;
        let end = self.ended?.at.plus(Duration::from_secs(wait));
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

    /// Returns whether the client cannot know if the request took effect: it had no answer, or an answer of 500 to 599. A
    /// client that ends a wait for events by itself misses no result.
    pub(crate) fn is_without_result(&self) -> bool {
        let has_ended = self.ended.is_some() && !self.has_left_wait;
        match self.status() {
            None => has_ended,
            Some(status) => (500..600).contains(&status),
        }
    }
}
