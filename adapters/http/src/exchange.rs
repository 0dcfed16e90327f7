//! One request and its answer, in the order of the contract's checks.

pub(crate) mod body;
pub(crate) mod builtin_endpoints;
pub(crate) mod cors;
pub(crate) mod credentials;
pub(crate) mod finish_response;
pub(crate) mod forwarded;
pub(crate) mod gate;
pub(crate) mod host;
pub(crate) mod operations;
pub(crate) mod reference;
pub(crate) mod response_body;
pub(crate) mod sandbox;

use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Version};
use petstore_domain::{AccountId, KeyPrefix, Scope};
use petstore_ports::{Cost, api};
use tokio::time::Instant;

use crate::base::observe::{Exchange, Observer};
use crate::counts::counters;
use crate::counts::counters::{Decision, RouteLabel};
use crate::exchange::body::RequestBody;
use crate::exchange::credentials::{asker, presented};
use crate::exchange::finish_response::{CommonHeaders, RequestId, finish_response};
use crate::exchange::forwarded::Outer;
use crate::exchange::operations::OperationCall;
use crate::exchange::response_body::ResponseBody;
use crate::exchange::sandbox::Interrupted;
use crate::io::activity::Activity;
use crate::io::socket::BATCHED_WRITE_MAX;
use crate::response::answer::Answer;
use crate::response::body::Body;
use crate::response::deprecation::is_deprecated;
use crate::response::quota_headers::QuotaNote;
use crate::thread::shared::{App, Serves};
use crate::thread::thread_state::ThreadState;
use crate::wire;
use crate::wire::builtin_routes::BuiltinRoute;
use crate::wire::error::{ApiError, Code};
use crate::wire::request_head::{RequestHead, bounds};
use crate::wire::route::{self, BodyKind, OperationId, Resource};

/// The longest body whose answer's lines go past hyper: with them it is still gathered with the answers of others.
const RAW_HEADERS_BODY_MAX: usize = BATCHED_WRITE_MAX / 2;

/// Fields that an idle connection keeps room for: a browser's request has some twenty.
const FIELDS_ROOM_MAX: usize = 24;

/// What comes up on the way to an answer, and belongs into its headers or into the log.
#[derive(Default)]
struct Notes {
    /// Whether the request is for an operation of the contract: its answer then carries a quota.
    under_base: bool,
    quota: Option<QuotaNote>,
    resource: Option<Resource>,
    account: Option<AccountId>,
    /// The scheme and host that the client asked, where a trusted proxy is to tell them.
    outer: Option<Box<Outer>>,
    /// Whether the connection is to end without an answer.
    dropped: bool,
}

/// The connection ends without an answer: a tester has planned that.
#[derive(Debug, thiserror::Error)]
#[error("planned: the connection is dropped")]
pub(crate) struct Dropped;

/// A request that may not even wait until there is room for its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueFull;

impl Notes {
    /// Takes in what a planned failure leaves.
    fn interrupt(&mut self, interrupted: Interrupted) -> Answer {
        match interrupted {
            Interrupted::Dropped => {
                self.dropped = true;
                Answer::empty(StatusCode::SERVICE_UNAVAILABLE)
            }
            Interrupted::Answered { answer, quota, account } => {
                (self.quota, self.account) = (quota, account);
                answer
            }
        }
    }
}

/// Answers one request. One future from end to end: each around it would move the request and the answer once more. What a
/// plain read does not need is boxed where it is awaited: hyper moves the whole future, whatever it is used for.
///
/// `SECURE` says whether it came under TLS. Each of the two has code of its own, so that the one in the clear is still
/// called from one place and inlined there.
pub(crate) fn exchange<const SECURE: bool>(
    thread: Rc<ThreadState>,
    activity: Rc<Activity>,
    peer: IpAddr,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<ResponseBody>, Dropped>> {
    // Taken apart out here: an `async fn` would keep its arguments beside what is made of them.
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
        let mut notes = Notes::default();
        let mut client = peer;
        if !thread.app.settings.trusted_proxies.is_empty() {
            (client, notes.outer) = forwarded::told(peer, &parts.headers, &thread.app.settings);
        }
        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        let judged = {
            // Pinned here: moving the future into the barrier would copy it twice.
            let judging =
                pin!(judge::<SECURE>(thread, &activity, client, &parts, &head, &mut body, &mut notes));
            behind_barrier(judging).await
        };
        if notes.dropped {
            return Err(Dropped);
        }
        let mut answer = judged.unwrap_or_else(|| {
            thread.app.count_panic();
            Answer::failed("a handler panicked")
        });
        if parts.method == Method::HEAD && answer.body.whole().is_none() {
            answer.body = Body::EMPTY;
        }
        let _pending = is_http2.then(|| activity.pending_answer(answer.body.len()));
        if notes.under_base && notes.quota.is_none() {
            // Refused before the gate: nothing was counted, and what is left to the address is what can be said.
            // Nothing can be said if that fails too.
            let asked = async { thread.app.api.admit_address(client, Cost::Nothing, thread.time()).await };
            let verdict = behind_barrier(Box::pin(asked).as_mut()).await.and_then(Result::ok);
            notes.quota = verdict.map(|address| QuotaNote::of_address(&address));
        }
        if let Some(outer) = &notes.outer {
            note_outer(&thread.app, peer, outer, notes.under_base);
        }
        let made = Instant::now();
        let (lives_on, ended) = if head.has_other_coding() {
            // Where such a body ends is a matter of opinion: what comes after it may be a request that nobody sent.
            (false, made)
        } else if body.is_read() {
            (true, made)
        } else {
            // For how long a client keeps back what nobody wants says nothing of the server.
            (Box::pin(body.discard()).await, Instant::now())
        };
        let id = RequestId::given(&head).unwrap_or_else(|| RequestId::Made(thread.next_request_id()));
        let route = match &notes.resource {
            Some(resource) => RouteLabel::of(resource),
            None if notes.under_base => RouteLabel::NONE,
            None => RouteLabel::builtin(parts.uri.path()),
        };
        activity.ended_at(ended);
        thread.send_batch.flush_if_due(ended);
        let duration = made - begun;
        thread.counters.answered(route, &parts.method, answer.status, duration);
        if let Some(observer) = &thread.app.settings.observer
            && observer.wants(answer.status.as_u16(), duration, answer.fault.is_some())
        {
            let account = notes.account;
            let asked = Asked { parts: &parts, head: &head, client, account, route, duration };
            observe(&**observer, &asked, &answer, &id);
        }
        let common = CommonHeaders {
            quota: notes.quota,
            id,
            origin: thread.app.cors.allowed_origin(&head),
            deprecated: notes.resource.filter(|resource| is_read && is_deprecated(resource)),
            // A connection that speaks HTTP/2 is told in its own way, and lives on without the rest of a body.
            close: !is_http2 && (!lives_on || thread.app.is_draining()),
        };
        // A client that waits for a 100 may be sent it with the answer, and the lines belong behind the answer's status.
        let is_short = answer.body.whole().is_some_and(|body| body.len() <= RAW_HEADERS_BODY_MAX);
        let may_bypass = !SECURE && !head.expects_continue() && is_short;
        let bypass = if may_bypass && activity.raw_headers.may_wait() {
            Some((&activity.raw_headers, emptied(&mut parts.headers)))
        } else {
            activity.raw_headers.have_none();
            None
        };
        let response = finish_response(thread, &activity, answer, common, bypass);
        if is_http2 && !lives_on {
            tokio::task::spawn_local(body.linger());
        }
        drop(answering);
        Ok(response)
    }
}

/// Counts what is ignored of what a trusted proxy tells, and logs once that links cannot follow one: only for requests of
/// the contract, since a balancer's own probes are forwarded from nowhere.
fn note_outer(app: &App, proxy: IpAddr, outer: &Outer, under_base: bool) {
    if outer.ignored > 0 {
        app.count_ignored_values(outer.ignored);
    }
    if outer.lacks_scheme && under_base {
        app.advise_scheme_lacks(proxy);
    }
}

/// What the log may be told of a request.
struct Asked<'r> {
    parts: &'r Parts,
    head: &'r RequestHead<'r>,
    client: IpAddr,
    account: Option<AccountId>,
    route: RouteLabel,
    duration: Duration,
}

fn observe(observer: &dyn Observer, asked: &Asked<'_>, answer: &Answer, id: &RequestId) {
    // Only of a key that is one: what a stranger sends in its place may be anybody's secret.
    let key = asked.account.and_then(|_| presented(asked.head, &asked.parts.headers).ok());
    let key = key.and_then(|key| str::from_utf8(key.get(..KeyPrefix::LEN)?).ok());
    observer.answered(&Exchange {
        method: counters::method_name(&asked.parts.method),
        route: asked.route.template(),
        status: answer.status.as_u16(),
        request_id: id.as_str(),
        traceparent: asked.parts.headers.get("traceparent").and_then(|value| value.to_str().ok()),
        client: asked.client.to_canonical(),
        account: asked.account,
        key,
        duration: asked.duration,
        fault: answer.fault.as_deref(),
    });
}

/// The checks, in the contract's order; the first that fails answers.
async fn judge<const SECURE: bool>(
    thread: &ThreadState,
    activity: &Activity,
    client: IpAddr,
    parts: &Parts,
    head: &RequestHead<'_>,
    body: &mut RequestBody,
    notes: &mut Notes,
) -> Answer {
    let app = &*thread.app;
    let (is_under, resource) = locate(thread, parts.uri.path());
    notes.under_base = is_under;
    // Before anything is judged: every answer of a deprecated operation says that it is one.
    notes.resource = resource;
    if let Err(answer) = check_bounds::<SECURE>(app, parts, head) {
        return answer;
    }
    // Whoever probes health asks an address, not a name.
    let any_name = !is_under && BuiltinRoute::find(parts.uri.path()).is_some_and(BuiltinRoute::is_probe);
    let authority = match host::authority(parts, head, thread, any_name) {
        Ok(authority) => authority,
        Err(reason) => return ApiError::new(Code::InvalidHost, reason).into(),
    };
    if !is_under {
        if let Some(route) = sandbox::routes::SandboxRoute::find(parts.uri.path(), thread) {
            return Box::pin(sandbox::routes::answer(route, thread, parts, head, body)).await;
        }
        return Box::pin(builtin_endpoints::answer(thread, parts, head)).await;
    }
    if parts.method == Method::OPTIONS {
        return match resource {
            Some(resource) => cors::options(resource.allow(), &app.cors, head, &parts.headers),
            None => cors::preflight_of_nothing(&app.cors, head, &parts.headers)
                .unwrap_or_else(|| not_found().into()),
        };
    }
    if !thread.load_shedder.admits(activity, || asker(head, &parts.headers, client, &thread.known_keys)) {
        app.count_overload();
        return Answer::overloaded();
    }
    let operation = resource.and_then(|resource| resource.operation(&parts.method));
    let cost = if operation == Some(OperationId::GetRateLimit) { Cost::Nothing } else { Cost::One };
    let _permit = match &app.sandbox {
        None => None,
        // Boxed: what only a tester's server does must not make every request's future larger.
        Some(sandbox) => {
            let injection = sandbox::inject_fault(sandbox, thread, client, parts, head, resource, cost);
            match Box::pin(injection).await {
                Ok(permit) => Some(permit),
                Err(interrupted) => return notes.interrupt(interrupted),
            }
        }
    };
    let now = thread.time();
    let key = match presented(head, &parts.headers) {
        Ok(key) => key,
        Err(lack) => return gate::without_key(app, client, lack, now, &mut notes.quota).await,
    };
    let admission = match app.api.admit(api::Call { key, address: client, cost, now }).await {
        Ok(admission) => admission,
        Err(refusal) => {
            if let Some((plan, decision)) = gate::decision(&refusal) {
                thread.counters.decided(plan, decision);
            }
            return gate::refused(refusal, now, &mut notes.quota);
        }
    };
    thread.counters.decided(&admission.plan, Decision::Admitted);
    thread.known_keys.remember(key);
    notes.quota = Some(QuotaNote::of_account(&admission.usage));
    notes.account = Some(admission.account);
    let Some(resource) = resource else { return not_found().into() };
    let Some(operation) = operation else {
        return Answer::not_allowed(resource.allow());
    };
    if !admission.scopes.permits(operation.scope()) {
        let message =
            format!("The API key does not permit this: its scope is {}.", admission.scopes.as_str());
        return ApiError::new(Code::InsufficientScope, message).into();
    }
    if head.has_accept() && !wire::accepts_json(&parts.headers) {
        return ApiError::new(Code::NotAcceptable, "Answers are application/json.").into();
    }
    let body = match operation.takes() {
        BodyKind::Nothing => Bytes::new(),
        takes => match Box::pin(read_body(app, takes, parts, body)).await {
            Ok(body) => body,
            Err(answer) => return answer,
        },
    };
    let outer = notes.outer.as_deref();
    let (is_secure, admission, body) = (SECURE, &admission, &body);
    let call = OperationCall { thread, parts, head, authority, outer, is_secure, admission, body };
    let handled = if operation.scope() == Scope::Read {
        // Made where it runs, so that it is not moved.
        operations::handle(&call, operation, resource).await
    } else {
        let handling = async {
            let handling = pin!(operations::handle(&call, operation, resource));
            thread.wakeups.run(handling).await
        };
        Box::pin(handling).await
    };
    match handled {
        Ok(answer) | Err(answer) => answer,
    }
}

/// Whether a path is the contract's, and what it names there.
fn locate(thread: &ThreadState, path: &str) -> (bool, Option<Resource>) {
    let base = &thread.app.settings.base_path;
    // Under an empty base path everything would be the contract's, the pages beside it too.
    if thread.serves == Serves::Ops || (base.is_empty() && builtin_endpoints::is_page(path, thread)) {
        return (false, None);
    }
    // A path that cannot be decoded names nothing, but what it stands under can be told.
    let decoded = route::decode(path);
    let under = under_base(decoded.as_deref().unwrap_or(path), base);
    (under.is_some(), under.filter(|_| decoded.is_some()).and_then(Resource::find))
}

/// The path under the base path, with its slash at the front; none for a path outside.
fn under_base<'r>(path: &'r str, base: &str) -> Option<&'r str> {
    path.strip_prefix(base).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The bounds of a head, and of those that wait on a connection.
fn check_bounds<const SECURE: bool>(app: &App, parts: &Parts, head: &RequestHead<'_>) -> Result<(), Answer> {
    bounds::check(parts, head)?;
    if SECURE && parts.extensions.get::<QueueFull>().is_some() {
        app.count_overload();
        return Err(Answer::overloaded());
    }
    Ok(())
}

async fn read_body(
    app: &App,
    takes: BodyKind,
    parts: &Parts,
    body: &mut RequestBody,
) -> Result<Bytes, Answer> {
    let is_patch = takes == BodyKind::MergePatch;
    wire::check_content_type(&parts.headers, is_patch).map_err(|unsupported| {
        let answer = Answer::from(unsupported);
        if is_patch { answer.with_header(wire::ACCEPT_PATCH, wire::PATCH_TYPES) } else { answer }
    })?;
    Ok(body.read(app.settings.bounds.body, app.settings.deadlines.body).await?)
}

fn not_found() -> ApiError {
    ApiError::new(Code::NotFound, "There is no such path.")
}

/// An empty map, with the room of a request's unless that is large: hyper keeps it for the connection's next request.
fn emptied(headers: &mut HeaderMap) -> HeaderMap {
    if headers.capacity().max(headers.len()) > FIELDS_ROOM_MAX {
        return HeaderMap::new();
    }
    let mut headers = std::mem::take(headers);
    headers.clear();
    headers
}

/// Runs a future to its end, or to its panic: one handler's panic costs one request.
async fn behind_barrier<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(move |context| {
        // What the panic left behind is dropped with the future; locks here do not poison.
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
