//! The activity of a connection. The deadlines of the connection are computed from it. The hot path records the
//! activity without reading the clock.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;

use crate::io::offered_stream::{OfferedStream, TakenStream};
use crate::io::raw_headers::RawHeaders;

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No request is open. The beginning of a pipelined request may be in hyper's buffer, which is not visible here.
    /// Until more bytes arrive, the idle deadline applies to such a request. Then the deadline for a head applies.
    Idle,
    /// A part of a request's head has arrived.
    Head,
    /// A request is being answered. The deadlines of the body and of the store bound this phase.
    Busy,
    /// Only a streaming answer is being sent. The connection is not idle; the stall deadline of streams bounds it.
    Streaming,
}

impl Phase {
    /// Returns `true` if the client waits for an answer, or for the rest of an answer.
    pub(crate) const fn is_owed(self) -> bool {
        matches!(self, Self::Busy | Self::Streaming)
    }
}

/// The activity of a connection.
#[derive(Debug)]
pub(crate) struct Activity {
    phase: Cell<Phase>,
    requests: Cell<u64>,
    /// Requests that are being answered: at most one, except with HTTP/2.
    open: Cell<usize>,
    /// Streaming answers that are being sent.
    streams: Cell<usize>,
    /// Requests that wait for an event, or for the end of a planned delay.
    waits: Cell<usize>,
    /// The requests of `waits` that a planned delay of the sandbox holds. They are answered also if the client has left.
    delays: Cell<usize>,
    /// `true` once the client has closed its side during a planned delay. Used with HTTP/1.1 only.
    has_client_closed: Cell<bool>,
    /// The receiver of the news whether the client has taken the last answer.
    delivery: RefCell<Option<DeliveryNotice>>,
    /// `true` once the server is stopping. The tasks of streams are woken when the stop begins. Only an HTTP/2
    /// connection has several such tasks.
    stopping: Cell<bool>,
    /// `true` once the connection ends because the server is stopping and no request has arrived. Used with HTTP/1.1
    /// only.
    ends_idle: Cell<bool>,
    stream_tasks: RefCell<Vec<StreamTask>>,
    /// The stream that the connection may take over from hyper. Used with HTTP/1.1 only.
    offered: RefCell<Option<OfferedStream>>,
    /// `true` if hyper has written all bytes that it had buffered. Used with HTTP/1.1 only.
    is_drained: Cell<bool>,
    stalled: Cell<bool>,
    writes: Cell<u64>,
    /// The number of finished answers that were not passed to h2 yet, and the sum of their bytes. Used with HTTP/2
    /// only.
    pending: Cell<(usize, usize)>,
    /// The instant of the last answer, until it is taken.
    ended: Cell<Option<Instant>>,
    /// The number of the connection in the sandbox's journal; 0 before its first recorded request.
    number: Cell<u64>,
    /// The header lines that bypass hyper.
    pub(crate) raw_headers: RawHeaders,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self {
            phase: Cell::new(Phase::Idle),
            requests: Cell::new(0),
            open: Cell::new(0),
            streams: Cell::new(0),
            waits: Cell::new(0),
            delays: Cell::new(0),
            has_client_closed: Cell::new(false),
            delivery: RefCell::default(),
            stopping: Cell::new(false),
            ends_idle: Cell::new(false),
            stream_tasks: RefCell::default(),
            offered: RefCell::default(),
            is_drained: Cell::new(false),
            stalled: Cell::new(false),
            writes: Cell::new(0),
            pending: Cell::default(),
            ended: Cell::new(None),
            number: Cell::new(0),
            raw_headers: RawHeaders::new(),
        }
    }

    /// Returns the number of the connection, which `next` makes at the first call.
    pub(crate) fn number(&self, next: impl FnOnce() -> u64) -> u64 {
        if self.number.get() == 0 {
            self.number.set(next());
        }
        self.number.get()
    }

    /// The phase, and a number that changes with each request.
    pub(crate) fn phase(&self) -> (Phase, u64) {
        (self.phase.get(), self.requests.get())
    }

    /// `true` while the client does not read the answer, and a number that changes with each write.
    pub(crate) fn stall(&self) -> (bool, u64) {
        (self.stalled.get(), self.writes.get())
    }

    /// Marks a request as being answered until the guard is dropped. The guard is also dropped when the client abandons
    /// the request.
    pub(crate) fn answering(&self) -> AnswerGuard<'_> {
        self.begin();
        AnswerGuard(self)
    }

    pub(crate) fn begin(&self) {
        self.phase.set(Phase::Busy);
        self.requests.set(self.requests.get().wrapping_add(1));
        self.open.set(self.open.get() + 1);
    }

    pub(crate) fn end(&self) {
        let open = self.open.get() - 1;
        self.open.set(open);
        if open == 0 {
            self.phase.set(if self.streams.get() == 0 { Phase::Idle } else { Phase::Streaming });
        }
    }

    /// Counts a request as waiting until the guard is dropped.
    pub(crate) fn waiting(&self) -> WaitGuard<'_> {
        self.waits.set(self.waits.get() + 1);
        WaitGuard(self)
    }

    /// Counts a request as held by a planned delay until the guard is dropped.
    pub(crate) fn delayed(&self) -> DelayGuard<'_> {
        self.delays.set(self.delays.get() + 1);
        DelayGuard(self.waiting())
    }

    /// Returns `true` while a stream is being sent or a request waits. Both take long, so the connection looks whether
    /// the client is still there.
    pub(crate) fn needs_client(&self) -> bool {
        self.streams.get() > 0 || self.waits.get() > 0
    }

    /// Returns `true` if the client is needed for planned delays alone. Such a request continues without its client.
    pub(crate) fn is_only_delayed(&self) -> bool {
        self.streams.get() == 0 && self.waits.get() == self.delays.get()
    }

    /// Records that the client has closed its side. It may have left, or it may still read.
    pub(crate) fn client_closed(&self) {
        self.has_client_closed.set(true);
    }

    /// Returns `true` if the client has closed its side during a planned delay.
    pub(crate) fn has_client_closed(&self) -> bool {
        self.has_client_closed.get()
    }

    /// Asks for a call at the end of the connection. See [`DeliveryNotice`].
    pub(crate) fn notify_of_delivery(&self, notice: DeliveryNotice) {
        *self.delivery.borrow_mut() = Some(notice);
    }

    /// Tells the receiver, if there is one, whether the client has taken the last answer.
    pub(crate) fn delivered(&self, is_taken: bool) {
        let notice = self.delivery.borrow_mut().take();
        if let Some(DeliveryNotice(notice)) = notice {
            notice(is_taken);
        }
    }

    /// Offers a streaming response. hyper has written the head of the response to its buffer.
    pub(crate) fn offer_stream(&self, stream: OfferedStream) {
        *self.offered.borrow_mut() = Some(stream);
        // The buffer is not empty now, because it contains the head.
        self.is_drained.set(false);
    }

    /// Records whether hyper's last write has emptied its buffer.
    pub(crate) fn set_drained(&self, is_drained: bool) {
        self.is_drained.set(is_drained);
    }

    /// Takes over the offered stream, if hyper has written everything except the next chunks of the stream.
    pub(crate) fn take_offered_stream(&self) -> Option<TakenStream> {
        if self.phase.get() != Phase::Streaming || !self.is_drained.get() {
            return None;
        }
        self.offered.borrow_mut().take()?.take()
    }

    /// Tells the sources of all streams that the server is stopping.
    pub(crate) fn stop_streams(&self) {
        self.stopping.set(true);
        for task in self.stream_tasks.borrow().iter() {
            if let StreamTask::Waiting(waker) = task {
                waker.wake_by_ref();
            }
        }
    }

    /// Records that the connection ends because of a stop, and that its client waits for nothing.
    pub(crate) fn end_idle(&self) {
        self.ends_idle.set(true);
    }

    /// Returns `true` if the connection ends because of a stop, and its client waits for nothing.
    pub(crate) fn ends_idle(&self) -> bool {
        self.ends_idle.get()
    }

    /// Counts a finished answer with this many bytes until the guard is dropped.
    pub(crate) fn pending_answer(&self, bytes: usize) -> PendingAnswer<'_> {
        let (count, all) = self.pending.get();
        self.pending.set((count + 1, all + bytes));
        PendingAnswer { activity: self, bytes }
    }

    /// The number of pending answers, and their bytes.
    pub(crate) fn pending_answers(&self) -> (usize, usize) {
        self.pending.get()
    }

    /// Records the instant of an answer.
    pub(crate) fn ended_at(&self, now: Instant) {
        self.ended.set(Some(now));
    }

    /// Takes the instant of the last answer, so that the caller need not read the clock.
    pub(crate) fn take_ended(&self) -> Option<Instant> {
        self.ended.take()
    }

    /// Records that bytes of a request have arrived.
    pub(crate) fn received(&self) {
        if self.phase.get() == Phase::Idle {
            self.phase.set(Phase::Head);
        }
    }

    /// Records the result of a write: progress, or a stall.
    pub(crate) fn wrote<T>(&self, poll: &Poll<io::Result<T>>) {
        self.stalled.set(poll.is_pending());
        if poll.is_ready() {
            self.writes.set(self.writes.get().wrapping_add(1));
        }
    }
}

/// A slot in the list of streams of a connection.
#[derive(Debug)]
enum StreamTask {
    Free,
    Taken,
    Waiting(Waker),
}

/// While this guard exists, a streaming answer counts as being sent.
pub(crate) struct Streaming {
    activity: Rc<Activity>,
    place: usize,
}

impl Streaming {
    pub(crate) fn begin(activity: &Rc<Activity>) -> Self {
        activity.streams.set(activity.streams.get() + 1);
        let mut tasks = activity.stream_tasks.borrow_mut();
        let free = tasks.iter().position(|task| matches!(task, StreamTask::Free));
        let place = free.unwrap_or_else(|| {
            tasks.push(StreamTask::Free);
            tasks.len() - 1
        });
        tasks[place] = StreamTask::Taken;
        Self { activity: Rc::clone(activity), place }
    }

    /// The activity of the connection.
    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Returns `true` if the server is stopping. Otherwise the task is woken when the server begins to stop.
    pub(crate) fn is_stopping(&self, context: &Context<'_>) -> bool {
        let is_stopping = self.activity.stopping.get();
        if !is_stopping {
            let task = &mut self.activity.stream_tasks.borrow_mut()[self.place];
            match task {
                StreamTask::Waiting(waker) => waker.clone_from(context.waker()),
                StreamTask::Free | StreamTask::Taken => {
                    *task = StreamTask::Waiting(context.waker().clone());
                }
            }
        }
        is_stopping
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        let activity = &self.activity;
        activity.stream_tasks.borrow_mut()[self.place] = StreamTask::Free;
        let streams = activity.streams.get() - 1;
        activity.streams.set(streams);
        if streams == 0 && activity.open.get() == 0 {
            activity.requests.set(activity.requests.get().wrapping_add(1));
            activity.phase.set(Phase::Idle);
        }
    }
}

/// While this guard exists, an answer counts as pending: the answer is finished, but h2 does not hold it yet.
pub(crate) struct PendingAnswer<'a> {
    activity: &'a Activity,
    bytes: usize,
}

impl Drop for PendingAnswer<'_> {
    fn drop(&mut self) {
        let (count, all) = self.activity.pending.get();
        self.activity.pending.set((count - 1, all - self.bytes));
    }
}

/// While this guard exists, a request counts as being answered.
pub(crate) struct AnswerGuard<'a>(&'a Activity);

impl Drop for AnswerGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Receives `true` if the client has taken the last answer of the connection, and `false` if it had left. It is dropped
/// without a call if the connection breaks off.
pub(crate) struct DeliveryNotice(pub(crate) Box<dyn FnOnce(bool)>);

impl fmt::Debug for DeliveryNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeliveryNotice")
    }
}

/// While this guard exists, a request counts as held by a planned delay.
pub(crate) struct DelayGuard<'a>(WaitGuard<'a>);

impl Drop for DelayGuard<'_> {
    fn drop(&mut self) {
        let activity = self.0.0;
        activity.delays.set(activity.delays.get() - 1);
    }
}

/// While this guard exists, a request counts as waiting.
pub(crate) struct WaitGuard<'a>(&'a Activity);

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.0.waits.set(self.0.waits.get() - 1);
    }
}
