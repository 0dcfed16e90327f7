//! The interfaces through which the transport reports the requests that it answered.

use std::net::IpAddr;
use std::time::Duration;

use petstore_domain::AccountId;

use crate::base::stats::TransportStats;

/// Receives reports of answers. Called on the threads of the runtime, so it must not block.
pub trait Observer: Send + Sync {
    /// Returns `true` if an answer with these properties is to be reported. Called for every answer, so it must be
    /// fast.
    fn wants(&self, status: u16, duration: Duration, is_fault: bool) -> bool;

    /// Reports an answer for which [`Observer::wants`] returned `true`.
    fn answered(&self, exchange: &Exchange<'_>);

    /// Reports a probable mistake in the configuration that has not led to a failure.
    fn advise(&self, what: &str);

    /// Reports a failure that no client sees in an answer.
    fn trouble(&self, what: &str);
}

/// Produces the text that is served at `/metrics`.
pub trait Exposition: Send + Sync {
    /// All metrics in the OpenMetrics text format, including those of the transport.
    fn text(&self, transport: &TransportStats) -> String;
}

/// A request and its answer, without the parts that may be secret. It has no body and no query value. Of the headers it
/// has only the two that identify the request.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// The method; `-` for an unknown one.
    pub method: &'static str,
    /// The route template, such as `/pets/{petId}`; `-` for an unknown path.
    pub route: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// The header `X-Request-Id` of the answer, from the client or made here.
    pub request_id: &'a str,
    /// The header `traceparent` of the request, if it has the form of W3C Trace Context.
    pub traceparent: Option<&'a str>,
    /// The client's address: that of the peer, or the one that trusted proxies report.
    pub client: IpAddr,
    /// The account of the request, if it was authenticated.
    pub account: Option<AccountId>,
    /// The display prefix of the key, if the key is valid.
    pub key: Option<&'a str>,
    /// The time from the end of the request's head to the answer.
    pub duration: Duration,
    /// The internal error, for answers with a status of 500 or above.
    pub fault: Option<&'a str>,
}
