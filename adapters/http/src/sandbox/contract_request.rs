//! A request under the base path: its planned fault, and its record in the journal.

use std::sync::Arc;

use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use petstore_ports::Cost;
use petstore_request_journal::AnswerOutcome;

use super::clock_hold::asks_to_wait;
use super::fault_plan::{BodyFault, InjectedFault, Outcome};
use super::injection::{self, Interrupted};
use super::preference::{PREFER, PREFERENCE_APPLIED, Preferred, preferred};
use super::recording::Recording;
use super::state::{RequestPermit, SandboxState};
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::response::quota_headers::QuotaShape;
use crate::thread::request_id::RequestId;
use crate::thread::thread_state::ThreadState;
use crate::thread::{AnswerRecord, Arrival, Dropped, HookedRequest, Intercepted, LocalFuture, Served};
use crate::wire::request_head::RequestHead;

/// A request under the base path of a sandbox.
pub(super) struct ContractRequest {
    /// Keeps a reset waiting until the request is served, or until its client has left. It is dropped before the record.
    permit: Option<RequestPermit>,
    /// The record in the journal; none if there is no journal.
    recording: Option<Box<Recording>>,
    sandbox: Arc<SandboxState>,
    /// `true` if the clock was held for the client when the request came.
    is_held: bool,
    /// The planned fault that acted on the request, as text for the journal.
    planned: Option<Box<str>>,
    /// `true` if a planned failure closes the connection without a response.
    is_dropped: bool,
    /// A planned fault that acts on the answer.
    fault: Option<InjectedFault>,
    /// The preferences of the request that were applied.
    applied: Option<HeaderValue>,
}

impl ContractRequest {
    /// Adds the request to the journal.
    pub(super) fn begin(sandbox: Arc<SandboxState>, arrival: Arrival<'_>, body: &mut RequestBody) -> Self {
        let recording = sandbox.recorder().map(|recorder| Recording::begin(recorder, arrival, body));
        let is_held = sandbox.clock_hold().is_for(arrival.head, &arrival.parts.headers);
        Self {
            permit: None,
            recording,
            sandbox,
            is_held,
            planned: None,
            is_dropped: false,
            fault: None,
            applied: None,
        }
    }
}

impl ContractRequest {
    /// Returns the fault of the request: the one that it asks for itself, after the gate, or else the one of the plan. The
    /// rules of the plan do not count a request that asks for a fault.
    async fn fault_of(&mut self, arrival: Arrival<'_>) -> Result<Option<InjectedFault>, Interrupted> {
        if arrival.parts.headers.contains_key(PREFER) {
            match preferred(&arrival.parts.headers) {
                Ok(None) => {}
                Ok(Some(Preferred { fault, applied })) => {
                    injection::check_gate(arrival).await?;
                    self.planned = Some(format!("prefer, {fault}").into());
                    self.applied = Some(applied);
                    return Ok(Some(fault));
                }
                Err(error) => {
                    return Err(injection::refused(error, injection::check_gate(arrival).await?));
                }
            }
        }
        let fault = injection::next_fault(&self.sandbox, arrival);
        self.planned = fault.as_ref().map(|fault| fault.to_string().into());
        Ok(fault)
    }
}

impl HookedRequest for ContractRequest {
    fn takes_any_name(&self) -> bool {
        false
    }

    fn before<'r>(
        &'r mut self,
        arrival: Arrival<'r>,
        cost: Cost,
        body: &'r mut RequestBody,
    ) -> LocalFuture<'r, Result<(), Intercepted>> {
        Box::pin(async move {
            let acted = match self.fault_of(arrival).await {
                Ok(fault) => injection::act_before(&self.sandbox, arrival, cost, fault).await,
                Err(interrupted) => Err(interrupted),
            };
            match acted {
                Ok((permit, fault)) => {
                    (self.permit, self.fault) = (Some(permit), fault);
                    Ok(())
                }
                Err(Interrupted::Dropped) => {
                    self.is_dropped = true;
                    // The journal shows the body of the request whose answer is lost.
                    body.discard().await;
                    Err(Answer::empty(StatusCode::SERVICE_UNAVAILABLE).into())
                }
                Err(Interrupted::Answered(intercepted)) => Err(*intercepted),
            }
        })
    }

    fn quota_shape(
        &self,
        thread: &ThreadState,
        parts: &Parts,
        head: &RequestHead<'_>,
    ) -> Option<Arc<QuotaShape>> {
        self.sandbox.quota_forms().shape(thread.app.quota_headers.form(), head, &parts.headers)
    }

    fn within<'r>(&'r mut self, served: Served<'r>) -> LocalFuture<'r, Option<RequestId>> {
        Box::pin(async move {
            // The failures of a connection act on the answer that goes out.
            let is_of_answer = |fault: &mut InjectedFault| {
                matches!(fault.end, Outcome::Answered { .. } | Outcome::Changed(BodyFault::Grown))
            };
            if let Some(fault) = self.fault.take_if(is_of_answer) {
                let Served { thread, activity, account, answer, .. } = served;
                let is_admitted = account.is_some();
                injection::act_after(&self.sandbox, thread, activity, &fault, is_admitted, answer).await;
            }
            self.recording.as_ref().map(|recording| recording.request_id().clone())
        })
    }

    fn seal(&mut self, status: StatusCode, headers: &HeaderMap, body: &[u8]) {
        if let Some(recording) = self.recording.as_mut().filter(|_| !self.is_dropped) {
            recording.seal(status, headers, body);
        }
    }

    fn after(
        self: Box<Self>,
        served: Served<'_>,
    ) -> LocalFuture<'_, Result<Option<Box<dyn AnswerRecord>>, Dropped>> {
        Box::pin(async move {
            let Self { permit, mut recording, sandbox, is_held, planned, is_dropped, fault, applied } = *self;
            let has_failed = planned.is_some();
            // The request is served, so a reset need not wait for a planned delay of its answer.
            drop(permit);
            if let Some(recording) = &mut recording {
                recording.served(served.account, served.quota, planned);
            }
            if is_held && (is_dropped || asks_to_wait(served.answer, served.quota.as_ref(), has_failed)) {
                sandbox.release_clock();
            }
            if is_dropped {
                if let Some(recording) = recording {
                    recording.end_as(AnswerOutcome::Dropped);
                }
                return Err(Dropped);
            }
            let answer = served.answer;
            if let Some(applied) = applied {
                answer.headers.push((PREFERENCE_APPLIED, applied));
            }
            if let Some(fault) = fault {
                let is_admitted = served.account.is_some();
                let (thread, activity) = (served.thread, served.activity);
                if !injection::act_after(&sandbox, thread, activity, &fault, is_admitted, answer).await {
                    if let Some(recording) = recording {
                        recording.lost(answer);
                    }
                    return Err(Dropped);
                }
            }
            Ok(recording.map(|recording| recording as Box<dyn AnswerRecord>))
        })
    }
}
