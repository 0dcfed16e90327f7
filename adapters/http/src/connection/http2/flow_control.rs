//! Bounds on the answers that h2 holds. hyper passes a body to h2 as fast as h2 takes it, even if the client reads
//! nothing.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONTENT_LENGTH, HeaderValue};
use hyper::{Request, Response};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::base::settings::{
    Deadlines, FIELD_SLOT_BYTES, PENDING_ANSWERS_FEW, PENDING_BYTES_MAX, STREAMS_MAX, WAITING_HEADS_MAX,
};
use crate::exchange::response_body::{ResponseBody, StreamCut};
use crate::io::activity::Activity;
use crate::thread::overload::OpenGuard;
use crate::thread::{AnswerEnd, AnswerRecord};

/// The answers of a connection that the client has not read yet, and the requests that wait until the client reads
/// them.
pub(super) struct FlowControl {
    activity: Rc<Activity>,
    /// Bytes of all answers that h2 holds.
    bytes: Cell<usize>,
    count: Cell<usize>,
    /// For each answer, the instant at which the client last read bytes of it, and its kind; `None` in a free slot.
    moved: RefCell<Vec<Option<(Instant, AnswerKind)>>>,
    /// Tickets and tasks of the requests that wait for room, in the order of their arrival.
    waiters: RefCell<VecDeque<(u64, Waker)>>,
    tickets: Cell<u64>,
    /// Bytes of the heads of the waiting requests.
    waiting: Cell<usize>,
    /// Exchanges that have begun and not ended, including those whose client has reset the stream.
    in_progress: Cell<u32>,
    /// Notified when the last exchange has ended.
    quiet: Notify,
    is_over: Cell<bool>,
}

impl FlowControl {
    pub(super) fn new(activity: &Rc<Activity>) -> Self {
        Self {
            activity: Rc::clone(activity),
            bytes: Cell::default(),
            count: Cell::default(),
            moved: RefCell::default(),
            waiters: RefCell::default(),
            tickets: Cell::default(),
            waiting: Cell::default(),
            in_progress: Cell::default(),
            quiet: Notify::new(),
            is_over: Cell::default(),
        }
    }

    /// Ends the connection, so that no further exchange begins. Waits for the exchanges that have begun.
    pub(super) async fn end(&self) {
        self.is_over.set(true);
        while self.in_progress.get() > 0 {
            self.quiet.notified().await;
        }
    }

    /// Finds the answer with the earliest stall deadline. Returns the time for which the answer may stall, and the
    /// instant at which the client last read bytes of it.
    pub(super) fn first_due(&self, deadlines: &Deadlines) -> Option<(Duration, Instant)> {
        let limit_of = |kind| match kind {
            AnswerKind::Whole => deadlines.write_stall,
            AnswerKind::Stream => deadlines.stream_stall,
        };
        let moved = self.moved.borrow();
        let dues = moved.iter().flatten().map(|(moved, kind)| (limit_of(*kind), *moved));
        dues.min_by_key(|(limit, moved)| *moved + *limit)
    }

    /// Waits until the client has read enough for another answer to be produced, and returns `true`. Returns `false`
    /// without waiting if the heads of the waiting requests, including this one, would exceed their bound.
    ///
    /// An answer counts towards the bound on unread bytes only once it is produced. So several requests may be let
    /// through one after the other, and their answers may together exceed that bound.
    pub(super) async fn room<B>(&self, request: &Request<B>) -> bool {
        if self.waiters.borrow().is_empty() && self.has_room() {
            return true;
        }
        let bytes = bytes_of(request);
        if self.waiting.get() + bytes > WAITING_HEADS_MAX {
            return false;
        }
        self.waiting.set(self.waiting.get() + bytes);
        let mut place = RoomWaiter { flow_control: self, ticket: None, bytes };
        poll_fn(|context| place.poll(context)).await;
        true
    }

    fn has_room(&self) -> bool {
        // The bound on exchanges in progress also counts exchanges whose streams the client has reset. So a client that
        // resets its streams cannot have more exchanges than a client that waits for its answers.
        if self.is_over.get() || self.in_progress.get() >= STREAMS_MAX {
            return false;
        }
        // These answers are finished, but h2 does not hold them yet, because the request's body has not ended.
        let (count, bytes) = self.activity.pending_answers();
        self.bytes.get() + bytes < PENDING_BYTES_MAX || self.count.get() + count < PENDING_ANSWERS_FEW
    }

    /// Wakes the first waiting request, if there is room.
    fn wake_first(&self) {
        if let Some((_, first)) = self.waiters.borrow().front().filter(|_| self.has_room()) {
            first.wake_by_ref();
        }
    }

    fn less(&self, bytes: usize, count: usize) {
        self.bytes.set(self.bytes.get() - bytes);
        self.count.set(self.count.get() - count);
        self.wake_first();
    }

    fn add(self: &Rc<Self>, bytes: usize, kind: AnswerKind) -> PendingData {
        let mut moved = self.moved.borrow_mut();
        let place = moved.iter().position(Option::is_none).unwrap_or_else(|| {
            moved.push(None);
            moved.len() - 1
        });
        moved[place] = Some((Instant::now(), kind));
        self.bytes.set(self.bytes.get() + bytes);
        self.count.set(self.count.get() + 1);
        PendingData { flow_control: Rc::clone(self), place, bytes, kind }
    }
}

/// The number of bytes that a waiting head takes in memory: its text, and the slots of hyper's map. A client can fill
/// a slot with one byte on the wire (RFC 7541, section 6.1).
fn bytes_of<B>(request: &Request<B>) -> usize {
    let (uri, headers) = (request.uri(), request.headers());
    let target = uri.path_and_query().map_or(0, |target| target.as_str().len())
        + uri.authority().map_or(0, |authority| authority.as_str().len());
    let text: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    request.method().as_str().len() + target + text + headers.capacity().max(headers.len()) * FIELD_SLOT_BYTES
}

/// A request that waits for room. When it leaves the queue, for any reason, the next request is woken.
struct RoomWaiter<'a> {
    flow_control: &'a FlowControl,
    ticket: Option<u64>,
    /// Bytes of the request's head.
    bytes: usize,
}

impl RoomWaiter<'_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut waiters = self.flow_control.waiters.borrow_mut();
        let ticket = *self.ticket.get_or_insert_with(|| {
            let ticket = self.flow_control.tickets.get();
            self.flow_control.tickets.set(ticket + 1);
            waiters.push_back((ticket, context.waker().clone()));
            ticket
        });
        if waiters.front().is_some_and(|(first, _)| *first == ticket) && self.flow_control.has_room() {
            return Poll::Ready(());
        }
        if let Some((_, waker)) = waiters.iter_mut().find(|(waiting, _)| *waiting == ticket) {
            waker.clone_from(context.waker());
        }
        Poll::Pending
    }
}

impl Drop for RoomWaiter<'_> {
    fn drop(&mut self) {
        self.flow_control.waiters.borrow_mut().retain(|(waiting, _)| Some(*waiting) != self.ticket);
        self.flow_control.waiting.set(self.flow_control.waiting.get() - self.bytes);
        self.flow_control.wake_first();
    }
}

/// While this guard exists, an answer or a chunk counts as held by h2.
pub(super) struct PendingData {
    flow_control: Rc<FlowControl>,
    place: usize,
    bytes: usize,
    kind: AnswerKind,
}

/// The kind of an answer, which determines its stall deadline.
#[derive(Debug, Clone, Copy)]
enum AnswerKind {
    Whole,
    Stream,
}

impl PendingData {
    fn take(&mut self, bytes: usize) {
        self.flow_control.moved.borrow_mut()[self.place] = Some((Instant::now(), self.kind));
        self.bytes -= bytes;
        self.flow_control.less(bytes, 0);
    }
}

impl Drop for PendingData {
    fn drop(&mut self) {
        self.flow_control.moved.borrow_mut()[self.place] = None;
        self.flow_control.less(self.bytes, 1);
    }
}

/// Marks a request as open on its connection, until its answer has been sent or its stream was reset.
pub(super) struct RequestGuard(
    Rc<FlowControl>,
    #[expect(dead_code, reason = "it counts until it is dropped")] OpenGuard,
);

impl RequestGuard {
    pub(super) fn begin(flow_control: &Rc<FlowControl>, open: OpenGuard) -> Self {
        flow_control.activity.begin();
        Self(Rc::clone(flow_control), open)
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.activity.end();
        // If the stream was reset before h2 took the answer, the answer no longer counts towards the pending answers.
        // The first waiting request may then go on.
        self.0.wake_first();
    }
}

/// Marks an exchange as in progress, from its beginning to its end.
pub(super) struct ExchangeGuard(Rc<FlowControl>);

impl ExchangeGuard {
    pub(super) fn begin(flow_control: &Rc<FlowControl>) -> Self {
        flow_control.in_progress.set(flow_control.in_progress.get() + 1);
        Self(Rc::clone(flow_control))
    }
}

impl Drop for ExchangeGuard {
    fn drop(&mut self) {
        let left = self.0.in_progress.get() - 1;
        self.0.in_progress.set(left);
        if left == 0 {
            self.0.quiet.notify_one();
        }
        self.0.wake_first();
    }
}

/// A response body that records how much the client has read.
pub(super) enum TrackedBody {
    /// The body is empty, or h2 has all of its bytes.
    Done,
    Whole {
        bytes: Bytes,
        pending: PendingData,
        request_guard: RequestGuard,
        /// The record of the answer.
        record: Option<Box<dyn AnswerRecord>>,
    },
    /// The request counts as answered once the stream begins. Each chunk is tracked separately.
    Stream { body: ResponseBody, flow_control: Rc<FlowControl> },
}

/// Bytes that h2 holds until the client has read them.
pub(super) struct TrackedChunk {
    bytes: Bytes,
    pending: PendingData,
    _turn: Option<RequestGuard>,
}

impl TrackedBody {
    /// Wraps the body of a response. hyper expects the service to omit the body of a response to HEAD.
    pub(super) fn response(
        response: Response<ResponseBody>,
        is_head: bool,
        request_guard: RequestGuard,
    ) -> Response<Self> {
        let (mut parts, body) = response.into_parts();
        let flow_control = Rc::clone(&request_guard.0);
        let body = match body {
            ResponseBody::Whole(None) | ResponseBody::Recorded(None) => Self::Done,
            ResponseBody::Whole(Some(bytes)) if is_head => {
                parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
                Self::Done
            }
            ResponseBody::Whole(Some(bytes)) => {
                let pending = flow_control.add(bytes.len(), AnswerKind::Whole);
                Self::Whole { bytes, pending, request_guard, record: None }
            }
            ResponseBody::Recorded(Some(record)) => {
                let bytes = record.unsent().clone();
                let pending = flow_control.add(bytes.len(), AnswerKind::Whole);
                Self::Whole { bytes, pending, request_guard, record: Some(record) }
            }
            body @ ResponseBody::Stream(_) => Self::Stream { body, flow_control },
        };
        Response::from_parts(parts, body)
    }
}

impl Body for TrackedBody {
    type Data = TrackedChunk;
    type Error = StreamCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<TrackedChunk>, StreamCut>>> {
        if let Self::Stream { body, flow_control } = &mut *self {
            let flow_control = Rc::clone(flow_control);
            return Pin::new(body).poll_frame(context).map_ok(|frame| {
                frame.map_data(|bytes| {
                    let pending = flow_control.add(bytes.len(), AnswerKind::Stream);
                    TrackedChunk { bytes, pending, _turn: None }
                })
            });
        }
        match std::mem::replace(&mut *self, Self::Done) {
            Self::Whole { bytes, pending, request_guard, record } => {
                if let Some(record) = record {
                    record.end(AnswerEnd::Sent);
                }
                Poll::Ready(Some(Ok(Frame::data(TrackedChunk {
                    bytes,
                    pending,
                    _turn: Some(request_guard),
                }))))
            }
            Self::Done | Self::Stream { .. } => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Done => true,
            Self::Whole { .. } => false,
            Self::Stream { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Done => SizeHint::with_exact(0),
            Self::Whole { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream { body, .. } => body.size_hint(),
        }
    }
}

impl Buf for TrackedChunk {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.pending.take(count);
        self.bytes.advance(count);
    }
}

#[cfg(test)]
mod tests {
    use hyper::Method;
    use hyper::header::HeaderName;

    use super::*;

    #[test]
    fn as_many_heads_of_a_browser_may_wait_as_there_may_be() {
        let mut request = Request::get("https://pets.example/v1/pets?limit=100").body(()).unwrap();
        for number in 0..24 {
            let name = HeaderName::try_from(format!("sec-some-field-{number}")).unwrap();
            let value = HeaderValue::from_static("some forty bytes as they are in the mean");
            request.headers_mut().insert(name, value);
        }
        let bytes = bytes_of(&request);
        assert!(bytes * STREAMS_MAX as usize <= WAITING_HEADS_MAX, "{bytes}");
        let target = "x".repeat(10_000);
        *request.uri_mut() = format!("https://pets.example/{target}").parse().unwrap();
        *request.method_mut() = Method::from_bytes(target.as_bytes()).unwrap();
        assert!(bytes_of(&request) >= bytes + 19_000, "whatever part of it is long");
    }
}
