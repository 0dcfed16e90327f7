//! What happens on a connection, for its deadlines: only written on the hot path, never timed there.

use std::cell::Cell;
use std::io;
use std::task::Poll;

use tokio::time::Instant;

use crate::io::raw_headers::Lines;

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
}

/// What happens on a connection.
#[derive(Debug)]
pub(crate) struct Activity {
    phase: Cell<Phase>,
    requests: Cell<u64>,
    /// Requests that are being answered: one at most, but with HTTP/2.
    open: Cell<usize>,
    stalled: Cell<bool>,
    writes: Cell<u64>,
    /// Answers, and bytes of them, that were made and are still with us: not where there is one at a time.
    made: Cell<(usize, usize)>,
    /// When an answer was made, until somebody looks.
    ended: Cell<Option<Instant>>,
    /// The lines of its answers on their way past hyper.
    pub(crate) lines: Lines,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self {
            phase: Cell::new(Phase::Idle),
            requests: Cell::new(0),
            open: Cell::new(0),
            stalled: Cell::new(false),
            writes: Cell::new(0),
            made: Cell::default(),
            ended: Cell::new(None),
            lines: Lines::new(),
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
    pub(crate) fn answering(&self) -> Answering<'_> {
        self.begin();
        Answering(self)
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
            self.phase.set(Phase::Idle);
        }
    }

    /// An answer of so many bytes was made, and is still with us until the guard's end.
    pub(crate) fn making(&self, bytes: usize) -> Making<'_> {
        let (count, all) = self.made.get();
        self.made.set((count + 1, all + bytes));
        Making { activity: self, bytes }
    }

    /// How many such answers there are, and their bytes.
    pub(crate) fn made(&self) -> (usize, usize) {
        self.made.get()
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

/// The time in which an answer that was made is with us.
pub(crate) struct Making<'a> {
    activity: &'a Activity,
    bytes: usize,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        let (count, all) = self.activity.made.get();
        self.activity.made.set((count - 1, all - self.bytes));
    }
}

/// The time in which a request is answered.
pub(crate) struct Answering<'a>(&'a Activity);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
