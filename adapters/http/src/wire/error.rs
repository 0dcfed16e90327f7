//! Error responses. The table of codes is the only place that gives an error its status and says whether it has `Retry-After`.
//! The module that finds an error chooses its code.

use std::borrow::Cow;

use hyper::StatusCode;

macro_rules! codes {
    (@ retry_after) => { true };
    (@) => { false };
    ($($(#[$doc:meta])* $name:ident = $status:literal $text:literal $(+ $retry_after:ident)?)*) => {
        /// The error codes of the API contract. Codes are stable, messages are not.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// The value of `code` on the wire.
            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The status of responses with this code.
            pub(crate) const fn status(self) -> StatusCode {
                let code: u16 = match self { $(Self::$name => $status,)* };
                match StatusCode::from_u16(code) {
                    Ok(status) => status,
                    Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
                }
            }

            /// Returns whether a retry may succeed after some seconds, which responses with this code name.
            pub(crate) const fn has_retry_after(self) -> bool {
                match self { $(Self::$name => codes!(@ $($retry_after)?),)* }
            }
        }
    };
}

codes! {
    InvalidJson = 400 "invalid_json"
    ValidationFailed = 400 "validation_failed"
    UnknownReference = 400 "unknown_reference"
    InvalidParameter = 400 "invalid_parameter"
    InvalidCursor = 400 "invalid_cursor"
    InvalidHeader = 400 "invalid_header"
    InvalidHost = 400 "invalid_host"
    AmbiguousCredentials = 400 "ambiguous_credentials"
    MissingApiKey = 401 "missing_api_key"
    InvalidApiKey = 401 "invalid_api_key"
    ApiKeyExpired = 401 "api_key_expired"
    ApiKeyRevoked = 401 "api_key_revoked"
    InsufficientScope = 403 "insufficient_scope"
    KeyBanned = 403 "key_banned" + retry_after
    NotFound = 404 "not_found"
    MethodNotAllowed = 405 "method_not_allowed"
    NotAcceptable = 406 "not_acceptable"
    RequestTimeout = 408 "request_timeout"
    CategoryExists = 409 "category_exists"
    CategoryInUse = 409 "category_in_use"
    PetHasOpenOrders = 409 "pet_has_open_orders"
    PetNotAvailable = 409 "pet_not_available"
    InsufficientStock = 409 "insufficient_stock"
    InvalidStatusTransition = 409 "invalid_status_transition"
    OrderAlreadyComplete = 409 "order_already_complete"
    TooManyWebhooks = 409 "too_many_webhooks"
    WebhookDisabled = 409 "webhook_disabled"
    RotationInProgress = 409 "rotation_in_progress"
    IdempotencyInProgress = 409 "idempotency_in_progress"
    OperationSunset = 410 "operation_sunset"
    EventExpired = 410 "event_expired"
    PreconditionFailed = 412 "precondition_failed"
    BodyTooLarge = 413 "body_too_large"
    UriTooLong = 414 "uri_too_long"
    UnsupportedMediaType = 415 "unsupported_media_type"
    IdempotencyKeyReused = 422 "idempotency_key_reused"
    PreconditionRequired = 428 "precondition_required"
    RateLimitExceeded = 429 "rate_limit_exceeded" + retry_after
    QuotaExceeded = 429 "quota_exceeded" + retry_after
    TooManyConcurrentRequests = 429 "too_many_concurrent_requests" + retry_after
    HeadersTooLarge = 431 "headers_too_large"
    InternalError = 500 "internal_error"
    Unavailable = 503 "unavailable" + retry_after
    Overloaded = 503 "overloaded" + retry_after
}

/// One fault of a body or a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Detail {
    /// The member or parameter, as the client named it. Rendering truncates it.
    pub(crate) field: String,
    /// A stable identifier of the fault.
    pub(crate) code: &'static str,
    /// The fault as a sentence.
    pub(crate) message: Cow<'static, str>,
}

/// An error response: the `Error` schema of the specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) code: Code,
    pub(crate) message: Cow<'static, str>,
    /// All faults of a body at once; empty for an error with a single cause.
    pub(crate) details: Vec<Detail>,
}

impl ApiError {
    pub(crate) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), details: Vec::new() }
    }

    pub(crate) fn with_details(
        code: Code,
        message: impl Into<Cow<'static, str>>,
        details: Vec<Detail>,
    ) -> Self {
        Self { code, message: message.into(), details }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_lower_case_and_have_error_statuses() {
        for (place, code) in Code::ALL.iter().enumerate() {
            let status = code.status().as_u16();
            assert!((400..=503).contains(&status), "{code:?}");
            let may_retry = *code == Code::KeyBanned || matches!(status, 429 | 503);
            assert_eq!(code.has_retry_after(), may_retry, "{code:?}: as the contract says");
            assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{code:?}");
            assert!(Code::ALL[..place].iter().all(|other| other.as_str() != code.as_str()), "{code:?}");
        }
    }
}
