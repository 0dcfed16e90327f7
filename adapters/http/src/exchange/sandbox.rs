//! The sandbox in the path of a request: planned failures, and the routes of the tester.

mod bodies;
mod event_log;
mod guard;
mod hints;
mod keys;
mod report;
mod request_stream;
mod requests;
pub(crate) mod routes;
mod sink_script;
mod sinks;

use std::net::IpAddr;
use std::time::Duration;

use hyper::header::{ALLOW, HeaderValue, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use petstore_domain::{AccountId, WindowKind};
use petstore_ports::{Cost, api};
use tokio::time::timeout;

use crate::counts::counters::{Decision, RouteLabel};
use crate::exchange::credentials::presented;
use crate::exchange::gate;
use crate::response::answer::Answer;
use crate::response::quota_headers::QuotaNote;
use crate::thread::sandbox::fault_plan::Outcome;
use crate::thread::sandbox::{RequestPermit, SandboxState};
use crate::thread::thread_state::ThreadState;
use crate::wire::error::{ApiError, Code};
use crate::wire::request_head::RequestHead;
use crate::wire::route::Resource;

/// The end of a request because of a planned failure.
pub(crate) enum Interrupted {
    /// The connection closes without a response.
    Dropped,
    /// The planned response, and the quota and the account of the caller.
    Answered { answer: Answer, quota: Option<QuotaNote>, account: Option<AccountId> },
}

/// Lets a request pass after its planned delay, unless a failure is planned for it. A planned status is returned only
/// if the gate admits the request; otherwise the refusal of the gate is returned. The planned status costs as much of
/// the quota as a real response with that status. So a 429 costs nothing.
pub(crate) async fn inject_fault(
    sandbox: &SandboxState,
    thread: &ThreadState,
    client: IpAddr,
    parts: &Parts,
    head: &RequestHead<'_>,
    resource: Option<Resource>,
    cost: Cost,
) -> Result<RequestPermit, Interrupted> {
    let mut cancellation = sandbox.delay_cancellation();
    let resets = cancellation.borrow_and_update().resets;
    let injected = resource
        .and_then(|resource| sandbox.faults().next(&parts.method, RouteLabel::of(&resource).template()));
    let delay = injected.as_ref().map_or(Duration::ZERO, |injected| injected.delay);
    let is_delayed = !delay.is_zero() && !thread.app.is_draining();
    if is_delayed {
        let _ = timeout(delay, cancellation.changed()).await;
    }
    let permit = sandbox.enter().await;
    if is_delayed && cancellation.borrow().resets != resets {
        return Err(Interrupted::Dropped);
    }
    match injected.map_or(Outcome::Served, |injected| injected.end) {
        Outcome::Served => Ok(permit),
        Outcome::Dropped => Err(Interrupted::Dropped),
        Outcome::Answered { code, retry_after } => {
            let (now, mut quota) = (thread.time(), None);
            let key = match presented(head, &parts.headers) {
                Ok(key) => key,
                Err(lack) => {
                    let answer = gate::without_key(&thread.app, client, lack, now, &mut quota).await;
                    return Err(Interrupted::Answered { answer, quota, account: None });
                }
            };
            let is_refusal = code.status() == hyper::StatusCode::TOO_MANY_REQUESTS;
            let cost = if is_refusal { Cost::Nothing } else { cost };
            let call = api::Call { key, address: client, cost, now };
            let admission = match thread.app.api.admit(call).await {
                Ok(admission) => admission,
                Err(refusal) => {
                    if let Some((plan, decision)) = gate::decision(&refusal) {
                        thread.counters.decided(plan, decision);
                    }
                    let answer = gate::refused(refusal, now, &mut quota);
                    return Err(Interrupted::Answered { answer, quota, account: None });
                }
            };
            thread.counters.decided(&admission.plan, Decision::Admitted);
            // The reset time in the quota headers agrees with the planned Retry-After.
            let wait = Duration::from_secs(retry_after.unwrap_or(0));
            let reset_secs = admission.now.plus(wait).as_secs_ceil();
            let note = match code {
                Code::RateLimitExceeded => {
                    QuotaNote::exhausted(&admission.usage, WindowKind::Minute, reset_secs)
                }
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
            let account = Some(admission.account);
            Err(Interrupted::Answered { answer, quota: Some(note), account })
        }
    }
}

/// Returns the planned response, with the headers that the contract requires for its code.
fn planned_error(code: Code, retry_after: Option<u64>) -> Answer {
    let answer = Answer::from(ApiError::new(code, "This failure is planned: see /sandbox/faults."));
    let answer = if code.status() == hyper::StatusCode::UNAUTHORIZED {
        answer.with_header(WWW_AUTHENTICATE, gate::challenge(code))
    } else {
        answer
    };
    match retry_after {
        Some(secs) => answer.with_retry_after(secs),
        None => answer,
    }
}
