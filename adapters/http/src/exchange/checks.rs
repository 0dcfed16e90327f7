//! The checks of a request, in the order of the API contract, and the call of its operation.

use std::cell::Cell;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use hyper::http::request::Parts;
use petstore_domain::{AccountId, Scope, Scopes, Timestamp};
use petstore_ports::{Cost, api};

use super::QueueFull;
use crate::counts::counters::Decision;
use crate::exchange::credentials::{client_number, presented};
use crate::exchange::forwarded::ForwardedOrigin;
use crate::exchange::operations::OperationCall;
use crate::exchange::{builtin_endpoints, cors, gate, host, operations};
use crate::io::activity::Activity;
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::response::quota_headers::QuotaNote;
use crate::thread::shared::{App, Serves};
use crate::thread::thread_state::ThreadState;
use crate::thread::{Arrival, HookedRequest, Intercepted};
use crate::wire;
use crate::wire::builtin_routes::BuiltinRoute;
use crate::wire::error::{ApiError, Code};
use crate::wire::request_head::{RequestHead, bounds};
use crate::wire::route::{self, BodyKind, OperationId, Resource};

/// Facts that the checks find out, for the response's headers and for the log.
#[derive(Default)]
pub(crate) struct RequestNotes {
    /// `true` if the path is under the base path, so that the response has quota headers.
    pub(super) under_base: bool,
    pub(crate) quota: Option<QuotaNote>,
    pub(crate) resource: Option<Resource>,
    pub(crate) account: Option<AccountId>,
    /// The scheme and host of the client's own request, as a trusted proxy forwarded them.
    pub(super) forwarded_origin: Option<Box<ForwardedOrigin>>,
    /// The part of the server's hook in the request; none if the server has no hook, or the hook does not act on it.
    pub(crate) hooked: Option<Box<dyn HookedRequest>>,
    /// The time that the request waited for an event. It is not part of the request's duration in log and metrics.
    pub(super) waited: Duration,
}

impl RequestNotes {
    /// Takes what the hook knows of the caller, and returns its answer.
    fn intercept(&mut self, intercepted: Intercepted) -> Answer {
        let Intercepted { answer, quota, account } = intercepted;
        (self.quota, self.account) = (quota, account);
        answer
    }
}

/// Runs the checks in the order of the API contract, then the operation. The first check that fails returns its response.
pub(crate) async fn run_checks<const SECURE: bool>(
    thread: &ThreadState,
    activity: &Activity,
    client: IpAddr,
    parts: &Parts,
    head: &RequestHead<'_>,
    body: &mut RequestBody,
    notes: &mut RequestNotes,
) -> Answer {
    let app = &*thread.app;
    let (is_under, resource) = locate(thread, parts.uri.path());
    // These are set before the first check, because every response of a deprecated operation has the deprecation
    // headers.
    (notes.under_base, notes.resource) = (is_under, resource);
    let arrival = Arrival { thread, activity, client, parts, head, is_secure: SECURE, is_under, resource };
    if let Some(hook) = &app.hook {
        notes.hooked = Arc::clone(hook).begin(arrival, body);
    }
    if let Err(answer) = check_bounds::<SECURE>(app, parts, head) {
        return answer;
    }
    let any_name = !is_under && takes_any_name(parts, notes);
    let authority = match host::authority(parts, head, thread, any_name) {
        Ok(authority) => authority,
        Err(reason) => return ApiError::new(Code::InvalidHost, reason).into(),
    };
    if !is_under {
        return Box::pin(answer_outside(arrival, notes, body)).await;
    }
    if parts.method == Method::OPTIONS {
        return answer_options(app, resource, parts, head);
    }
    if !thread
        .load_shedder
        .admits(activity, || client_number(head, &parts.headers, client, &thread.known_keys))
    {
        app.count_overload();
        return Answer::overloaded();
    }
    let operation = resource.and_then(|resource| resource.operation(&parts.method));
    let cost = if operation == Some(OperationId::GetRateLimit) { Cost::Nothing } else { Cost::One };
    if let Some(hooked) = &mut notes.hooked
        && let Err(intercepted) = hooked.before(arrival, cost, body).await
    {
        return notes.intercept(intercepted);
    }
    let now = thread.time();
    let key = match presented(head, &parts.headers) {
        Ok(key) => key,
        Err(lack) => return gate::without_key(app, client, lack, now, &mut notes.quota).await,
    };
    let admission = match app.api.admit(api::Call { key, address: client, cost, now }).await {
        Ok(admission) => admission,
        Err(refusal) => return refuse(thread, refusal, now, notes),
    };
    thread.counters.decided(&admission.plan, Decision::Admitted);
    thread.known_keys.remember(key);
    notes.quota = Some(QuotaNote::of_account(&admission.usage, admission.now));
    notes.account = Some(admission.account);
    let Some(resource) = resource else { return not_found().into() };
    let Some(operation) = operation else {
        return Answer::not_allowed(resource.allow());
    };
    if let Err(error) = check_permission(operation, admission.scopes, parts, head) {
        return error.into();
    }
    let body = match operation.takes() {
        BodyKind::Nothing => Bytes::new(),
        takes => match Box::pin(read_body(app, takes, parts, body)).await {
            Ok(body) => body,
            Err(answer) => return answer,
        },
    };
    let forwarded_origin = notes.forwarded_origin.as_deref();
    let (is_secure, admission, body) = (SECURE, &admission, &body);
    let call = OperationCall {
        thread,
        activity,
        parts,
        head,
        authority,
        forwarded_origin,
        is_secure,
        admission,
        body,
        waited: Cell::default(),
    };
    let handled = if operation.scope() == Scope::Read {
        // The future is created where it is awaited, so that it is not moved.
        operations::handle(&call, operation, resource).await
    } else {
        let handling = async {
            let handling = pin!(operations::handle(&call, operation, resource));
            thread.wakeups.run(handling).await
        };
        Box::pin(handling).await
    };
    notes.waited = call.waited.get();
    match handled {
        Ok(answer) | Err(answer) => answer,
    }
}

/// Returns whether a request outside of the API may have any host name. A health probe may, because it addresses an IP address.
fn takes_any_name(parts: &Parts, notes: &RequestNotes) -> bool {
    BuiltinRoute::find(parts.uri.path()).is_some_and(BuiltinRoute::is_probe)
        || notes.hooked.as_ref().is_some_and(|hooked| hooked.takes_any_name())
}

/// Answers a request outside the base path: by the hook, or by a page of the server.
async fn answer_outside(arrival: Arrival<'_>, notes: &mut RequestNotes, body: &mut RequestBody) -> Answer {
    if let Some(hooked) = &mut notes.hooked
        && let Err(intercepted) = hooked.before(arrival, Cost::Nothing, body).await
    {
        return notes.intercept(intercepted);
    }
    builtin_endpoints::answer(arrival.thread, arrival.parts, arrival.head).await
}

/// Answers OPTIONS, for any path under the base path.
fn answer_options(app: &App, resource: Option<Resource>, parts: &Parts, head: &RequestHead<'_>) -> Answer {
    match resource {
        Some(resource) => cors::options(resource.allow(), &app.cors, head, parts),
        None => cors::preflight_of_unknown_path(&app.cors, head, parts).unwrap_or_else(|| not_found().into()),
    }
}

/// Counts the decision of the gate about an account, and returns the response to the refused request.
fn refuse(thread: &ThreadState, refusal: api::Refusal, now: Timestamp, notes: &mut RequestNotes) -> Answer {
    if let Some((plan, decision)) = gate::decision(&refusal) {
        thread.counters.decided(plan, decision);
    }
    gate::refused(refusal, now, &mut notes.quota)
}

/// Returns whether a path is under the base path, and the resource that it names there.
fn locate(thread: &ThreadState, path: &str) -> (bool, Option<Resource>) {
    let base = &thread.app.settings.base_path;
    // If the base path is empty, every path is under it, so the built-in endpoints are excluded here.
    if thread.serves == Serves::Ops || (base.is_empty() && builtin_endpoints::is_page(path, thread)) {
        return (false, None);
    }
    // A path that cannot be decoded names no resource, but it may still be under the base path.
    let decoded = route::decode(path);
    let under = under_base(decoded.as_deref().unwrap_or(path), base);
    let resource = under.filter(|_| decoded.is_some()).and_then(Resource::find);
    // A server without webhooks has no paths for them.
    let resource = resource
        .filter(|resource| !matches!(resource, Resource::Webhooks(_)) || thread.app.webhooks.get().is_some());
    (under.is_some(), resource)
}

/// The part of a path after the base path, with its leading slash; `None` for a path that is not under it.
fn under_base<'r>(path: &'r str, base: &str) -> Option<&'r str> {
    path.strip_prefix(base).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Checks the bounds of the head, and of the requests that wait on one HTTP/2 connection.
fn check_bounds<const SECURE: bool>(app: &App, parts: &Parts, head: &RequestHead<'_>) -> Result<(), Answer> {
    bounds::check(parts, head)?;
    if SECURE && parts.extensions.get::<QueueFull>().is_some() {
        app.count_overload();
        return Err(Answer::overloaded());
    }
    Ok(())
}

/// Checks that the key has the operation's scope, and that the client accepts the type of its responses.
#[expect(clippy::inline_always, reason = "the compiler does not follow a mere hint here")]
#[inline(always)]
fn check_permission(
    operation: OperationId,
    granted: Scopes,
    parts: &Parts,
    head: &RequestHead<'_>,
) -> Result<(), ApiError> {
    if !granted.permits(operation.scope()) {
        let (needed, granted) = (operation.scope().as_str(), granted.as_str());
        let message =
            format!("This operation needs the scope {needed}; the API key has the scope {granted}.");
        return Err(ApiError::new(Code::InsufficientScope, message));
    }
    if !head.has_accept() {
        return Ok(());
    }
    let (is_accepted, message) = if operation == OperationId::StreamEvents {
        let message = "The response is text/event-stream; the Accept header must allow it.";
        (wire::accepts_event_stream(&parts.headers), message)
    } else {
        let message = "The response is application/json; the Accept header must allow it.";
        (wire::accepts_json(&parts.headers), message)
    };
    if is_accepted { Ok(()) } else { Err(ApiError::new(Code::NotAcceptable, message)) }
}

/// Reads the body of an operation. No bytes are no body, whatever type the head names: some client libraries send a type
/// with a request that has no data.
async fn read_body(
    app: &App,
    takes: BodyKind,
    parts: &Parts,
    body: &mut RequestBody,
) -> Result<Bytes, Answer> {
    let (bounds, deadline) = (&app.settings.bounds, app.settings.deadlines.body);
    let is_patch = takes == BodyKind::MergePatch;
    match wire::check_content_type(&parts.headers, is_patch) {
        Ok(()) => Ok(body.read(bounds.body, deadline).await?),
        Err(_) if body.ends_at_once(deadline).await? => Ok(Bytes::new()),
        Err(unsupported) if is_patch => {
            Err(Answer::from(unsupported).with_header(wire::ACCEPT_PATCH, wire::PATCH_TYPES))
        }
        Err(unsupported) => Err(unsupported.into()),
    }
}

fn not_found() -> ApiError {
    ApiError::new(Code::NotFound, "This path does not exist; the OpenAPI document lists all paths.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_path_is_a_whole_number_of_segments() {
        let cases = [
            ("/v1/pets", "/v1", Some("/pets")),
            ("/v1", "/v1", Some("")),
            ("/v1x/pets", "/v1", None),
            ("/pets", "/v1", None),
            ("/pets", "", Some("/pets")),
        ];
        for (path, base, expected) in cases {
            assert_eq!(under_base(path, base), expected, "{path} under {base}");
        }
    }
}
