//! What the transport tells of the requests it answered.

use std::time::Duration;

use petstore_domain::AccountId;

/// Is told of each answer. Called on the runtime's threads: it must not block.
pub trait Observer: Send + Sync {
    /// Whether it wants to be told of every answer, and how long it took; otherwise of those alone that are our fault.
    fn wants_all(&self) -> bool;

    /// A request has been answered.
    fn answered(&self, exchange: &Exchange<'_>);

    /// Something went wrong that no client is told of.
    fn trouble(&self, what: &str);
}

/// A request and its answer, without anything that could be a secret: no body, no query value, no header but the two
/// that name the request.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// The method.
    pub method: &'a str,
    /// The route's template, such as `/pets/{petId}`; `-` for a path that is none.
    pub route: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// The answer's `X-Request-Id`.
    pub request_id: &'a str,
    /// The request's `traceparent`.
    pub traceparent: Option<&'a str>,
    /// Who asked, if that was found out.
    pub account: Option<AccountId>,
    /// From the end of the head to the answer, for an observer of all answers.
    pub duration: Option<Duration>,
    /// What broke, for answers that are our fault.
    pub fault: Option<&'a str>,
}
