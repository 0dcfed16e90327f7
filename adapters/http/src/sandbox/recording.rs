//! The record of one request in the sandbox's journal, from its arrival to the end of its answer.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode, Version};
use petstore_domain::AccountId;
use petstore_request_journal::{
    AnswerOutcome, HeaderLines, Protocol, RecordTicket, RecordedAnswer, RecordedBody, RecordedQuota,
    RecordedRequest, ToolCall, masked, masked_fields, masked_header, masked_target,
};
use tokio::time::Instant;

use super::recorder::RequestRecorder;
use crate::base::body_copy::BodyCopy;
use crate::counts::route_label::RouteLabel;
use crate::exchange::credentials::{API_KEY, presented};
use crate::io::raw_headers::RawHeaders;
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::response::quota_headers::QuotaNote;
use crate::thread::request_id::RequestId;
use crate::thread::shared::App;
use crate::thread::{AnswerEnd, AnswerRecord, Arrival};

/// The record of a request that is being answered. If it is dropped before its end, the client has left.
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact about the request")]
pub(super) struct Recording {
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
    /// `true` if the request has a secret that the headers of its answer may repeat, as `Link` repeats parameters.
    has_secret: bool,
    status: Option<StatusCode>,
    headers: HeaderLines,
    body: BodyCopy,
    /// The body of an answer that is not sent yet. The answer was lost if the record is dropped before.
    unsent: Bytes,
    has_ended: bool,
    /// `true` if the answer is complete, and goes out inside of another one.
    is_sealed: bool,
}

impl Recording {
    /// Adds a request to the journal.
    pub(super) fn begin(
        recorder: &Arc<RequestRecorder>,
        arrival: Arrival<'_>,
        body: &mut RequestBody,
    ) -> Box<Self> {
        let Arrival { thread, activity, client, parts, head, is_secure, resource, .. } = arrival;
        let begun = Instant::now();
        let id = RequestId::of(head, thread);
        let key = presented(head, &parts.headers).ok().and_then(|key| thread.key(key));
        let is_http2 = parts.version == Version::HTTP_2;
        // A proxy's client sends the whole URI. Over HTTP/2 every URI is whole.
        let target: Cow<'_, str> = match parts.uri.path_and_query() {
            Some(path) if is_http2 || parts.uri.scheme().is_none() => path.as_str().into(),
            _ => parts.uri.to_string().into(),
        };
        let shown = masked_target(&target);
        let (headers, is_masked) = masked_lines(parts);
        let has_secret = is_masked || matches!(shown, Cow::Owned(_));
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
            tool_call: parts.extensions.get::<Arc<ToolCall>>().cloned(),
            method: masked_method(&parts.method),
            target: shown.into(),
            route: resource.map(|resource| RouteLabel::of(&resource).template()),
            headers,
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
            has_secret,
            status: None,
            headers: HeaderLines::default(),
            body: BodyCopy::up_to(body_max),
            unsent: Bytes::new(),
            has_ended: false,
            is_sealed: false,
            recorder: Arc::clone(recorder),
        })
    }

    /// Takes what is known once the request is served. `fault` is the planned fault that acted on it.
    pub(super) fn served(
        &mut self,
        account: Option<AccountId>,
        quota: Option<QuotaNote>,
        fault: Option<Box<str>>,
    ) {
        (self.account, self.quota, self.fault) = (account, quota, fault);
    }

    /// Takes an answer that is lost although it was made.
    pub(super) fn lost(mut self: Box<Self>, answer: &Answer) {
        self.take_head(answer.status, Vec::new(), answer.headers.iter().map(|(name, value)| (name, value)));
        if let Some(body) = answer.body.whole() {
            self.body(body);
        }
        self.end_as(AnswerOutcome::Dropped);
    }

    /// Returns the id of the request.
    pub(super) const fn request_id(&self) -> &RequestId {
        &self.id
    }

    /// Takes the whole answer to a request that came inside of another one. Of the answer that goes out, only the end is
    /// recorded.
    pub(super) fn seal(&mut self, status: StatusCode, headers: &HeaderMap, body: &[u8]) {
        self.take_head(status, Vec::new(), headers);
        self.body(body);
        self.is_sealed = true;
    }

    /// Records the end of the answer.
    pub(super) fn end_as(mut self: Box<Self>, outcome: AnswerOutcome) {
        self.has_ended = true;
        self.store(outcome);
    }

    /// Takes the status and the headers of an answer: the lines of some, and the others.
    fn take_head<'h>(
        &mut self,
        status: StatusCode,
        mut lines: Vec<u8>,
        headers: impl IntoIterator<Item = (&'h HeaderName, &'h HeaderValue)>,
    ) {
        if self.is_sealed {
            return;
        }
        for (name, value) in headers {
            HeaderLines::push(&mut lines, name.as_str().as_bytes(), value.as_bytes());
        }
        // The server adds no secret of its own. Most requests have none, and the search is long.
        if self.has_secret
            && let Cow::Owned(shown) = masked_fields(&lines)
        {
            lines = shown;
        }
        (self.status, self.headers) = (Some(status), HeaderLines::of_lines(lines));
    }

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
                limit: quota.window().limit,
                remaining: quota.window().remaining,
                reset: quota.window().reset_secs,
                resource: quota.resource().as_str(),
            }),
            fault: self.fault.clone(),
        };
        self.recorder.answer(self.ticket, answer);
    }
}

impl AnswerRecord for Recording {
    fn id(&mut self, quota: Option<QuotaNote>) -> RequestId {
        self.quota = quota;
        self.id.clone()
    }

    fn made(&mut self, status: StatusCode, raw: Option<&RawHeaders>, headers: &HeaderMap) {
        let bytes = lines_bytes(headers);
        let lines = raw.map_or_else(|| Vec::with_capacity(bytes), |raw| raw.copy(bytes));
        self.take_head(status, lines, headers);
    }

    fn is_head(&self) -> bool {
        self.is_head
    }

    fn body(&mut self, part: &[u8]) {
        if !self.is_sealed {
            self.body.add(part);
        }
    }

    fn hold(&mut self, unsent: Bytes) {
        self.body(&unsent);
        self.unsent = unsent;
    }

    fn unsent(&self) -> &Bytes {
        &self.unsent
    }

    fn end_and_send(mut self: Box<Self>) -> Bytes {
        let unsent = std::mem::take(&mut self.unsent);
        self.end_as(AnswerOutcome::Sent);
        unsent
    }

    fn begin_stream(&mut self) {
        self.store(AnswerOutcome::Streaming);
    }

    fn end(self: Box<Self>, end: AnswerEnd) {
        self.end_as(match end {
            AnswerEnd::Sent => AnswerOutcome::Sent,
            AnswerEnd::Cut => AnswerOutcome::Dropped,
            AnswerEnd::Gone => AnswerOutcome::Gone,
        });
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.has_ended {
            self.store(AnswerOutcome::Gone);
        }
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

/// Returns the headers of a request as lines, without their secrets, and whether one other than the API key had a secret. An
/// answer does not repeat the key.
fn masked_lines(parts: &Parts) -> (HeaderLines, bool) {
    let mut lines = Vec::with_capacity(lines_bytes(&parts.headers));
    let mut has_secret = false;
    for (name, value) in &parts.headers {
        let shown = masked_header(name.as_str(), value.as_bytes());
        has_secret |= matches!(shown, Cow::Owned(_)) && name != API_KEY && name != AUTHORIZATION;
        HeaderLines::push(&mut lines, name.as_str().as_bytes(), &shown);
    }
    (HeaderLines::of_lines(lines), has_secret)
}

/// Returns the number of bytes of headers as lines.
fn lines_bytes(headers: &HeaderMap) -> usize {
    headers
        .iter()
        .map(|(name, value)| HeaderLines::line_bytes(name.as_str().as_bytes(), value.as_bytes()))
        .sum()
}
