//! The sinks of a sandbox, and the wait until no delivery is due: `/sandbox/sinks`, `/sandbox/sinks/{name}` and
//! `/sandbox/webhooks/settle`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use petstore_ports::SignedRequest;
use petstore_ports::api::DeliveriesLeft;
use petstore_request_journal::{masked, masked_header};
use tokio::time::timeout;

use super::bodies::BODY_MAX;
use super::pieces::{self, Frame};
use super::query::{settle_within, sink_requests};
use super::read_json::read_bytes;
use super::sink_pages::SinkList;
use super::sink_script::sink_script;
use super::sink_store::{Arrival, SINKS_MAX, SinkEnd, SinkSummary, SinkVerdict, TooManySinks};
use super::state::SandboxState;
use crate::io::request_body::RequestBody;
use crate::response::answer::{Answer, Content};
use crate::thread::thread_state::ThreadState;
use crate::wire::error::{ApiError, Code};

/// The prefix of the paths of sinks.
pub(super) const PREFIX: &str = "/sandbox/sinks/";

/// The maximum number of characters of a sink's name.
const NAME_MAX: usize = 64;

/// The time after which a request that a sink does not answer ends. A webhook's attempt ends earlier.
const HANG_MAX: Duration = Duration::from_mins(1);

/// The header that tells how many requests a sink no longer keeps.
const X_DROPPED: HeaderName = HeaderName::from_static("x-dropped");

/// Returns the name of the sink that a path names.
pub(super) fn name_of(path: &str) -> Result<&str, ApiError> {
    let name = path.strip_prefix(PREFIX).unwrap_or_default();
    let is_valid = (1..=NAME_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if is_valid {
        return Ok(name);
    }
    let message =
        "The name of a sink has 1 to 64 characters: letters, digits, hyphens, underscores and dots.";
    Err(ApiError::new(Code::InvalidParameter, message))
}

/// Takes a request like a receiver of webhooks. Returns none if the connection is to be closed without an answer.
pub(super) async fn take(
    thread: &ThreadState,
    sandbox: &SandboxState,
    parts: &Parts,
    body: &mut RequestBody,
) -> Result<Option<Answer>, Answer> {
    let path = parts.uri.path();
    let name = name_of(path)?;
    let body = body.read(BODY_MAX, thread.app.settings.deadlines.body).await?;
    let mut cancellation = sandbox.delay_cancellation();
    cancellation.mark_unchanged();
    let verdict = verdict(sandbox, path, name, &parts.headers, &body).await?;
    let arrival = Arrival {
        at: thread.time(),
        headers: masked_headers(&parts.headers),
        body: match masked(&body) {
            Cow::Owned(shown) => shown.into(),
            Cow::Borrowed(_) => body,
        },
        id: parts.headers.get("webhook-id").map(|id| Bytes::copy_from_slice(id.as_bytes())),
        verdict,
    };
    let (delay, end) =
        sandbox.sinks().take(name, arrival).map_err(|full| Answer::from(ApiError::from(full)))?;
    let pause = if end == SinkEnd::Hung { delay + HANG_MAX } else { delay };
    if !pause.is_zero() && !thread.app.is_draining() {
        let _ = timeout(pause, cancellation.changed()).await;
    }
    Ok(match end {
        SinkEnd::Answered { status, retry_after, redirect, bytes } => {
            Some(answered(status, retry_after, redirect, bytes))
        }
        SinkEnd::Dropped | SinkEnd::Hung => None,
    })
}

async fn verdict(
    sandbox: &SandboxState,
    path: &str,
    name: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<SinkVerdict, Answer> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let request = SignedRequest {
        id: text("webhook-id"),
        timestamp: text("webhook-timestamp"),
        signature: text("webhook-signature"),
        body,
    };
    let secret = sandbox.sinks().secret(name);
    let checked = match sandbox.webhooks() {
        Some(webhooks) => webhooks.check_signature(path, secret.as_ref(), request).await?,
        None => None,
    };
    let unknown = "no webhook has the URL of this sink, and the sink has no secret";
    Ok(checked.map_or(SinkVerdict::Unknown(unknown), SinkVerdict::Checked))
}

/// Returns the headers without their secrets.
fn masked_headers(headers: &HeaderMap) -> Vec<(Bytes, Bytes)> {
    let copy = |(name, value): (&HeaderName, &HeaderValue)| {
        let value = masked_header(name.as_str(), value.as_bytes()).into_owned();
        (Bytes::copy_from_slice(name.as_str().as_bytes()), value.into())
    };
    headers.iter().map(copy).collect()
}

fn answered(
    status: StatusCode,
    retry_after: Option<HeaderValue>,
    redirect: Option<HeaderValue>,
    bytes: usize,
) -> Answer {
    let mut answer = Answer::empty(status);
    answer.headers.extend(retry_after.map(|value| (RETRY_AFTER, value)));
    answer.headers.extend(redirect.map(|value| (LOCATION, value)));
    if bytes > 0 {
        let text = const { HeaderValue::from_static("text/plain; charset=utf-8") };
        let body = vec![b'x'; bytes].into();
        answer = Answer { content: Content::Custom, body, ..answer.with_header(CONTENT_TYPE, text) };
    }
    answer
}

/// Sets the script of a sink.
pub(super) async fn set(
    thread: &ThreadState,
    sandbox: &SandboxState,
    parts: &Parts,
    body: &mut RequestBody,
) -> Result<Answer, Answer> {
    let name = name_of(parts.uri.path())?;
    let bytes = read_bytes(&thread.app, parts, body).await?;
    let read_secret = |text: &str| sandbox.webhooks().and_then(|webhooks| webhooks.read_secret(text));
    let script = sink_script(&bytes, read_secret)?;
    sandbox.sinks().set(name, script).map_err(ApiError::from)?;
    Ok(Answer::empty(StatusCode::NO_CONTENT))
}

/// Returns the requests of a sink, after the wait that the query asks for.
pub(super) async fn read(
    thread: &ThreadState,
    sandbox: &SandboxState,
    parts: &Parts,
) -> Result<Answer, Answer> {
    let name = name_of(parts.uri.path())?;
    let query = sink_requests(parts.uri.query())?;
    if !query.wait.is_zero() && parts.method == Method::GET {
        let enough = sandbox.sinks().wait(name, query.after, query.count);
        let wait = async {
            tokio::select! {
                () = enough => {}
                () = thread.app.drain_begins() => {}
            }
        };
        let _ = timeout(query.wait, wait).await;
    }
    let page = sandbox.sinks().requests(name, query.after);
    let dropped = page.dropped;
    let list = SinkList::new(sandbox.readers(), page);
    let answer = pieces::answer(sandbox.readers(), parts, Frame::array(), list).await?;
    Ok(if dropped == 0 { answer } else { answer.with_header(X_DROPPED, HeaderValue::from(dropped)) })
}

/// Forgets a sink.
pub(super) fn remove(sandbox: &SandboxState, parts: &Parts) -> Result<Answer, Answer> {
    sandbox.sinks().remove(name_of(parts.uri.path())?);
    Ok(Answer::empty(StatusCode::NO_CONTENT))
}

/// Waits until no delivery is due, and returns the deliveries that are left.
pub(super) async fn settle(sandbox: &SandboxState, parts: &Parts) -> Result<Answer, Answer> {
    let within = settle_within(parts.uri.query())?;
    let left = match sandbox.webhooks() {
        Some(webhooks) => webhooks.settle(within).await?,
        None => DeliveriesLeft { is_settled: true, ..DeliveriesLeft::default() },
    };
    Ok(Answer::json(StatusCode::OK, render_left(&left)))
}

impl From<TooManySinks> for ApiError {
    fn from(_: TooManySinks) -> Self {
        let message = format!("The sandbox has {SINKS_MAX} sinks; delete one of them first.");
        Self::new(Code::InvalidParameter, message)
    }
}

/// Renders the list of sinks.
pub(super) fn list(sandbox: &SandboxState) -> Answer {
    let mut text = String::from("[");
    for (place, sink) in sandbox.sinks().summaries().iter().enumerate() {
        text.push_str(if place == 0 { "" } else { "," });
        // Writing to a string does not fail.
        let _ = write_summary(&mut text, sink);
    }
    text.push(']');
    Answer::json(StatusCode::OK, text)
}

/// Writes the counts of a sink. No value needs escaping.
fn write_summary(text: &mut String, sink: &SinkSummary) -> std::fmt::Result {
    let SinkSummary { name, kept, received, verdicts } = sink;
    write!(text, "{{\"name\":\"{name}\",\"count\":{kept},\"received\":{received},\"signatures\":{{")?;
    for (place, (word, count)) in verdicts.iter().enumerate() {
        write!(text, "{}\"{word}\":{count}", if place == 0 { "" } else { "," })?;
    }
    text.write_str("}}")
}

fn render_left(left: &DeliveriesLeft) -> String {
    let mut text = format!("{{\"settled\":{},\"count\":{},\"left\":[", left.is_settled, left.count);
    for (place, delivery) in left.shown.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "{}{{\"webhookId\":\"{}\",\"eventId\":\"{}\",\"attempts\":{},\"nextAttemptAt\":\"{}\"}}",
            if place == 0 { "" } else { "," },
            delivery.webhook,
            delivery.event,
            delivery.attempts,
            delivery.next_attempt_at,
        );
    }
    text.push_str("]}");
    text
}
