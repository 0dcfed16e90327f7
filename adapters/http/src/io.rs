//! The socket under hyper, and under TLS: notes what happens on it, and closes it so that the last answer arrives.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::settings::{DRAIN_TIME, LINGER_MAX};

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

/// What happens on a connection, for its deadlines. Only written on the hot path, never timed there.
#[derive(Debug)]
pub(crate) struct Activity {
    phase: Cell<Phase>,
    requests: Cell<u64>,
    /// Requests that are being answered: one at most, but with HTTP/2.
    open: Cell<usize>,
    stalled: Cell<bool>,
    writes: Cell<u64>,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self {
            phase: Cell::new(Phase::Idle),
            requests: Cell::new(0),
            open: Cell::new(0),
            stalled: Cell::new(false),
            writes: Cell::new(0),
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

    /// What has come so far was no request.
    pub(crate) fn settle(&self) {
        self.phase.set(Phase::Idle);
    }

    fn received(&self) {
        if self.phase.get() == Phase::Idle {
            self.phase.set(Phase::Head);
        }
    }

    fn wrote<T>(&self, poll: &Poll<io::Result<T>>) {
        self.stalled.set(poll.is_pending());
        if poll.is_ready() {
            self.writes.set(self.writes.get().wrapping_add(1));
        }
    }
}

/// The time in which a request is answered.
pub(crate) struct Answering<'a>(&'a Activity);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A stream that carries bytes both ways, as a connection has one to itself.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + 'static> Stream for T {}

/// A socket, or what stands in for one.
pub(crate) struct Socket<T> {
    inner: T,
    activity: Rc<Activity>,
    closing: Option<Closing>,
}

/// The end of a connection: our side is shut, and what the client still sends is read and thrown away for a while.
struct Closing {
    shut: bool,
    left: usize,
    until: Pin<Box<Sleep>>,
}

impl<T> Socket<T> {
    pub(crate) fn new(stream: T, activity: Rc<Activity>) -> Self {
        Self { inner: stream, activity, closing: None }
    }
}

impl<T: Stream> AsyncRead for Socket<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.inner).poll_read(context, buffer);
        if poll.is_ready() {
            self.activity.received();
        }
        poll
    }
}

impl<T: Stream> AsyncWrite for Socket<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.activity.wrote(&poll);
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let stream = &mut this.inner;
        let closing = this.closing.get_or_insert_with(|| Closing {
            shut: false,
            left: LINGER_MAX,
            until: Box::pin(sleep_until(Instant::now() + DRAIN_TIME)),
        });
        if !closing.shut {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
            closing.shut = true;
        }
        let mut scratch = [0; 8 * 1024];
        loop {
            if closing.left == 0 || closing.until.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = ReadBuf::new(&mut scratch);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer))?;
            if buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            closing.left = closing.left.saturating_sub(buffer.filled().len());
        }
    }
}
