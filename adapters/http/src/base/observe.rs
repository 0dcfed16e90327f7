//! What the transport tells of the requests it answered.

use std::net::IpAddr;
use std::time::Duration;

use petstore_domain::AccountId;

use crate::base::stats::TransportStats;

/// Is told of answers. Called on the runtime's threads: it must not block.
pub trait Observer: Send + Sync {
    /// Whether it wants to be told of an answer like this one. Asked of every answer, so that it must be quick.
    fn wants(&self, status: u16, duration: Duration, is_fault: bool) -> bool;

    /// A request has been answered, and [`Observer::wants`] said yes.
    fn answered(&self, exchange: &Exchange<'_>);

    /// Something is probably not set up as it should be, though nothing has failed.
    fn advise(&self, what: &str);

    /// Something went wrong that no client is told of.
    fn trouble(&self, what: &str);
}

/// Writes what is served at `/metrics`.
pub trait Exposition: Send + Sync {
    /// All metrics in OpenMetrics text, those of the transport among them.
    fn text(&self, transport: &TransportStats) -> String;
}

/// A request and its answer, without anything that could be a secret: no body, no query value, no header but the two
/// that name the request.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// The method; `-` for one that is not HTTP's.
    pub method: &'static str,
    /// The route's template, such as `/pets/{petId}`; `-` for a path that is none.
    pub route: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// The answer's `X-Request-Id`.
    pub request_id: &'a str,
    /// The request's `traceparent`.
    pub traceparent: Option<&'a str>,
    /// The client's address: the peer's, or what trusted proxies tell.
    pub client: IpAddr,
    /// Who asked, if that was found out.
    pub account: Option<AccountId>,
    /// The display prefix of the key, if it was found good.
    pub key: Option<&'a str>,
    /// From the end of the head to the answer.
    pub duration: Duration,
    /// What broke, for answers that are our fault.
    pub fault: Option<&'a str>,
}
