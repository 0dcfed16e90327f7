//! Attempts: one request to a receiver each, with its result.

use std::time::Duration;

use crate::Timestamp;

/// One request to a receiver, and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The time at which the request was sent.
    pub at: Timestamp,
    /// The number of the attempt for its event, from 1.
    pub number: u32,
    /// The cause of the attempt.
    pub trigger: AttemptTrigger,
    /// The answer of the receiver, or the reason why there is none.
    pub outcome: AttemptOutcome,
}

/// The cause of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptTrigger {
    /// The schedule: the first attempt for an event, or one of its retries.
    Schedule,
    /// A request to deliver the event once more.
    Manual,
    /// A request to send a sample event.
    Test,
}

/// The result of one request to a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptOutcome {
    /// The time from the beginning of the attempt to its end.
    pub duration: Duration,
    /// The reason why the attempt failed; none if the receiver answered with a status from 200 to 299 in time, also if the
    /// rest of that answer was not read to its end.
    pub error: Option<AttemptError>,
    /// The answer of the receiver, if it sent at least the head of one.
    pub answer: Option<Box<ReceiverAnswer>>,
}

/// The answer of a receiver.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReceiverAnswer {
    /// The status code of the answer, such as 204.
    pub status: u16,
    /// The first [`ReceiverAnswer::BODY_MAX`] bytes of the body, if they are text.
    pub body: Option<Box<str>>,
    /// The time that a header `Retry-After` asks the sender to wait. A date in it is converted to the time from the
    /// end of the attempt.
    pub wait: Option<Duration>,
    /// The header `Retry-After`, as it was sent.
    pub retry_after: Option<Box<str>>,
    /// The header `Location`. It is never followed.
    pub location: Option<Box<str>>,
    /// The header `Content-Type`, as it was sent.
    pub content_type: Option<Box<str>>,
    /// The reason why the answer was not read to its end; none if it was. It does not decide on the result of the attempt.
    pub cut: Option<AnswerCut>,
}

/// The reason why an answer was not read to its end, after its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum AnswerCut {
    /// The head or the body is longer than is read.
    #[error("the answer is longer than is read")]
    TooLong,
    /// The head or the body was not complete in time.
    #[error("the answer was not complete in time")]
    Late,
    /// The connection ended before the answer was complete, or its head or body is not HTTP.
    #[error(
        "the connection was closed before the answer was complete, or what followed the status is not HTTP"
    )]
    Closed,
}

impl AnswerCut {
    /// Each reason, for parsers and tests of the contract.
    pub const ALL: [Self; 3] = [Self::TooLong, Self::Late, Self::Closed];

    /// The word for clients, such as `too_long`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::Late => "late",
            Self::Closed => "closed",
        }
    }

    /// Parses a word that [`AnswerCut::as_str`] returns.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cut| cut.as_str() == word)
    }
}

impl ReceiverAnswer {
    /// The maximum number of bytes of a body that are kept.
    pub const BODY_MAX: usize = 1_024;

    /// The maximum number of bytes of a header that are kept.
    pub const HEADER_MAX: usize = 1_024;
}

/// The reason why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum AttemptError {
    /// The host has no address, or the resolver did not answer in time.
    #[error("the name of the host could not be resolved")]
    DnsFailed,
    /// An address of the host is not one that webhooks may be sent to.
    #[error("the host has an address that webhooks may not be sent to")]
    AddressRefused,
    /// No connection was made.
    #[error("the connection could not be made")]
    ConnectFailed,
    /// The TLS handshake failed, or the certificate is not valid for the host.
    #[error("TLS failed")]
    TlsFailed,
    /// No status came in time.
    #[error("no status was received in time")]
    Timeout,
    /// The connection ended before a status came, or what came was not HTTP.
    #[error("the connection was closed before a status was received")]
    Closed,
    /// The receiver answered with a redirect. It is not followed.
    #[error("the receiver answered with a redirect")]
    Redirect,
    /// More was sent before a status than is read, such as interim answers.
    #[error("more was sent before a status than is read")]
    TooLarge,
    /// The receiver answered with another status than 200 to 299 and 300 to 399.
    #[error("the receiver answered with a status that is no success")]
    Status,
}

impl AttemptError {
    /// Each reason, for parsers and tests of the contract.
    pub const ALL: [Self; 9] = [
        Self::DnsFailed,
        Self::AddressRefused,
        Self::ConnectFailed,
        Self::TlsFailed,
        Self::Timeout,
        Self::Closed,
        Self::Redirect,
        Self::TooLarge,
        Self::Status,
    ];

    /// The word for clients, such as `dns_failed`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DnsFailed => "dns_failed",
            Self::AddressRefused => "address_refused",
            Self::ConnectFailed => "connect_failed",
            Self::TlsFailed => "tls_failed",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Redirect => "redirect",
            Self::TooLarge => "too_large",
            Self::Status => "status",
        }
    }

    /// Parses a word that [`AttemptError::as_str`] returns.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|error| error.as_str() == word)
    }
}

impl AttemptTrigger {
    /// The word for clients, such as `schedule`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Manual => "manual",
            Self::Test => "test",
        }
    }

    /// Parses a word that [`AttemptTrigger::as_str`] returns.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Schedule, Self::Manual, Self::Test].into_iter().find(|trigger| trigger.as_str() == word)
    }
}

impl AttemptOutcome {
    /// Returns whether the receiver has accepted the event.
    pub const fn is_success(&self) -> bool {
        self.error.is_none()
    }

    /// Returns whether the receiver asks to get no more events: it answered with 410.
    pub fn is_gone(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.status == 410)
    }
}
