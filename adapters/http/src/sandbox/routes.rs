//! The routes with which a tester controls the sandbox: `/sandbox/reset`, `/sandbox/baseline`, `/sandbox/clock`, `/sandbox/faults`,
//! `/sandbox/quota-headers`, `/sandbox/keys`, `/sandbox/events`, `/sandbox/sinks`, `/sandbox/webhooks`, `/sandbox/webhooks/settle` and
//! `/sandbox/requests`. They need no key and have no quota. The listener that serves `/health` also serves them.

use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use petstore_ports::StoreErrorKind;
use petstore_ports::api::{ClockChange, ClockState, NewTime};
use petstore_request_journal::plain_json;

use super::blocking::blocking;
use super::bodies::{WantedClock, new_key, wanted_clock};
use super::clock_hold::HoldChange;
use super::fault_json::quoted;
use super::read_json::read;
use super::state::SandboxState;
use super::{
    baseline, event_log, faults, guard, keys, query, quota_forms, report, requests, sinks, webhook_states,
};
use crate::exchange::cors;
use crate::io::request_body::RequestBody;
use crate::response::answer::{Answer, Content};
use crate::thread::Arrival;
use crate::thread::shared::Serves;
use crate::thread::thread_state::ThreadState;
use crate::wire::request_head::RequestHead;

/// The number of resets since the start.
const RESETS: HeaderName = HeaderName::from_static("x-resets");

/// The paths of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SandboxRoute {
    Reset,
    Baseline,
    Clock,
    Faults,
    Fault,
    QuotaHeaders,
    Keys,
    Key,
    KeyBan,
    Events,
    Webhooks,
    Sinks,
    Sink,
    Settle,
    Requests,
    RequestArchive,
    RequestStream,
    Request,
    Report,
}

impl SandboxRoute {
    pub(crate) const ALL: [Self; 19] = [
        Self::Reset,
        Self::Baseline,
        Self::Clock,
        Self::Faults,
        Self::Fault,
        Self::QuotaHeaders,
        Self::Keys,
        Self::Key,
        Self::KeyBan,
        Self::Events,
        Self::Webhooks,
        Self::Sinks,
        Self::Sink,
        Self::Settle,
        Self::Requests,
        Self::RequestArchive,
        // Before `Request`, whose path has any name in this place.
        Self::RequestStream,
        Self::Request,
        Self::Report,
    ];

    /// Returns the route that a path names on this listener.
    pub(super) fn find(path: &str, thread: &ThreadState, sandbox: &SandboxState) -> Option<Self> {
        if thread.serves == Serves::Contract {
            return None;
        }
        let has_keys = thread.app.settings.administration.is_some();
        let is_name = |name: &str| !name.contains('/');
        let found = Self::ALL.into_iter().find(|route| match route {
            Self::Baseline => sandbox.port().baseline().is_some() && path == route.path(),
            Self::Keys => has_keys && path == route.path(),
            Self::Webhooks => has_keys && thread.app.webhooks.get().is_some() && path == route.path(),
            Self::Key => has_keys && keys::key_of(path).is_some(),
            Self::KeyBan => has_keys && keys::key_of_ban(path).is_some(),
            Self::Fault => path.strip_prefix(faults::PREFIX).is_some_and(is_name),
            Self::Sink => path.strip_prefix(sinks::PREFIX).is_some_and(is_name),
            Self::Request => path.strip_prefix(requests::PREFIX).is_some_and(is_name),
            _ => route.path() == path,
        });
        found.filter(|route| sandbox.recorder().is_some() || !route.needs_journal())
    }

    /// The paths of all routes.
    pub(super) const PATHS: [&str; Self::ALL.len()] = {
        let mut paths = [""; Self::ALL.len()];
        let mut place = 0;
        while place < paths.len() {
            paths[place] = Self::ALL[place].path();
            place += 1;
        }
        paths
    };

    /// Returns whether the route exists only if the sandbox has a journal.
    const fn needs_journal(self) -> bool {
        matches!(
            self,
            Self::Requests | Self::RequestArchive | Self::RequestStream | Self::Request | Self::Report
        )
    }

    /// Returns the path of the route; a part in braces stands for any text.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Reset => "/sandbox/reset",
            Self::Baseline => "/sandbox/baseline",
            Self::Clock => "/sandbox/clock",
            Self::Faults => "/sandbox/faults",
            Self::Fault => "/sandbox/faults/{id}",
            Self::QuotaHeaders => "/sandbox/quota-headers",
            Self::Keys => "/sandbox/keys",
            Self::Key => "/sandbox/keys/{id}",
            Self::KeyBan => "/sandbox/keys/{id}/ban",
            Self::Events => "/sandbox/events",
            Self::Webhooks => "/sandbox/webhooks",
            Self::Sinks => "/sandbox/sinks",
            Self::Sink => "/sandbox/sinks/{name}",
            Self::Settle => "/sandbox/webhooks/settle",
            Self::Requests => "/sandbox/requests",
            Self::RequestArchive => "/sandbox/requests.har",
            Self::RequestStream => "/sandbox/requests/stream",
            Self::Request => "/sandbox/requests/{id}",
            Self::Report => "/sandbox/report",
        }
    }

    const fn allow(self) -> &'static str {
        match self {
            Self::Reset | Self::Settle => "POST, OPTIONS",
            Self::Clock => "GET, HEAD, POST, DELETE, OPTIONS",
            Self::Fault | Self::Key | Self::KeyBan => "DELETE, OPTIONS",
            Self::QuotaHeaders => "GET, HEAD, PUT, DELETE, OPTIONS",
            Self::Keys => "GET, HEAD, POST, OPTIONS",
            Self::Sinks
            | Self::Events
            | Self::Webhooks
            | Self::RequestArchive
            | Self::RequestStream
            | Self::Request
            | Self::Report => "GET, HEAD, OPTIONS",
            Self::Requests => "GET, HEAD, DELETE, OPTIONS",
            Self::Baseline | Self::Faults | Self::Sink => "GET, HEAD, POST, PUT, DELETE, OPTIONS",
        }
    }
}

/// Runs a route and returns its response; none if the connection is to be closed without one.
pub(super) async fn answer(
    route: SandboxRoute,
    sandbox: &Arc<SandboxState>,
    arrival: Arrival<'_>,
    body: &mut RequestBody,
) -> Option<Answer> {
    let Arrival { thread, parts, head, .. } = arrival;
    let app = &thread.app;
    if parts.method == Method::OPTIONS {
        return Some(cors::options(route.allow(), &app.cors, head, parts));
    }
    // A sink takes webhooks under any host name.
    let guarded = if route == SandboxRoute::Sink && parts.method == Method::POST {
        guard::check_origin(app, parts, head)
    } else {
        guard::check(app, parts, head)
    };
    if let Err(refusal) = guarded {
        return Some(refusal.into());
    }
    if route.needs_journal() {
        return Some(answer_requests(route, thread, sandbox, parts, head).await);
    }
    let done = match (route, &parts.method) {
        (SandboxRoute::Events, &Method::GET | &Method::HEAD) => event_log::list(thread, parts).await,
        (SandboxRoute::Sink, &Method::POST) => match sinks::take(thread, sandbox, parts, body).await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => return None,
            Err(answer) => Err(answer),
        },
        (SandboxRoute::Sink, &Method::GET | &Method::HEAD) => sinks::read(thread, sandbox, parts).await,
        (SandboxRoute::Settle, &Method::POST) => sinks::settle(sandbox, parts).await,
        (SandboxRoute::Reset, &Method::POST) => reset(sandbox, parts).await,
        (SandboxRoute::Faults, _) => faults::answer(app, sandbox, parts, body, route.allow()).await,
        (SandboxRoute::Fault, _) => faults::answer_rule(sandbox, parts, route.allow()),
        _ if let Err(refusal) = faults::no_parameters(parts.uri.query()) => Err(refusal.into()),
        (SandboxRoute::Clock, &Method::GET | &Method::HEAD) => {
            Ok(clock(sandbox.port().clock(), sandbox.clock_hold().key()))
        }
        (SandboxRoute::Clock, &Method::POST) => match read(app, parts, body, wanted_clock).await {
            Ok(wanted) => change_clock(sandbox, wanted).await,
            Err(answer) => Err(answer),
        },
        (SandboxRoute::Clock, &Method::DELETE) => {
            let change = ClockChange { time: Some(NewTime::Machine), freeze: Some(false) };
            change_clock(sandbox, WantedClock { change, hold: HoldChange::End }).await
        }
        (SandboxRoute::Baseline, _) => baseline::answer(app, sandbox, parts, body, route.allow()).await,
        (SandboxRoute::QuotaHeaders, method) if *method != Method::OPTIONS => {
            quota_forms::answer(thread, sandbox.quota_forms(), parts, body, route.allow()).await
        }
        (SandboxRoute::Keys, &Method::GET | &Method::HEAD) => keys::list(thread).await,
        (SandboxRoute::Webhooks, &Method::GET | &Method::HEAD) => webhook_states::list(thread).await,
        (SandboxRoute::Keys, &Method::POST) => match read(app, parts, body, new_key).await {
            Ok(wanted) => keys::create(thread, sandbox, wanted).await,
            Err(answer) => Err(answer),
        },
        (SandboxRoute::Key, &Method::DELETE) => keys::revoke(thread, sandbox, parts).await,
        (SandboxRoute::KeyBan, &Method::DELETE) => keys::lift_ban(thread, parts).await,
        (SandboxRoute::Sinks, &Method::GET | &Method::HEAD) => Ok(sinks::list(sandbox)),
        (SandboxRoute::Sink, &Method::PUT) => sinks::set(thread, sandbox, parts, body).await,
        (SandboxRoute::Sink, &Method::DELETE) => sinks::remove(sandbox, parts),
        _ => Err(Answer::not_allowed(route.allow())),
    };
    match done {
        Ok(answer) | Err(answer) => Some(with_plain_json(answer)),
    }
}

/// Escapes what a terminal would obey, because testers read these answers there. The texts are those of clients. The
/// journal escapes its own texts.
fn with_plain_json(mut answer: Answer) -> Answer {
    if matches!(answer.content, Content::Json | Content::Error)
        && let Some(plain) = answer.body.whole().and_then(|body| plain_json(str::from_utf8(body).ok()?))
    {
        answer.body = plain.into_bytes().into();
    }
    answer
}

/// Runs a route of the journal.
async fn answer_requests(
    route: SandboxRoute,
    thread: &ThreadState,
    sandbox: &SandboxState,
    parts: &Parts,
    head: &RequestHead<'_>,
) -> Answer {
    let Some(recorder) = sandbox.recorder() else { return Answer::empty(StatusCode::NOT_FOUND) };
    let done = match (route, &parts.method) {
        (SandboxRoute::Requests, &Method::DELETE) => requests::clear(recorder, parts),
        (_, method) if !matches!(*method, Method::GET | Method::HEAD) => {
            Err(Answer::not_allowed(route.allow()))
        }
        (SandboxRoute::Requests, _) => requests::list(thread, sandbox, recorder, parts).await,
        (SandboxRoute::RequestArchive, _) => requests::archive(thread, sandbox, recorder, parts).await,
        // A client may have named its request `stream`. Only the stream has the parameter `header`, or none.
        (SandboxRoute::RequestStream, _)
            if parts.uri.query().is_none_or(|query| query.is_empty() || query.starts_with("header=")) =>
        {
            requests::stream(recorder, parts)
        }
        (SandboxRoute::Report, _) => {
            report::report(recorder, parts).await.map(|answer| with_resets(answer, sandbox))
        }
        _ => requests::one(thread, sandbox, recorder, parts, head).await,
    };
    match done {
        Ok(answer) | Err(answer) => answer,
    }
}

/// Resets the shop while no request is in flight. Completes even if the caller disconnects.
async fn reset(sandbox: &Arc<SandboxState>, parts: &Parts) -> Result<Answer, Answer> {
    let keeps_journal = query::keeps_journal(parts.uri.query())?;
    let lock = sandbox.lock_for_reset().await?;
    let owned = Arc::clone(sandbox);
    let _lock = blocking(move || {
        let sandbox = owned;
        let epoch = sandbox.port().new_epoch()?;
        let done = sandbox.port().reset(epoch);
        // If the store cannot tell whether it was reset, the reset is treated as done, so that no earlier entity tag
        // matches a new version. If the reset has not happened, the only effect is that earlier tags no longer match.
        if done.as_ref().err().is_none_or(|error| error.kind() == StoreErrorKind::Indeterminate) {
            sandbox.restart(epoch);
            if let Some(recorder) = sandbox.recorder().filter(|_| !keeps_journal) {
                recorder.clear();
            }
        }
        done.map(|()| lock)
    })
    .await?;
    if let Some(webhooks) = sandbox.webhooks() {
        // A request of a webhook that was deleted may have come to a sink after the sinks were emptied.
        webhooks.shop_was_reset().await;
        sandbox.sinks().clear();
    }
    Ok(with_resets(Answer::empty(StatusCode::NO_CONTENT), sandbox))
}

/// Tells the number of resets, with which a tester notices a reset of another one.
fn with_resets(answer: Answer, sandbox: &SandboxState) -> Answer {
    answer.with_header(RESETS, HeaderValue::from(sandbox.resets()))
}

/// Sets the clock while no request is in flight, so that the time does not change during a request.
async fn change_clock(sandbox: &Arc<SandboxState>, wanted: WantedClock) -> Result<Answer, Answer> {
    let lock = sandbox.lock_for_reset().await?;
    let owned = Arc::clone(sandbox);
    let changed = blocking(move || {
        let _lock = lock;
        owned.clock_hold().change(wanted.hold, || owned.port().set_clock(wanted.change))
    });
    let (state, held_for) = changed.await?;
    if let Some(webhooks) = sandbox.webhooks() {
        webhooks.clock_was_set();
    }
    Ok(clock(state, held_for))
}

fn clock(state: ClockState, held_for: Option<Box<str>>) -> Answer {
    let ClockState { now, frozen } = state;
    let hold = held_for.map_or_else(String::new, |key| format!(",\"freezeFor\":{}", quoted(&key)));
    Answer::json(StatusCode::OK, format!("{{\"now\":\"{now}\",\"frozen\":{frozen}{hold}}}"))
}
