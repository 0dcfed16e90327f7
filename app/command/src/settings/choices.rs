//! Settings whose value is one of a few words. Comments in place of documentation keep the words out of the help.

use clap::ValueEnum;
use petstore_http::QuotaForm;

/// The requests that are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    // No request.
    Off,
    // Requests that failed in the server.
    Errors,
    // All requests.
    Requests,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    // Text on a terminal, JSON elsewhere.
    Auto,
    Text,
    Json,
}

/// The treatment of requests while Redis is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QuotaFallback {
    // Requests are refused.
    Closed,
    // Each node counts for itself, and admits its share.
    Local,
}

/// The form of the quota headers. A sandbox can have further forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QuotaHeaders {
    // The headers of the specification.
    #[value(name = "x-ratelimit")]
    XRateLimit,
    // The lists of the draft of the IETF.
    #[value(name = "ratelimit")]
    RateLimit,
    Both,
    None,
}

impl QuotaHeaders {
    /// Returns the form, as the transport knows it.
    pub(crate) const fn form(self) -> QuotaForm {
        match self {
            Self::XRateLimit => QuotaForm::XRateLimit,
            Self::RateLimit => QuotaForm::RateLimit,
            Self::Both => QuotaForm::Both,
            Self::None => QuotaForm::None,
        }
    }
}
