//! Planned faults: what they do to a request before it is served, and to its answer.

use std::time::Duration;

use hyper::header::{ALLOW, HeaderValue, WWW_AUTHENTICATE};
use petstore_domain::{AccountId, WindowKind};
use petstore_ports::{Cost, api};
use tokio::time::timeout;

use super::answer_changes;
use super::fault_plan::{InjectedFault, Moment, Outcome};
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
    sandbox.faults().next(&arrival.parts.method, RouteLabel::of(&arrival.resource?).template())
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
            Err(answered(&admission, arrival.resource, code, retry_after))
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
    match fault.end {
        Outcome::Dropped => return false,
        // The refusal of a request that was not served stays.
        Outcome::Answered { code, retry_after } if is_admitted => *answer = planned_error(code, retry_after),
        Outcome::Changed(change) => answer_changes::change(answer, change, fault.draw),
        Outcome::Answered { .. } | Outcome::Exhausted(_) | Outcome::Served => {}
    }
    true
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

fn intercepted(answer: Answer, quota: Option<QuotaNote>, account: Option<AccountId>) -> Interrupted {
    Interrupted::Answered(Box::new(Intercepted { answer, quota, account }))
}

/// Answers an admitted request with a planned error. The reset time in the quota headers agrees with the planned
/// `Retry-After`. The error costs as much of the quota as a real one with that status, so a 429 costs nothing.
fn answered(
    admission: &api::Admission<'_>,
    resource: Option<Resource>,
    code: Code,
    retry_after: Option<u64>,
) -> Interrupted {
    let wait = Duration::from_secs(retry_after.unwrap_or(0));
    let reset_secs = admission.now.plus(wait).as_secs_ceil();
    let note = match code {
        Code::RateLimitExceeded => QuotaNote::exhausted(&admission.usage, WindowKind::Minute, reset_secs),
        Code::QuotaExceeded => QuotaNote::exhausted(&admission.usage, WindowKind::Day, reset_secs),
        Code::KeyBanned => QuotaNote::banned(admission.usage.minute.limit, reset_secs),
        _ => QuotaNote::of_account(&admission.usage),
    };
    let answer = planned_error(code, retry_after);
    let answer = match resource {
        Some(resource) if code == Code::MethodNotAllowed => {
            answer.with_header(ALLOW, HeaderValue::from_static(resource.allow()))
        }
        _ => answer,
    };
    intercepted(answer, Some(note), Some(admission.account))
}

/// Returns the planned response, with the headers that the contract requires for its code.
fn planned_error(code: Code, retry_after: Option<u64>) -> Answer {
    let answer = match retry_after {
        Some(secs) => {
            let wait = in_seconds(secs);
            let message = format!("This failure is planned: see /sandbox/faults; retry in {wait}.");
            Answer::retry_in(&ApiError::new(code, message), secs)
        }
        None => ApiError::new(code, "This failure is planned: see /sandbox/faults.").into(),
    };
    if code.status() == hyper::StatusCode::UNAUTHORIZED {
        answer.with_header(WWW_AUTHENTICATE, gate::challenge(code))
    } else {
        answer
    }
}
