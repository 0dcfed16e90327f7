//! A call of a tool: a request of the contract inside of the request to `/mcp`.
//!
//! The request inside passes the checks of every request, so its codes, texts, cursors and entity tags are the same, and so are the
//! quota, the planned failures and the record in the journal.

use std::sync::Arc;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use petstore_request_journal::{ToolCall, masked};

use super::arguments::{Operation, operation};
use super::catalog::Tool;
use super::message::Message;
use super::raw::Raw;
use super::revision::{CLIENT_KEY, Era};
use super::{refused_call, reply};
use crate::exchange::checks::{RequestNotes, run_checks};
use crate::exchange::finish_response::{CommonHeaders, headers_of};
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::response::deprecation::is_deprecated;
use crate::thread::request_id::RequestId;
use crate::thread::{Arrival, HookedRequest, Intercepted, Served};
use crate::wire;
use crate::wire::request_head::RequestHead;

/// The maximum number of characters of a client's name in the journal.
const CLIENT_MAX: usize = 200;

/// The headers of the request to `/mcp` that the request inside does not have, by their names, or by the beginnings of their
/// names up to a hyphen: headers of the body, the answer and the connection, and headers that arguments make.
const LEFT_OUT: [&str; 17] = [
    "accept",
    "accept-",
    "connection",
    "content-",
    "expect",
    "idempotency-key",
    "if-",
    "keep-alive",
    "last-event-id",
    "mcp-",
    "origin",
    "range",
    "sec-",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A call.
pub(super) struct ToolRequest<'c, 'b> {
    pub(super) message: &'c Message<'b>,
    pub(super) id: Raw<'b>,
    pub(super) era: Era,
    pub(super) tool: &'c Tool,
    pub(super) arguments: Option<Raw<'b>>,
}

/// Answers a call. What the operation refuses is a result, so that the model sees it.
pub(super) async fn answer(
    arrival: Arrival<'_>,
    call: &ToolRequest<'_, '_>,
    inside: &mut Option<Box<dyn HookedRequest>>,
) -> Intercepted {
    let shown = |object: &str, is_error| {
        let members = reply::tool_result(object, is_error);
        Answer::json(StatusCode::OK, reply::result(call.id, call.era, &members))
    };
    let operation = match operation(call.tool, call.arguments) {
        Ok(operation) => operation,
        Err(error) => return shown(&text_of(&Answer::from(error)), true).into(),
    };
    let Some((parts, body)) = inner(arrival, call, operation) else {
        return Answer::failed("the arguments of a tool made no request").into();
    };
    let (Intercepted { answer, quota, account }, headers) = run(arrival, &parts, body, inside).await;
    let text = text_of(&answer);
    let answer = match answer.status {
        StatusCode::UNAUTHORIZED => refused_call(&Answer { headers: challenge(&headers), ..answer }, call.id),
        status if status.is_success() => shown(&reply::tool_object(&headers, &text), false),
        // The log has the cause.
        _ => Answer { fault: answer.fault, ..shown(&text, true) },
    };
    Intercepted { answer, quota, account }
}

fn challenge(headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
    let challenge = hyper::header::WWW_AUTHENTICATE;
    headers.get(&challenge).map(|value| (challenge, value.clone())).into_iter().collect()
}

/// Returns the body of an answer, which is JSON or empty.
fn text_of(answer: &Answer) -> String {
    let body = answer.body.whole().map(|body| String::from_utf8_lossy(body).into_owned());
    body.unwrap_or_default()
}

/// Makes the request of a call; `None` if its target is none, which no argument can cause.
fn inner(
    arrival: Arrival<'_>,
    call: &ToolRequest<'_, '_>,
    operation: Operation,
) -> Option<(Parts, RequestBody)> {
    let Operation { target, body, if_match, idempotency_key } = operation;
    let base = &arrival.thread.app.settings.base_path;
    let made = Request::builder().method(call.tool.method.clone()).uri(format!("{base}{target}"));
    let (mut parts, ()) = made.version(arrival.parts.version).body(()).ok()?.into_parts();
    for (name, value) in &arrival.parts.headers {
        if !is_left_out(name.as_str()) {
            parts.headers.append(name, value.clone());
        }
    }
    let content_type = call.tool.content_type.as_ref().and_then(|kind| HeaderValue::try_from(kind).ok());
    for (name, value) in [
        (CONTENT_TYPE, content_type),
        (hyper::header::IF_MATCH, if_match),
        (IDEMPOTENCY_KEY, idempotency_key),
    ] {
        parts.headers.extend(value.map(|value| (name, value)));
    }
    parts.extensions.insert(Arc::new(ToolCall {
        tool: call.tool.name.as_str().into(),
        id: shown(&call.id.scalar().unwrap_or_default()),
        client: client(arrival, call.message).as_deref().map(shown),
    }));
    Some((parts, RequestBody::given(body)))
}

/// Returns whether the request inside does not have a header of the request to `/mcp`.
fn is_left_out(name: &str) -> bool {
    LEFT_OUT.iter().any(|one| if one.ends_with('-') { name.starts_with(one) } else { name == *one })
}

/// Returns the name and the version of the client: those in the message, or else its User-Agent.
fn client(arrival: Arrival<'_>, message: &Message<'_>) -> Option<String> {
    if let Some(info) = message.meta(CLIENT_KEY)
        && let Some(name) = info.get("name").and_then(Raw::text)
    {
        let version = info.get("version").and_then(Raw::text);
        return Some(version.map_or_else(|| name.to_string(), |version| format!("{name}/{version}")));
    }
    arrival.parts.headers.get(USER_AGENT)?.to_str().ok().map(str::to_owned)
}

/// Returns a text of the client as the journal may show it.
fn shown(text: &str) -> Box<str> {
    let masked = masked(text.as_bytes());
    let text = String::from_utf8_lossy(&masked);
    wire::faults::printable(&text, CLIENT_MAX).into()
}

/// Runs the request of a call, as far as its answer. What then happens to the answer on its way is left to the request to
/// `/mcp`, which gets the hook's part in the request inside.
async fn run(
    arrival: Arrival<'_>,
    parts: &Parts,
    mut body: RequestBody,
    inside: &mut Option<Box<dyn HookedRequest>>,
) -> (Intercepted, HeaderMap) {
    let Arrival { thread, activity, client, .. } = arrival;
    let head = RequestHead::read(&parts.headers);
    let mut notes = RequestNotes::default();
    let mut answer = if arrival.is_secure {
        run_checks::<true>(thread, activity, client, parts, &head, &mut body, &mut notes).await
    } else {
        run_checks::<false>(thread, activity, client, parts, &head, &mut body, &mut notes).await
    };
    // The journal shows the body of a request that was refused before it was read.
    body.discard().await;
    let RequestNotes { quota, account, resource, mut hooked, .. } = notes;
    let id = match &mut hooked {
        Some(hooked) => hooked.within(Served { thread, activity, quota, account, answer: &mut answer }).await,
        None => None,
    };
    let is_read = matches!(parts.method, Method::GET | Method::HEAD);
    let of_client = hooked.as_ref().and_then(|hooked| hooked.quota_shape(thread, parts, &head));
    let common = CommonHeaders {
        quota,
        quota_shape: of_client.or_else(|| thread.app.quota_headers.shape()),
        id: id.unwrap_or_else(|| RequestId::of(&head, thread)),
        origin: None,
        deprecated: resource.filter(|resource| is_read && is_deprecated(resource)),
        close: false,
    };
    let headers = headers_of(thread, &mut answer, &common);
    if let Some(hooked) = &mut hooked {
        hooked.seal(answer.status, &headers, answer.body.whole().map_or(&[], |body| &**body));
    }
    *inside = hooked;
    (Intercepted { answer, quota, account }, headers)
}
