//! One request and its response: the checks, the operation, the headers and the log.

pub(crate) mod builtin_endpoints;
pub(crate) mod checks;
pub(crate) mod cors;
pub(crate) mod credentials;
pub(crate) mod finish_response;
pub(crate) mod forwarded;
pub(crate) mod gate;
pub(crate) mod host;
pub(crate) mod operations;
pub(crate) mod outlet;
mod problem;
pub(crate) mod reference;
mod request_log;
pub(crate) mod response_body;

use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use hyper::body::Incoming;
use hyper::header::CONNECTION;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, Version};
use petstore_ports::Cost;
use tokio::time::Instant;

use crate::counts::route_label::RouteLabel;
use crate::exchange::checks::{RequestNotes, run_checks};
use crate::exchange::finish_response::{CommonHeaders, finish_and_record, finish_response};
use crate::exchange::problem::AnswerForm;
use crate::exchange::request_log::{LoggedRequest, observe, report_ignored_values};
use crate::exchange::response_body::ResponseBody;
use crate::io::activity::Activity;
use crate::io::request_body::RequestBody;
use crate::io::socket::BATCHED_WRITE_MAX;
use crate::response::answer::Answer;
use crate::response::body::{Body, Framing};
use crate::response::deprecation::is_deprecated;
use crate::response::quota_headers::QuotaNote;
use crate::thread::request_id::RequestId;
use crate::thread::thread_state::ThreadState;
use crate::thread::{Dropped, Served};
use crate::wire::request_head::RequestHead;

/// The maximum length of a body whose response headers bypass hyper, in bytes. The headers and such a body still fit
/// into one batched write.
const RAW_HEADERS_BODY_MAX: usize = BATCHED_WRITE_MAX / 2;

/// The maximum number of header fields for which an idle connection keeps an allocation. A browser sends about twenty.
const FIELDS_ROOM_MAX: usize = 24;

/// Marks a request that is refused because its HTTP/2 connection has no room for the response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueFull;

/// Answers one request. It is a single future, because each further layer would move the request and the response once
/// more. Steps that a plain read does not need are boxed where they are awaited, because hyper moves the whole future
/// for every request.
///
/// `SECURE` is `true` if the connection uses TLS. The function is compiled once for each value, so that the version
/// without TLS has a single caller and is inlined.
pub(crate) fn exchange<const SECURE: bool>(
    thread: Rc<ThreadState>,
    activity: Rc<Activity>,
    peer: IpAddr,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<ResponseBody>, Dropped>> {
    // The request is split into its parts outside of the future, because an `async fn` would store the request in
    // addition to its parts.
    let (mut parts, incoming) = request.into_parts();
    let mut body = RequestBody::new(incoming);
    async move {
        let answering = activity.answering();
        let thread = &*thread;
        let begun = thread.send_batch.now();
        let _in_flight = thread.counters.request();
        let is_http2 = SECURE && parts.version == Version::HTTP_2;
        if is_http2 {
            host::name_authority(&mut parts);
        }
        let head = RequestHead::read(&parts.headers);
        body.waits(head.expects_continue());
        let mut notes = RequestNotes::default();
        let mut client = peer;
        if !thread.app.settings.trusted_proxies.is_empty() {
            (client, notes.forwarded_origin) =
                forwarded::client_and_origin(peer, &parts.headers, &thread.app.settings);
        }
        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        let checked = {
            // The future is pinned here, because moving it into `catch_panic` would copy it twice.
            let checks =
                pin!(run_checks::<SECURE>(thread, &activity, client, &parts, &head, &mut body, &mut notes));
            catch_panic(checks).await
        };
        let mut answer = checked.unwrap_or_else(|| panicked(thread));
        let hooked = notes.hooked.as_deref();
        let form = AnswerForm::new(thread, &parts, &head, notes.forwarded_origin.as_deref(), hooked, SECURE);
        form.choose(&mut answer, notes.quota.as_ref());
        let mut record = None;
        if let Some(hooked) = notes.hooked.take() {
            let (quota, account) = (notes.quota, notes.account);
            let served = Served { thread, activity: &activity, quota, account, answer: &mut answer };
            record = hooked.after(served).await?;
            // The hook may have replaced the answer by an error.
            form.choose(&mut answer, quota.as_ref());
        }
        if parts.method == Method::HEAD && answer.body.whole().is_none() {
            answer.body = Body::EMPTY;
        }
        let _pending = is_http2.then(|| activity.pending_answer(answer.body.len()));
        if notes.under_base && notes.quota.is_none() {
            // A request that was refused before the gate is not counted. Its response has the quota headers of its
            // address, or none if that quota cannot be read.
            notes.quota = catch_panic(Box::pin(address_quota(thread, client)).as_mut()).await.flatten();
        }
        if let Some(forwarded_origin) = &notes.forwarded_origin {
            report_ignored_values(&thread.app, peer, forwarded_origin, notes.under_base);
        }
        let made = Instant::now();
        let (lives_on, ended) = if head.has_other_coding() {
            // The body has an unknown transfer coding, so its end is ambiguous. The bytes after it could be taken for
            // a smuggled request.
            (false, made)
        } else if body.is_read() {
            (true, made)
        } else {
            // The duration excludes the time for discarding the body, because that time depends on the client alone.
            (Box::pin(body.discard()).await, Instant::now())
        };
        let id = match &mut record {
            Some(record) => record.id(notes.quota),
            None => RequestId::of(&head, thread),
        };
        let route = route_label(&notes, &parts);
        activity.ended_at(ended);
        thread.send_batch.flush_if_due(ended);
        // The time for which the request waited for an event is subtracted, because the client asked for the wait.
        let duration = (made - begun).saturating_sub(notes.waited);
        thread.counters.answered(route, &parts.method, answer.status, duration);
        if let Some(observer) = &thread.app.settings.observer
            && observer.wants(answer.status.as_u16(), duration, answer.fault.is_some())
        {
            let account = notes.account;
            let request = LoggedRequest { parts: &parts, head: &head, client, account, route, duration };
            observe(&**observer, &request, &answer, &id);
        }
        let common = CommonHeaders {
            quota: notes.quota,
            quota_shape: form.quota_shape,
            id,
            origin: cors::reading_origin(&thread.app.cors, parts.uri.path(), &head),
            deprecated: notes.resource.filter(|resource| is_read && is_deprecated(resource)),
            // HTTP/2 has GOAWAY instead, and an HTTP/2 connection stays usable although a body was not read.
            close: !is_http2 && (!lives_on || thread.app.is_draining()),
        };
        if let Body::Stream(stream) = &mut answer.body {
            stream.framing = framing(&parts, common.close);
        }
        // hyper may send a 100 (Continue) before the final status line, and raw headers must follow the final one.
        let is_short = answer.body.whole().is_some_and(|body| body.len() <= RAW_HEADERS_BODY_MAX);
        let may_bypass = !SECURE && !head.expects_continue() && is_short;
        let bypass = if may_bypass && activity.raw_headers.may_wait() {
            Some((&activity.raw_headers, emptied(&mut parts.headers)))
        } else {
            activity.raw_headers.have_none();
            None
        };
        let response = match record {
            None => finish_response(thread, &activity, answer, common, bypass),
            Some(record) => finish_and_record(record, thread, &activity, answer, common, bypass),
        };
        if is_http2 && !lives_on {
            tokio::task::spawn_local(body.linger());
        }
        drop(answering);
        Ok(response)
    }
}

/// Returns the route of a request, for the counters and the log.
fn route_label(notes: &RequestNotes, parts: &Parts) -> RouteLabel {
    match &notes.resource {
        Some(resource) => RouteLabel::of(resource),
        None if notes.under_base => RouteLabel::NONE,
        None => RouteLabel::builtin(parts.uri.path()),
    }
}

/// Counts a panic and returns the response to its request.
#[cold]
fn panicked(thread: &ThreadState) -> Answer {
    thread.app.count_panic();
    Answer::failed("a handler panicked")
}

/// Returns the quota of an address without counting a request; none if it cannot be read.
async fn address_quota(thread: &ThreadState, client: IpAddr) -> Option<QuotaNote> {
    let verdict = thread.app.api.admit_address(client, Cost::Nothing, thread.time()).await;
    verdict.ok().map(|address| QuotaNote::of_address(&address, thread.time()))
}

/// Returns the framing of a streaming answer to this request.
#[cold]
fn framing(request: &Parts, closes: bool) -> Framing {
    if request.version != Version::HTTP_11 {
        return Framing::ByHyper;
    }
    let mut values = request.headers.get_all(CONNECTION).into_iter().filter_map(|value| value.to_str().ok());
    let wants_close = values.any(|list| list.split(',').any(|one| one.trim().eq_ignore_ascii_case("close")));
    Framing::Chunked { closes: closes || wants_close }
}

/// Returns an empty map that reuses the allocation of the request's headers. If the allocation is large, returns a map
/// without one, because hyper keeps the allocation for the connection's next request.
fn emptied(headers: &mut HeaderMap) -> HeaderMap {
    if headers.capacity().max(headers.len()) > FIELDS_ROOM_MAX {
        return HeaderMap::new();
    }
    let mut headers = std::mem::take(headers);
    headers.clear();
    headers
}

/// Runs a future and returns `None` if it panics, so that a panic in a handler fails only one request.
async fn catch_panic<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(move |context| {
        // Nothing sees an inconsistent state: the future is dropped after a panic, and no lock here can be poisoned.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn an_idle_connection_keeps_the_room_of_an_ordinary_request_alone() {
        let request = |fields: usize, name: fn(usize) -> String| {
            let mut headers = HeaderMap::with_capacity(fields);
            for number in 0..fields {
                let name = hyper::header::HeaderName::try_from(name(number)).unwrap();
                headers.append(name, HeaderValue::from_static("x"));
            }
            headers
        };
        let kept = emptied(&mut request(10, |number| format!("x-{number}")));
        assert!(kept.is_empty() && kept.capacity() >= 10);
        assert_eq!(emptied(&mut request(100, |number| format!("x-{number}"))).capacity(), 0);
        let mut same = HeaderMap::new();
        same.extend(request(100, |_| "x-same".to_owned()));
        assert_eq!(emptied(&mut same).capacity(), 0);
    }
}
