//! Settings whose value is one of a few words. Comments in place of documentation keep the words out of the help.

use clap::ValueEnum;

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
