//! What happens on a connection, for its deadlines: only written on the hot path, never timed there.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;

use crate::io::raw_headers::RawHeaders;

/// Where a connection stands between two requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Waiting for a request. The beginning of one that came with the end of the one before is in hyper, unseen from
    /// here: the idle deadline bounds it until more of it comes, then that of a head.
    Idle,
    /// Some of a request's head has come.
    Head,
    /// A request is being answered; what it may take is bounded where it is done.
    Busy,
    /// No request is being answered, and a streaming answer is being sent: not idle, and bounded by how long the client
    /// takes nothing of it.
    Streaming,
}

impl Phase {
    /// Tells whether the client is owed an answer, or the rest of one.
    pub(crate) const fn is_owed(self) -> bool {
        matches!(self, Self::Busy | Self::Streaming)
    }
}

/// What happens on a connection.
#[derive(Debug)]
pub(crate) struct Activity {
    phase: Cell<Phase>,
    requests: Cell<u64>,
    /// Requests that are being answered: one at most, but with HTTP/2.
    open: Cell<usize>,
    /// Streaming answers that are being sent.
    streams: Cell<usize>,
    /// Whether the server stops, and the tasks of streams to be woken then: more than one only with HTTP/2.
    stopping: Cell<bool>,
    stream_tasks: RefCell<Vec<StreamTask>>,
    stalled: Cell<bool>,
    writes: Cell<u64>,
    /// Answers, and bytes of them, that were made and are still with us: not where there is one at a time.
    pending: Cell<(usize, usize)>,
    /// When an answer was made, until somebody looks.
    ended: Cell<Option<Instant>>,
    /// The lines of its answers on their way past hyper.
    pub(crate) raw_headers: RawHeaders,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self {
            phase: Cell::new(Phase::Idle),
            requests: Cell::new(0),
            open: Cell::new(0),
            streams: Cell::new(0),
            stopping: Cell::new(false),
            stream_tasks: RefCell::default(),
            stalled: Cell::new(false),
            writes: Cell::new(0),
            pending: Cell::default(),
            ended: Cell::new(None),
            raw_headers: RawHeaders::new(),
        }
    }

    /// Where the connection stands, and a number that is another one when it stood elsewhere in between.
    pub(crate) fn phase(&self) -> (Phase, u64) {
        (self.phase.get(), self.requests.get())
    }

    /// Whether the client takes nothing of the answer, and a number that rises with all it takes.
    pub(crate) fn stall(&self) -> (bool, u64) {
        (self.stalled.get(), self.writes.get())
    }

    /// A request is being answered from here to the guard's end, also if the client gives it up before.
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

    /// The server stops: streams are woken, and their sources end.
    pub(crate) fn stop_streams(&self) {
        self.stopping.set(true);
        for task in self.stream_tasks.borrow().iter() {
            if let StreamTask::Waiting(waker) = task {
                waker.wake_by_ref();
            }
        }
    }

    /// An answer of so many bytes was made, and is still with us until the guard's end.
    pub(crate) fn pending_answer(&self, bytes: usize) -> PendingAnswer<'_> {
        let (count, all) = self.pending.get();
        self.pending.set((count + 1, all + bytes));
        PendingAnswer { activity: self, bytes }
    }

    /// How many such answers there are, and their bytes.
    pub(crate) fn pending_answers(&self) -> (usize, usize) {
        self.pending.get()
    }

    /// An answer was made at this time.
    pub(crate) fn ended_at(&self, now: Instant) {
        self.ended.set(Some(now));
    }

    /// When an answer was made since this was asked last: the clock need not be read again.
    pub(crate) fn take_ended(&self) -> Option<Instant> {
        self.ended.take()
    }

    /// Something of a request has come.
    pub(crate) fn received(&self) {
        if self.phase.get() == Phase::Idle {
            self.phase.set(Phase::Head);
        }
    }

    pub(crate) fn wrote<T>(&self, poll: &Poll<io::Result<T>>) {
        self.stalled.set(poll.is_pending());
        if poll.is_ready() {
            self.writes.set(self.writes.get().wrapping_add(1));
        }
    }
}

/// A place in the list of streams of a connection.
#[derive(Debug)]
enum StreamTask {
    Free,
    Taken,
    Waiting(Waker),
}

/// The time in which a streaming answer is sent.
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

    /// Tells whether the server stops. If not, the task is woken when it does.
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

/// The time in which an answer that was made is with us.
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

/// The time in which a request is answered.
pub(crate) struct AnswerGuard<'a>(&'a Activity);

impl Drop for AnswerGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
