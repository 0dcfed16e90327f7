//! The record of one request in the sandbox's journal, from its arrival to the end of its answer.

use std::borrow::Cow;
use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode, Version};
use petstore_domain::AccountId;
use petstore_request_journal::{
    AnswerOutcome, HeaderLines, Protocol, RecordTicket, RecordedAnswer, RecordedBody, RecordedQuota,
    RecordedRequest, masked, masked_fields, masked_header, masked_target,
};
use tokio::time::Instant;

use super::Dropped;
use crate::base::body_copy::BodyCopy;
use crate::counts::route_label::RouteLabel;
use crate::exchange::body::RequestBody;
use crate::exchange::credentials::presented;
use crate::exchange::request_id::RequestId;
use crate::exchange::sandbox;
use crate::io::activity::{Activity, DeliveryNotice};
use crate::response::answer::Answer;
use crate::response::quota_headers::QuotaNote;
use crate::thread::sandbox::fault_plan::InjectedFault;
use crate::thread::sandbox::recorder::RequestRecorder;
use crate::thread::shared::App;
use crate::thread::thread_state::ThreadState;
use crate::wire::request_head::RequestHead;
use crate::wire::route::Resource;

/// A request whose head has arrived.
pub(super) struct Arrival<'r> {
    pub(super) thread: &'r ThreadState,
    pub(super) activity: &'r Activity,
    pub(super) client: IpAddr,
    pub(super) parts: &'r Parts,
    pub(super) head: &'r RequestHead<'r>,
    pub(super) is_secure: bool,
}

/// The record of a request that is being answered. If it is dropped before [`Recording::end`], the client has left.
pub(crate) struct Recording {
    app: Arc<App>,
    recorder: Arc<RequestRecorder>,
    ticket: RecordTicket,
    id: RequestId,
    is_head: bool,
    begun: Instant,
    request_body: Option<Rc<RefCell<BodyCopy>>>,
    account: Option<AccountId>,
    quota: Option<QuotaNote>,
    fault: Option<Box<str>>,
    status: Option<StatusCode>,
    headers: HeaderLines,
    body: BodyCopy,
    /// The body of an answer that is not sent yet. The answer was lost if the record is dropped before.
    unsent: Bytes,
    has_ended: bool,
}

impl Recording {
    /// Adds a request to the journal.
    pub(super) fn begin(
        recorder: &Arc<RequestRecorder>,
        arrival: &Arrival<'_>,
        resource: Option<Resource>,
        body: &mut RequestBody,
    ) -> Box<Self> {
        let Arrival { thread, activity, client, parts, head, is_secure } = *arrival;
        let begun = Instant::now();
        let id = RequestId::of(head, thread);
        let key = presented(head, &parts.headers).ok().and_then(|key| thread.key(key));
        let is_http2 = parts.version == Version::HTTP_2;
        // A proxy's client sends the whole URI. Over HTTP/2 every URI is whole.
        let target: Cow<'_, str> = match parts.uri.path_and_query() {
            Some(path) if is_http2 || parts.uri.scheme().is_none() => path.as_str().into(),
            _ => parts.uri.to_string().into(),
        };
        let ticket = recorder.add(RecordedRequest {
            id: id.as_str().into(),
            at: thread.time(),
            uptime: recorder.uptime(begun),
            client,
            connection: activity.number(|| recorder.next_connection()),
            protocol: match parts.version {
                Version::HTTP_2 => Protocol::Http2,
                Version::HTTP_10 => Protocol::Http10,
                _ => Protocol::Http11,
            },
            is_secure,
            key_prefix: key.map(|key| key.display_prefix()),
            method: masked_method(&parts.method),
            target: masked_target(&target).into(),
            route: resource.map(|resource| RouteLabel::of(&resource).template()),
            headers: masked_lines(parts),
        });
        let body_max = recorder.journal().bounds().body;
        Box::new(Self {
            app: Arc::clone(&thread.app),
            ticket,
            id,
            is_head: parts.method == Method::HEAD,
            begun,
            request_body: body.copied(body_max),
            account: None,
            quota: None,
            fault: None,
            status: None,
            headers: HeaderLines::default(),
            body: BodyCopy::up_to(body_max),
            unsent: Bytes::new(),
            has_ended: false,
            recorder: Arc::clone(recorder),
        })
    }

    /// Returns the id of the request. Takes the quota that the answer carries.
    pub(super) fn id(&mut self, quota: Option<QuotaNote>) -> RequestId {
        self.quota = quota;
        self.id.clone()
    }

    /// Takes the status and the headers of an answer: the lines of some, and the others.
    pub(super) fn made<'h>(
        &mut self,
        status: StatusCode,
        mut lines: Vec<u8>,
        headers: impl IntoIterator<Item = (&'h HeaderName, &'h HeaderValue)>,
    ) {
        for (name, value) in headers {
            HeaderLines::push(&mut lines, name.as_str().as_bytes(), value.as_bytes());
        }
        // Links repeat the parameters of the request.
        if let Cow::Owned(shown) = masked_fields(&lines) {
            lines = shown;
        }
        (self.status, self.headers) = (Some(status), HeaderLines::of_lines(lines));
    }

    /// Takes an answer that is lost although it was made.
    pub(super) fn lost(mut self: Box<Self>, answer: &Answer) {
        self.made(answer.status, Vec::new(), answer.headers.iter().map(|(name, value)| (name, value)));
        if let Some(body) = answer.body.whole() {
            self.body(body);
        }
        self.end(AnswerOutcome::Dropped);
    }

    /// Copies the whole body of an answer, which is not sent yet.
    pub(super) fn hold(&mut self, unsent: Bytes) {
        self.body(&unsent);
        self.unsent = unsent;
    }

    /// Returns the body that is not sent yet.
    pub(crate) fn unsent(&self) -> &Bytes {
        &self.unsent
    }

    /// Returns the body, which is about to be sent, and records the end of the answer.
    #[inline(never)]
    pub(super) fn end_and_send(mut self: Box<Self>) -> Bytes {
        let unsent = std::mem::take(&mut self.unsent);
        self.end(AnswerOutcome::Sent);
        unsent
    }

    /// Copies a part of the answer's body.
    pub(super) fn body(&mut self, part: &[u8]) {
        self.body.add(part);
    }

    /// Returns `true` for a request whose answer has no body.
    pub(super) const fn is_head(&self) -> bool {
        self.is_head
    }

    /// Records that a streaming answer has begun.
    pub(super) fn begin_stream(&mut self) {
        self.store(AnswerOutcome::Streaming);
    }

    /// Records the end of the answer.
    pub(crate) fn end(mut self: Box<Self>, outcome: AnswerOutcome) {
        self.has_ended = true;
        self.store(outcome);
    }

    /// Records the end of the answer once the connection has ended, because the client has closed its side and may have
    /// left.
    pub(crate) fn end_with_connection(self: Box<Self>, activity: &Activity) {
        let end = |is_taken| self.end(if is_taken { AnswerOutcome::Sent } else { AnswerOutcome::Gone });
        activity.notify_of_delivery(DeliveryNotice(Box::new(end)));
    }

    // Apart from its callers, which also serve requests without a record.
    #[inline(never)]
    fn store(&mut self, outcome: AnswerOutcome) {
        // A streaming answer is recorded once more, at its end.
        let is_last = outcome != AnswerOutcome::Streaming;
        let headers = if is_last { std::mem::take(&mut self.headers) } else { self.headers.clone() };
        let recorded = |body: &mut BodyCopy| {
            let body = if is_last { body.take() } else { body.clone() };
            let bytes = body.bytes();
            RecordedBody::new(body.into_first(), bytes)
        };
        let request_body = self.request_body.as_ref().map(|body| recorded(&mut body.borrow_mut()));
        let answer = RecordedAnswer {
            // A sandbox has an adjustable clock, so the time of the thread, which is read less often, may be outdated.
            at: self.app.api.now(),
            duration: self.begun.elapsed(),
            outcome,
            status: self.status.map(|status| status.as_u16()),
            headers,
            request_body: request_body.unwrap_or_default(),
            body: recorded(&mut self.body),
            account: self.account,
            quota: self.quota.map(|quota| RecordedQuota {
                limit: quota.limit,
                remaining: quota.remaining,
                reset: quota.reset_secs,
                resource: quota.resource.as_str(),
            }),
            fault: self.fault.clone(),
        };
        self.recorder.answer(self.ticket, answer);
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.has_ended {
            self.store(AnswerOutcome::Gone);
        }
    }
}

/// Facts about a request that only a sandbox needs.
#[derive(Default)]
pub(super) struct SandboxNotes {
    /// The record in the journal; none if the request is not recorded.
    pub(super) recording: Option<Box<Recording>>,
    /// `true` if a planned failure closes the connection without a response.
    pub(super) dropped: bool,
    /// The planned fault that acted on the request, as text for the journal.
    pub(super) planned: Option<Box<str>>,
    /// `true` if the gate has admitted the request.
    is_admitted: bool,
    /// A planned fault that acts on the answer.
    pub(super) fault: Option<Box<InjectedFault>>,
}

impl SandboxNotes {
    /// Returns the record, with the account and the quota of the caller. Returns the facts themselves if a planned failure
    /// acts on the answer, see [`SandboxNotes::act_after`].
    pub(super) fn without_failure(
        mut self: Box<Self>,
        account: Option<AccountId>,
        quota: Option<QuotaNote>,
    ) -> Result<Option<Box<Recording>>, Box<Self>> {
        if let Some(recording) = &mut self.recording {
            (recording.account, recording.quota, recording.fault) = (account, quota, self.planned.take());
        }
        self.is_admitted = account.is_some();
        if self.dropped || self.fault.is_some() { Err(self) } else { Ok(self.recording) }
    }

    /// Lets the planned failures of the sandbox act on an answer. Returns the record. Returns an error if the connection is
    /// to be closed without the answer.
    pub(super) async fn act_after(
        self: Box<Self>,
        thread: &ThreadState,
        activity: &Activity,
        answer: &mut Answer,
    ) -> Result<Option<Box<Recording>>, Dropped> {
        let Self { recording, dropped, planned: _, is_admitted, fault } = *self;
        if dropped {
            if let Some(recording) = recording {
                recording.end(AnswerOutcome::Dropped);
            }
            return Err(Dropped);
        }
        if let Some(fault) = fault
            && !sandbox::act_after(thread, activity, &fault, is_admitted, answer).await
        {
            if let Some(recording) = recording {
                recording.lost(answer);
            }
            return Err(Dropped);
        }
        Ok(recording)
    }
}

/// Returns the method of a request without its secrets.
fn masked_method(method: &Method) -> Cow<'static, str> {
    match *method {
        Method::GET => "GET".into(),
        Method::POST => "POST".into(),
        Method::PUT => "PUT".into(),
        Method::PATCH => "PATCH".into(),
        Method::DELETE => "DELETE".into(),
        _ => String::from_utf8_lossy(&masked(method.as_str().as_bytes())).into_owned().into(),
    }
}

/// Returns the headers of a request as lines, without their secrets.
fn masked_lines(parts: &Parts) -> HeaderLines {
    let mut lines = Vec::with_capacity(lines_bytes(&parts.headers));
    for (name, value) in &parts.headers {
        let name = name.as_str();
        HeaderLines::push(&mut lines, name.as_bytes(), &masked_header(name, value.as_bytes()));
    }
    HeaderLines::of_lines(lines)
}

/// Returns the number of bytes of headers as lines.
pub(super) fn lines_bytes(headers: &HeaderMap) -> usize {
    headers
        .iter()
        .map(|(name, value)| HeaderLines::line_bytes(name.as_str().as_bytes(), value.as_bytes()))
        .sum()
}
