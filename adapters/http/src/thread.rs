//! The state of a server and of its threads, and the hook of a server: a part that acts on requests before they are served,
//! and on their answers.
//!
//! A server has at most one hook. Without one, a request pays a branch before it is served and another one after it. The
//! modules that serve requests know the traits here alone; [`crate::sandbox`] implements them. They are in this file, because
//! the state holds the hook, and the hook is called with the state.

pub(crate) mod known_keys;
pub(crate) mod live_cors;
pub(crate) mod live_quota_headers;
pub(crate) mod overload;
pub(crate) mod request_id;
pub(crate) mod shared;
pub(crate) mod thread_state;
pub(crate) mod wakeups;

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::Bytes;
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use petstore_domain::AccountId;
use petstore_ports::Cost;

use crate::io::activity::Activity;
use crate::io::raw_headers::RawHeaders;
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::response::quota_headers::{QuotaNote, QuotaShape};
use crate::thread::request_id::RequestId;
use crate::thread::thread_state::ThreadState;
use crate::wire::request_head::RequestHead;
use crate::wire::route::Resource;

/// A future that stays on its thread.
pub(crate) type LocalFuture<'f, T> = Pin<Box<dyn Future<Output = T> + 'f>>;

/// The error that closes a connection without a response.
#[derive(Debug, thiserror::Error)]
#[error("a planned failure closes the connection")]
pub(crate) struct Dropped;

/// A request whose head has arrived, with its sender.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'r> {
    pub(crate) thread: &'r ThreadState,
    pub(crate) activity: &'r Activity,
    pub(crate) client: IpAddr,
    pub(crate) parts: &'r Parts,
    pub(crate) head: &'r RequestHead<'r>,
    pub(crate) is_secure: bool,
    /// `true` if the path is under the base path of the API.
    pub(crate) is_under: bool,
    pub(crate) resource: Option<Resource>,
}

/// The answer of a hook to a request that the server then does not serve.
pub(crate) struct Intercepted {
    pub(crate) answer: Answer,
    /// The quota and the account of the caller.
    pub(crate) quota: Option<QuotaNote>,
    pub(crate) account: Option<AccountId>,
}

impl From<Answer> for Intercepted {
    fn from(answer: Answer) -> Self {
        Self { answer, quota: None, account: None }
    }
}

/// An answer before it is sent, with what is known about its request.
pub(crate) struct Served<'r> {
    pub(crate) thread: &'r ThreadState,
    pub(crate) activity: &'r Activity,
    pub(crate) quota: Option<QuotaNote>,
    /// The account; none if the gate has not admitted the request.
    pub(crate) account: Option<AccountId>,
    pub(crate) answer: &'r mut Answer,
}

/// The hook of a server.
pub(crate) trait Hook: Send + Sync {
    /// Begins a request before its first check. Returns none if the hook does not act on it.
    fn begin(self: Arc<Self>, arrival: Arrival<'_>, body: &mut RequestBody)
    -> Option<Box<dyn HookedRequest>>;

    /// Returns whether the hook has a page at a path outside the base path.
    fn has_page(&self, path: &str, thread: &ThreadState) -> bool;

    /// Returns the paths of the pages that the hook may have; a part in braces stands for any text.
    fn paths(&self) -> &'static [&'static str];

    /// Completes once requests that wait for an event must end their wait, because the hook waits for the end of the
    /// requests in flight.
    fn interrupts_waits(&self) -> LocalFuture<'_, ()>;

    /// Takes notice that the server begins to stop.
    fn drain_begins(&self);
}

/// The hook's part in one request.
pub(crate) trait HookedRequest {
    /// Returns whether the request may have any host name, because the hook has its own check of the host.
    fn takes_any_name(&self) -> bool;

    /// Acts on the request before the gate, after all checks that need no key. The request is served if there is no answer.
    fn before<'r>(
        &'r mut self,
        arrival: Arrival<'r>,
        cost: Cost,
        body: &'r mut RequestBody,
    ) -> LocalFuture<'r, Result<(), Intercepted>>;

    /// Returns the form of the quota headers of the response; `None` for that of the server.
    fn quota_shape(&self, _: &ThreadState, _: &Parts, _: &RequestHead<'_>) -> Option<Arc<QuotaShape>> {
        None
    }

    /// Acts on the answer to a request that came inside of another one, before the other one is answered with it. Returns the
    /// id of the request; none if nothing is recorded.
    fn within<'r>(&'r mut self, _: Served<'r>) -> LocalFuture<'r, Option<RequestId>> {
        Box::pin(std::future::ready(None))
    }

    /// Takes the answer to a request that came inside of another one, as it is then. [`HookedRequest::after`] gets the
    /// answer that goes out.
    fn seal(&mut self, _status: StatusCode, _headers: &HeaderMap, _body: &[u8]) {}

    /// Acts on the answer. Returns the record that follows the answer until it is sent; none if nothing is recorded. Returns
    /// an error if the connection is to be closed without the answer.
    fn after(
        self: Box<Self>,
        _: Served<'_>,
    ) -> LocalFuture<'_, Result<Option<Box<dyn AnswerRecord>>, Dropped>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// The way in which an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerEnd {
    /// It was sent.
    Sent,
    /// It was cut by its source.
    Cut,
    /// The client had left before.
    Gone,
}

/// The record of an answer while it is sent. If it is dropped before [`AnswerRecord::end`], the client has left.
pub(crate) trait AnswerRecord {
    /// Returns the id of the request. Takes the quota that the answer carries.
    fn id(&mut self, quota: Option<QuotaNote>) -> RequestId;

    /// Takes the status and the headers of the answer. `raw` are lines that bypass the map.
    fn made(&mut self, status: StatusCode, raw: Option<&RawHeaders>, headers: &HeaderMap);

    /// Returns `true` if the answer has no body because its request is a HEAD.
    fn is_head(&self) -> bool;

    /// Takes a part of the body.
    fn body(&mut self, part: &[u8]);

    /// Keeps the whole body until it is sent. It is behind the same pointer as the record, because hyper moves every body
    /// several times.
    fn hold(&mut self, unsent: Bytes);

    /// Returns the body that is kept.
    fn unsent(&self) -> &Bytes;

    /// Takes the body that is kept, which is about to be sent, and the end of the answer.
    fn end_and_send(self: Box<Self>) -> Bytes;

    /// Takes notice that a streaming answer begins.
    fn begin_stream(&mut self);

    /// Takes the end of the answer.
    fn end(self: Box<Self>, end: AnswerEnd);
}
