//! The gate in front of every handler: the service judges, this tells the client.

use std::net::IpAddr;

use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use petstore_domain::{Timestamp, Usage, WindowKind, WindowUsage};
use petstore_ports::api::{Admission, Call, KeyProblem, Refusal};
use petstore_ports::{AddressVerdict, Cost};

use crate::answer::Answer;
use crate::app::App;
use crate::credentials::{Presented, presented};
use crate::error::{ApiError, Code};
use crate::head::Head;

const MINUTE: HeaderValue = HeaderValue::from_static("minute");
const DAY: HeaderValue = HeaderValue::from_static("day");
const ADDRESS: HeaderValue = HeaderValue::from_static("address");
const BAN: HeaderValue = HeaderValue::from_static("ban");

/// What the quota headers of an answer say: one window, or what stands in for one.
#[derive(Debug, Clone)]
pub(crate) struct QuotaNote {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    pub(crate) reset_secs: u64,
    /// Which one: `minute`, `day`, `address` or `ban`.
    pub(crate) resource: HeaderValue,
}

impl QuotaNote {
    const fn new(usage: WindowUsage, resource: HeaderValue) -> Self {
        let WindowUsage { limit, remaining, reset_secs } = usage;
        Self { limit, remaining, reset_secs, resource }
    }

    /// The window that binds the account.
    pub(crate) const fn of_account(usage: &Usage) -> Self {
        match usage.binding() {
            (WindowKind::Minute, window) => Self::new(window, MINUTE),
            (WindowKind::Day, window) => Self::new(window, DAY),
        }
    }

    /// What is left to an address.
    pub(crate) const fn of_address(verdict: &AddressVerdict) -> Self {
        Self::new(verdict.usage, ADDRESS)
    }
}

/// Lets a request pass, or says why not. The quota note is written either way.
pub(crate) async fn pass(
    app: &App,
    client: IpAddr,
    head: &Head<'_>,
    cost: Cost,
    note: &mut Option<QuotaNote>,
) -> Result<Admission, Answer> {
    let error = match presented(head) {
        Presented::Key(key) => {
            let admitted = app.api.admit(Call { key, address: client, cost }).await;
            return match admitted {
                Ok(admission) => {
                    *note = Some(QuotaNote::of_account(&admission.usage));
                    Ok(admission)
                }
                Err(refusal) => Err(refused(refusal, note)),
            };
        }
        Presented::Nothing => ApiError::new(
            Code::MissingApiKey,
            "This operation needs an API key, as a bearer token or in X-API-Key.",
        ),
        Presented::Ambiguous => ApiError::new(
            Code::AmbiguousCredentials,
            "A request carries one key, in one place: a bearer token or X-API-Key.",
        ),
    };
    let (address, now) = app.api.admit_address(client, Cost::One).await?;
    *note = Some(QuotaNote::of_address(&address));
    if !address.admitted {
        return Err(address_exceeded(&address, now));
    }
    let is_missing = error.code == Code::MissingApiKey;
    let answer = Answer::from(error);
    Err(if is_missing {
        answer.with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"petstore\""))
    } else {
        answer
    })
}

fn refused(refusal: Refusal, note: &mut Option<QuotaNote>) -> Answer {
    match refusal {
        Refusal::Key { problem, address, now } => {
            *note = Some(QuotaNote::of_address(&address));
            if !address.admitted {
                return address_exceeded(&address, now);
            }
            let (code, message) = match problem {
                KeyProblem::Invalid => (Code::InvalidApiKey, "There is no such API key."),
                KeyProblem::Expired => (Code::ApiKeyExpired, "The API key has expired."),
                KeyProblem::Revoked => (Code::ApiKeyRevoked, "The API key has been revoked."),
            };
            let challenge = HeaderValue::from_static("Bearer realm=\"petstore\", error=\"invalid_token\"");
            Answer::from(ApiError::new(code, message)).with_header(WWW_AUTHENTICATE, challenge)
        }
        Refusal::TooManyInFlight { usage } => {
            *note = Some(QuotaNote::of_account(&usage));
            let message =
                "The account has as many requests in flight as it may; try again when one is answered.";
            Answer::from(ApiError::new(Code::TooManyConcurrentRequests, message)).with_retry_after(1)
        }
        Refusal::Banned { until, limits, now } => {
            let reset_secs = until.as_secs_ceil();
            *note = Some(QuotaNote { limit: limits.minute.get(), remaining: 0, reset_secs, resource: BAN });
            let message =
                format!("The API key is banned until {until}: it kept asking after it had been refused.");
            let wait = until.since(now).as_millis().div_ceil(1_000);
            Answer::from(ApiError::new(Code::KeyBanned, message))
                .with_retry_after(u64::try_from(wait).unwrap_or(u64::MAX))
        }
        Refusal::Exceeded { usage, now } => {
            *note = Some(QuotaNote::of_account(&usage));
            // An exhausted day binds before an exhausted minute: the window that lifts last.
            let (kind, window) = usage.binding();
            let (code, span) = match kind {
                WindowKind::Minute => (Code::RateLimitExceeded, "minute"),
                WindowKind::Day => (Code::QuotaExceeded, "day"),
            };
            let message = format!("The {} requests of this {span} are used up.", window.limit);
            Answer::from(ApiError::new(code, message)).with_retry_after(secs_until(window.reset_secs, now))
        }
        Refusal::Store(error) => Answer::from(error),
    }
}

fn address_exceeded(address: &AddressVerdict, now: Timestamp) -> Answer {
    let message = "Too many requests without a valid API key came from this address in this minute.";
    Answer::from(ApiError::new(Code::RateLimitExceeded, message))
        .with_retry_after(secs_until(address.usage.reset_secs, now))
}

/// Whole seconds from now to then, rounded up, at least one.
fn secs_until(then_secs: u64, now: Timestamp) -> u64 {
    let now_millis = u64::try_from(now.as_millis()).unwrap_or(0);
    then_secs.saturating_mul(1_000).saturating_sub(now_millis).div_ceil(1_000).max(1)
}
