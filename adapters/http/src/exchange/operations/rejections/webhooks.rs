//! The responses to rejected operations on webhooks.

use petstore_domain::{
    CreateWebhookRejection, DeleteWebhookRejection, DisabledReason, REDELIVERIES_MAX,
    RotateWebhookSecretRejection, StartDeliveriesRejection, StartsUsedUp, UpdateWebhookRejection,
};
use petstore_ports::api::TestWebhookRejection;

use super::{Refuse, conflict};
use crate::exchange::operations::OperationCall;
use crate::response::answer::Answer;
use crate::wire::error::{ApiError, Code};
use crate::wire::in_seconds;

/// The time after which a webhook takes further requests for single events, in seconds.
const REDELIVERIES_SECS: u64 = 60;

impl Refuse for CreateWebhookRejection {
    fn answer(self, _call: &OperationCall<'_>) -> Answer {
        match self {
            Self::TooMany { max } => {
                let message =
                    format!("The account has {max} webhooks and may have no more; delete one first.");
                conflict(Code::TooManyWebhooks, message)
            }
            Self::Expired => expired("The log does not have this place; begin with from: oldest or now."),
            Self::TooOften(used_up) => too_often(used_up),
        }
    }
}

impl Refuse for UpdateWebhookRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::Precondition(error) => error.answer(call),
            Self::Expired => expired(
                "Events that the webhook has not received are no longer kept; enable it with from: oldest or now.",
            ),
            Self::TooOften(used_up) => too_often(used_up),
        }
    }
}

impl Refuse for DeleteWebhookRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::Precondition(error) => error.answer(call),
        }
    }
}

impl Refuse for RotateWebhookSecretRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::InProgress { until } => {
                let message = format!(
                    "The previous secret is valid until {until}; rotate again after that, or with overlap: 0, which ends it."
                );
                conflict(Code::RotationInProgress, message)
            }
        }
    }
}

impl Refuse for StartDeliveriesRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::Disabled(reason) => disabled(reason),
            Self::Expired => expired("The log does not have this event or this place any more."),
            Self::TooMany => {
                let message = format!(
                    "A webhook takes {REDELIVERIES_MAX} requests to redeliver a minute; retry in {}.",
                    in_seconds(REDELIVERIES_SECS)
                );
                Answer::retry_in(&ApiError::new(Code::RateLimitExceeded, message), REDELIVERIES_SECS)
            }
            Self::TooOften(used_up) => too_often(used_up),
        }
    }
}

impl Refuse for TestWebhookRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::TooMany => {
                let message = "The account has too many tests of webhooks in progress; retry in 1 second, when one of them has ended.";
                Answer::retry_in(&ApiError::new(Code::TooManyConcurrentRequests, message), 1)
            }
        }
    }
}

fn too_often(used_up: StartsUsedUp) -> Answer {
    let wait = used_up.wait.as_millis().div_ceil(1_000);
    let secs = u64::try_from(wait).unwrap_or(u64::MAX).max(1);
    let message = format!(
        "An account may create, replay or enable webhooks {} times a minute; retry in {}.",
        used_up.max,
        in_seconds(secs)
    );
    Answer::retry_in(&ApiError::new(Code::RateLimitExceeded, message), secs)
}

fn disabled(reason: DisabledReason) -> Answer {
    let message = format!("The webhook is disabled ({reason}); enable it first.");
    conflict(Code::WebhookDisabled, message)
}

fn expired(message: &'static str) -> Answer {
    ApiError::new(Code::EventExpired, message).into()
}
