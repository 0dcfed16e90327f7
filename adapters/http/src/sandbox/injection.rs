//! Planned faults: what they do to a request before it is served, and to its answer.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use petstore_domain::{AccountId, Timestamp, WindowKind};
use petstore_ports::{Cost, api};
use petstore_request_journal::ToolCall;
use tokio::time::timeout;

use super::answer_changes;
use super::fault_plan::{InjectedFault, Moment, Outcome};
use super::retry_after::RetryAfter;
use super::rule_scope::{Scope, Via};
use super::state::{RequestPermit, SandboxState};
use crate::counts::counters::Decision;
use crate::counts::route_label::RouteLabel;
use crate::exchange::credentials::presented;
use crate::exchange::gate;
use crate::io::activity::Activity;
use crate::response::answer::Answer;
use crate::response::quota_headers::QuotaNote;
use crate::thread::thread_state::ThreadState;
use crate::thread::{Arrival, Intercepted};
use crate::wire::error::{ApiError, Code};
use crate::wire::in_seconds;
use crate::wire::route::Resource;

/// The end of a request because of a planned failure.
pub(super) enum Interrupted {
    /// The connection closes without a response.
    Dropped,
    /// The planned response.
    Answered(Box<Intercepted>),
}

/// Counts a call of the plan, and returns the fault that acts on it.
pub(super) fn next_fault(sandbox: &SandboxState, arrival: Arrival<'_>) -> Option<InjectedFault> {
    let route = RouteLabel::of(&arrival.resource?).template();
    let is_call = arrival.parts.extensions.get::<Arc<ToolCall>>().is_some();
    let via = if is_call { Via::Mcp } else { Via::Http };
    let is_in = |scope: &Scope| scope.contains(arrival.head, &arrival.parts.headers, via);
    sandbox.faults().next(&arrival.parts.method, route, is_in)
}

/// Lets a request pass after its planned delay, unless a failure is planned for it. Returns the fault that acts after the
/// request was served, if there is one.
pub(super) async fn act_before(
    sandbox: &SandboxState,
    arrival: Arrival<'_>,
    cost: Cost,
    injected: Option<InjectedFault>,
) -> Result<(RequestPermit, Option<InjectedFault>), Interrupted> {
    let thread = arrival.thread;
    let mut cancellation = sandbox.delay_cancellation();
    let resets = cancellation.borrow_and_update().resets;
    let injected = injected.unwrap_or(InjectedFault::NONE);
    let is_after = injected.moment == Moment::After;
    let is_delayed = !is_after && !injected.delay.is_zero() && !thread.app.is_draining();
    if is_delayed {
        let _delay = arrival.activity.delayed();
        let _ = timeout(injected.delay, cancellation.changed()).await;
    }
    let permit = sandbox.enter().await;
    if is_delayed && cancellation.borrow().resets != resets {
        return Err(Interrupted::Dropped);
    }
    match injected.end {
        _ if is_after => Ok((permit, Some(injected))),
        Outcome::Served => Ok((permit, None)),
        Outcome::Dropped => Err(Interrupted::Dropped),
        Outcome::Changed(_) => Ok((permit, Some(injected))),
        Outcome::Exhausted(window) => {
            admit(arrival, Cost::Rest(window)).await?;
            Ok((permit, None))
        }
        Outcome::Answered { code, retry_after } => {
            let is_refusal = code.status() == hyper::StatusCode::TOO_MANY_REQUESTS;
            let cost = if is_refusal { Cost::Nothing } else { cost };
            let admission = admit(arrival, cost).await?;
            thread.counters.decided(&admission.plan, Decision::Admitted);
            let now = sandbox.port().machine_time();
            Err(answered(&admission, arrival.resource, code, &retry_after, now))
        }
    }
}

/// Acts on the answer of a request that was served. Returns whether there is an answer.
pub(super) async fn act_after(
    sandbox: &SandboxState,
    thread: &ThreadState,
    activity: &Activity,
    fault: &InjectedFault,
    is_admitted: bool,
    answer: &mut Answer,
) -> bool {
    if fault.moment == Moment::After && !fault.delay.is_zero() && !thread.app.is_draining() {
        let mut cancellation = sandbox.delay_cancellation();
        cancellation.mark_unchanged();
        let _delay = activity.delayed();
        let _ = timeout(fault.delay, cancellation.changed()).await;
    }
    match &fault.end {
        Outcome::Dropped => return false,
        // The refusal of a request that was not served stays.
        Outcome::Answered { code, retry_after } if is_admitted => {
            *answer = planned_error(*code, retry_after, sandbox.port().machine_time());
        }
        Outcome::Changed(change) => answer_changes::change(answer, *change, fault.draw),
        Outcome::Answered { .. } | Outcome::Exhausted(_) | Outcome::Served => {}
    }
    true
}

/// Asks the gate without counting the request, and returns its refusal as the answer of the request. Otherwise returns
/// the quota and the account of the caller.
pub(super) async fn check_gate(arrival: Arrival<'_>) -> Result<(QuotaNote, AccountId), Interrupted> {
    let admission = admit(arrival, Cost::Nothing).await?;
    Ok((QuotaNote::of_account(&admission.usage, admission.now), admission.account))
}

/// Asks the gate, and returns its refusal as the answer of the request.
async fn admit(arrival: Arrival<'_>, cost: Cost) -> Result<api::Admission<'_>, Interrupted> {
    let Arrival { thread, client, parts, head, .. } = arrival;
    let (now, mut quota) = (thread.time(), None);
    let key = match presented(head, &parts.headers) {
        Ok(key) => key,
        Err(lack) => {
            let answer = gate::without_key(&thread.app, client, lack, now, &mut quota).await;
            return Err(intercepted(answer, quota, None));
        }
    };
    let call = api::Call { key, address: client, cost, now };
    thread.app.api.admit(call).await.map_err(|refusal| {
        if let Some((plan, decision)) = gate::decision(&refusal) {
            thread.counters.decided(plan, decision);
        }
        intercepted(gate::refused(refusal, now, &mut quota), quota, None)
    })
}

/// Ends an admitted request with an error.
pub(super) fn refused(error: ApiError, caller: (QuotaNote, AccountId)) -> Interrupted {
    intercepted(error.into(), Some(caller.0), Some(caller.1))
}

fn intercepted(answer: Answer, quota: Option<QuotaNote>, account: Option<AccountId>) -> Interrupted {
    Interrupted::Answered(Box::new(Intercepted { answer, quota, account }))
}

/// Answers an admitted request with a planned error. The reset time in the quota headers agrees with the planned
/// `Retry-After`. The error costs as much of the quota as a real one with that status, so a 429 costs nothing.
fn answered(
    admission: &api::Admission<'_>,
    resource: Option<Resource>,
    code: Code,
    retry_after: &RetryAfter,
    machine_time: Timestamp,
) -> Interrupted {
    let wait = Duration::from_secs(retry_after.seconds(machine_time).unwrap_or(0));
    let (usage, now) = (&admission.usage, admission.now);
    let until = now.plus(wait);
    let note = match code {
        Code::RateLimitExceeded => QuotaNote::exhausted(usage, WindowKind::Minute, until, now),
        Code::QuotaExceeded => QuotaNote::exhausted(usage, WindowKind::Day, until, now),
        Code::KeyBanned => QuotaNote::banned([usage.minute.limit, usage.day.limit], until, now),
        _ => QuotaNote::of_account(usage, now),
    };
    let answer = planned_error(code, retry_after, machine_time);
    let answer = match resource {
        Some(resource) if code == Code::MethodNotAllowed => {
            answer.with_header(ALLOW, HeaderValue::from_static(resource.allow()))
        }
        _ => answer,
    };
    intercepted(answer, Some(note), Some(admission.account))
}

/// Returns the planned response, with the headers that the contract requires for its code.
fn planned_error(code: Code, retry_after: &RetryAfter, machine_time: Timestamp) -> Answer {
    let secs = retry_after.seconds(machine_time);
    let message = match secs {
        Some(secs) => {
            let wait = in_seconds(secs);
            format!("This failure is planned: see /sandbox/faults; retry in {wait}.").into()
        }
        None => Cow::Borrowed("This failure is planned: see /sandbox/faults."),
    };
    let answer = Answer::planned(&ApiError::new(code, message), secs);
    let answer = match retry_after_value(retry_after, machine_time) {
        Some(value) => answer.with_header(RETRY_AFTER, value),
        None => answer,
    };
    if code.status() == hyper::StatusCode::UNAUTHORIZED {
        answer.with_header(WWW_AUTHENTICATE, gate::challenge(code))
    } else {
        answer
    }
}

/// Returns the value of `Retry-After`. A date is relative to the machine's clock, as the `Date` header is.
fn retry_after_value(retry_after: &RetryAfter, machine_time: Timestamp) -> Option<HeaderValue> {
    match retry_after {
        RetryAfter::None => None,
        RetryAfter::Seconds(secs) => Some(HeaderValue::from(*secs)),
        RetryAfter::Text(text) => HeaderValue::from_str(text).ok(),
        RetryAfter::Date(distance) => {
            let secs = machine_time.as_secs().checked_add_signed(*distance)?;
            let date = UNIX_EPOCH.checked_add(Duration::from_secs(secs))?;
            HeaderValue::from_str(&httpdate::fmt_http_date(date)).ok()
        }
    }
}
