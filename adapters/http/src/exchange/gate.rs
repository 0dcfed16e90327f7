//! The responses of the gate. The service decides; this module renders the refusals.

use std::net::IpAddr;

use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use petstore_domain::{KeyFault, Plan, Timestamp, WindowKind};
use petstore_ports::api::{KeyProblem, Refusal};
use petstore_ports::{AddressVerdict, Cost};

use crate::counts::counters::Decision;
use crate::exchange::credentials::NoKey;
use crate::response::answer::Answer;
use crate::response::quota_headers::QuotaNote;
use crate::thread::shared::App;
use crate::wire::error::{ApiError, Code};
use crate::wire::in_seconds;

/// Counts a request without a key against its address, and returns the refusal. Sets the quota note, unless the count
/// of the address could not be read.
pub(crate) async fn without_key(
    app: &App,
    client: IpAddr,
    lack: NoKey,
    now: Timestamp,
    note: &mut Option<QuotaNote>,
) -> Answer {
    let address = match app.api.admit_address(client, Cost::One, now).await {
        Ok(address) => address,
        Err(error) => return error.into(),
    };
    *note = Some(QuotaNote::of_address(&address, now));
    if !address.admitted {
        return address_exceeded(&address, now);
    }
    match lack {
        NoKey::Missing => {
            let message =
                "An API key is required; send it in Authorization as a bearer token, or in X-API-Key.";
            let code = Code::MissingApiKey;
            Answer::from(ApiError::new(code, message)).with_header(WWW_AUTHENTICATE, challenge(code))
        }
        NoKey::Ambiguous => {
            let message = "The request has two different API keys; send only one.";
            ApiError::new(Code::AmbiguousCredentials, message).into()
        }
    }
}

/// Returns the challenge of a 401 (RFC 6750, section 3), without an error if the request had no key.
pub(crate) fn challenge(code: Code) -> HeaderValue {
    HeaderValue::from_static(match code {
        Code::MissingApiKey => "Bearer realm=\"petstore\"",
        _ => "Bearer realm=\"petstore\", error=\"invalid_token\"",
    })
}

/// Returns the plan and the decision of a refusal for the counters; `None` if the account is not known.
pub(crate) const fn decision(refusal: &Refusal) -> Option<(&Plan, Decision)> {
    match refusal {
        Refusal::TooManyInFlight { plan, .. } => Some((plan, Decision::TooManyInFlight)),
        Refusal::Banned { plan, .. } => Some((plan, Decision::Banned)),
        Refusal::Exceeded { plan, usage, .. } => match usage.binding() {
            (WindowKind::Minute, _) => Some((plan, Decision::MinuteExceeded)),
            (WindowKind::Day, _) => Some((plan, Decision::DayExceeded)),
        },
        Refusal::Key { .. } | Refusal::Store(_) => None,
    }
}

/// Returns the response to a refused request. Sets the quota note, unless the counts could not be read.
pub(crate) fn refused(refusal: Refusal, now: Timestamp, note: &mut Option<QuotaNote>) -> Answer {
    match refusal {
        Refusal::Key { problem, address } => {
            *note = Some(QuotaNote::of_address(&address, now));
            if !address.admitted {
                return address_exceeded(&address, now);
            }
            let (code, message) = match problem {
                KeyProblem::Invalid => (Code::InvalidApiKey, "The API key is not valid."),
                KeyProblem::Dead(KeyFault::Expired) => (Code::ApiKeyExpired, "The API key has expired."),
                KeyProblem::Dead(KeyFault::Revoked) => (Code::ApiKeyRevoked, "The API key has been revoked."),
            };
            Answer::from(ApiError::new(code, message)).with_header(WWW_AUTHENTICATE, challenge(code))
        }
        Refusal::TooManyInFlight { usage, .. } => {
            *note = Some(QuotaNote::of_account(&usage, now));
            let message = "The account has too many requests in flight; retry in 1 second, when one of them has finished.";
            Answer::retry_in(&ApiError::new(Code::TooManyConcurrentRequests, message), 1)
        }
        Refusal::Banned { until, limits, .. } => {
            *note = Some(QuotaNote::banned([limits.minute.get(), limits.day.get()], until, now));
            let wait = until.since(now).as_millis().div_ceil(1_000);
            let secs = u64::try_from(wait).unwrap_or(u64::MAX).max(1);
            let message = format!(
                "The API key is banned until {until}, because it kept sending requests after 429 responses; retry in {}.",
                in_seconds(secs)
            );
            Answer::retry_in(&ApiError::new(Code::KeyBanned, message), secs)
        }
        Refusal::Exceeded { usage, .. } => {
            *note = Some(QuotaNote::of_account(&usage, now));
            // If both windows are exhausted, the day window is reported, because it ends last.
            let (kind, window) = usage.binding();
            let (code, span) = match kind {
                WindowKind::Minute => (Code::RateLimitExceeded, "minute"),
                WindowKind::Day => (Code::QuotaExceeded, "day"),
            };
            let secs = secs_until(window.reset_secs, now);
            let (limit, requests) = (window.limit, if window.limit == 1 { "request" } else { "requests" });
            let message = format!(
                "The quota of {limit} {requests} per {span} is used up; retry in {}.",
                in_seconds(secs)
            );
            Answer::retry_in(&ApiError::new(code, message), secs)
        }
        Refusal::Store(error) => Answer::from(error),
    }
}

/// Returns the response to a request of an address that has used up its quota.
pub(crate) fn address_exceeded(address: &AddressVerdict, now: Timestamp) -> Answer {
    let secs = secs_until(address.usage.reset_secs, now);
    let message = format!(
        "This address sent too many requests without a valid API key; retry in {}.",
        in_seconds(secs)
    );
    Answer::retry_in(&ApiError::new(Code::RateLimitExceeded, message), secs)
}

/// Returns the whole seconds from `now` to `then_secs`, rounded up, at least one.
fn secs_until(then_secs: u64, now: Timestamp) -> u64 {
    let now_millis = u64::try_from(now.as_millis()).unwrap_or(0);
    then_secs.saturating_mul(1_000).saturating_sub(now_millis).div_ceil(1_000).max(1)
}
