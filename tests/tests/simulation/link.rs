//! A simulated connection: bytes have a latency and arrive in pieces, and the connection may break at any byte.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use petstore_tests::Random;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// The number of bytes that may be in transit in one direction before a writer has to wait.
const WINDOW: usize = 32 * 1024;

/// The properties of one connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkConditions {
    /// The minimum latency of a byte.
    pub(crate) latency: Duration,
    /// The maximum time that a byte takes beyond the minimum.
    pub(crate) jitter: Duration,
    /// One write in this many is accepted only in part. With 0, every write is accepted as a whole.
    pub(crate) split_once_in: u32,
    /// One write in this many is delayed by seconds. With 0, no write is delayed.
    pub(crate) stall_once_in: u32,
}

/// Both directions of a connection.
struct Wire {
    /// The bytes that the client has sent, and those that the server has sent.
    pipes: [Pipe; 2],
    is_broken: bool,
    /// The number of bytes after which the connection breaks.
    breaks_after: Option<usize>,
    conditions: LinkConditions,
    random: Random,
}

struct Pipe {
    on_the_way: VecDeque<(Instant, Vec<u8>)>,
    bytes: usize,
    /// The arrival time of the last byte that was sent, or of the end. Later bytes arrive after this time.
    last: Instant,
    has_ended: bool,
    /// Set when the receiving end was dropped.
    is_abandoned: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    fn new() -> Self {
        Self {
            on_the_way: VecDeque::new(),
            bytes: 0,
            last: Instant::now(),
            has_ended: false,
            is_abandoned: false,
            reader: None,
            writer: None,
        }
    }

    fn wake(&mut self) {
        self.reader.take().into_iter().chain(self.writer.take()).for_each(Waker::wake);
    }
}

impl Wire {
    /// The arrival time of bytes that are written now.
    fn arrival(&mut self, side: usize) -> Instant {
        let LinkConditions { latency, jitter, stall_once_in, .. } = self.conditions;
        let jitter = u32::try_from(jitter.as_micros()).unwrap_or(u32::MAX);
        let mut delay = latency + Duration::from_micros(u64::from(self.random.below(jitter.max(1))));
        if stall_once_in > 0 && self.random.once_in(stall_once_in) {
            delay += Duration::from_millis(u64::from(self.random.below(25_000)));
        }
        let pipe = &mut self.pipes[side];
        pipe.last = pipe.last.max(Instant::now() + delay);
        pipe.last
    }

    fn break_up(&mut self) {
        self.is_broken = true;
        for pipe in &mut self.pipes {
            pipe.on_the_way.clear();
            pipe.wake();
        }
    }
}

/// A handle that breaks a connection.
#[derive(Clone)]
pub(crate) struct ResetHandle(Rc<RefCell<Wire>>);

impl ResetHandle {
    /// Breaks the connection now.
    pub(crate) fn cut(&self) {
        self.0.borrow_mut().break_up();
    }

    /// Breaks the connection after this many more bytes in either direction.
    pub(crate) fn cut_after(&self, bytes: usize) {
        self.0.borrow_mut().breaks_after = Some(bytes);
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.0.borrow().is_broken
    }
}

/// One end of a connection.
pub(crate) struct End {
    wire: Rc<RefCell<Wire>>,
    /// The index of the pipe that this end writes to.
    side: usize,
    wake_up: Pin<Box<Sleep>>,
    /// A function that is called before each write.
    on_write: Option<Box<dyn Fn()>>,
}

/// A connection: the client's end, the server's, and the handle that resets it.
pub(crate) fn link(
    conditions: LinkConditions,
    random: Random,
    on_answer: Box<dyn Fn()>,
) -> (End, End, ResetHandle) {
    let pipes = [Pipe::new(), Pipe::new()];
    let wire = Wire { pipes, is_broken: false, breaks_after: None, conditions, random };
    let wire = Rc::new(RefCell::new(wire));
    let end = |side, on_write| End {
        wire: Rc::clone(&wire),
        side,
        wake_up: Box::pin(sleep_until(Instant::now())),
        on_write,
    };
    let (client, server) = (end(0, None), end(1, Some(on_answer)));
    (client, server, ResetHandle(wire))
}

fn reset() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

impl AsyncRead for End {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let wire = &mut *this.wire.borrow_mut();
        if wire.is_broken {
            return Poll::Ready(Err(reset()));
        }
        let in_pieces =
            wire.conditions.split_once_in > 0 && wire.random.once_in(wire.conditions.split_once_in);
        let pipe = &mut wire.pipes[1 - this.side];
        let next = match pipe.on_the_way.front() {
            Some((at, _)) => *at,
            None if pipe.has_ended => pipe.last,
            None => {
                pipe.reader = Some(context.waker().clone());
                return Poll::Pending;
            }
        };
        if next > Instant::now() {
            pipe.reader = Some(context.waker().clone());
            this.wake_up.as_mut().reset(next);
            if this.wake_up.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
        let Some((_, bytes)) = pipe.on_the_way.front_mut() else { return Poll::Ready(Ok(())) };
        let room = bytes.len().min(buffer.remaining());
        let taken = if in_pieces { room.div_ceil(3) } else { room };
        buffer.put_slice(&bytes[..taken]);
        bytes.drain(..taken);
        if bytes.is_empty() {
            pipe.on_the_way.pop_front();
        }
        pipe.bytes -= taken;
        pipe.writer.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for End {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let Some(told) = &self.on_write {
            told();
        }
        let wire = &mut *self.wire.borrow_mut();
        let pipe = &mut wire.pipes[self.side];
        if wire.is_broken || pipe.is_abandoned || pipe.has_ended {
            return Poll::Ready(Err(reset()));
        }
        if pipe.bytes >= WINDOW {
            pipe.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        let mut taken = bytes.len().min(WINDOW - pipe.bytes);
        let splits = wire.conditions.split_once_in;
        if splits > 0 && taken > 1 && wire.random.once_in(splits) {
            taken = 1 + usize::try_from(wire.random.below(u32::try_from(taken - 1).expect("a window")))
                .expect("fits");
        }
        if let Some(left) = wire.breaks_after {
            if left < taken {
                wire.break_up();
                return Poll::Ready(Err(reset()));
            }
            wire.breaks_after = Some(left - taken);
        }
        let at = wire.arrival(self.side);
        let pipe = &mut wire.pipes[self.side];
        pipe.bytes += taken;
        pipe.on_the_way.push_back((at, bytes[..taken].to_vec()));
        pipe.reader.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = &mut *self.wire.borrow_mut();
        if !wire.pipes[self.side].has_ended {
            wire.arrival(self.side);
            let pipe = &mut wire.pipes[self.side];
            pipe.has_ended = true;
            pipe.reader.take().into_iter().for_each(Waker::wake);
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for End {
    /// Closes this end. The bytes that it has written still arrive at the other end, whose further writes fail.
    fn drop(&mut self) {
        let wire = &mut *self.wire.borrow_mut();
        if !wire.pipes[self.side].has_ended {
            wire.arrival(self.side);
        }
        wire.pipes[self.side].has_ended = true;
        wire.pipes[self.side].reader.take().into_iter().for_each(Waker::wake);
        wire.pipes[1 - self.side].is_abandoned = true;
        wire.pipes[1 - self.side].writer.take().into_iter().for_each(Waker::wake);
    }
}
