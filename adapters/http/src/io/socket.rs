//! The socket under hyper and under TLS. It inserts the header lines that bypass hyper, adds bytes to the thread's
//! send batch, records activity, and closes a connection in such a way that the last answer arrives.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::base::settings::{DRAIN_TIME, IDLE_END_TIME, LINGER_MAX};
use crate::io::activity::Activity;
use crate::io::raw_headers::split_at_insertion;
use crate::io::send_batch::{BATCH_BYTES_MAX, Recipient, SendBatch};

/// The largest write that is added to the send batch. A larger one is sent directly, unless header lines must be
/// inserted.
pub(crate) const BATCHED_WRITE_MAX: usize = BATCH_BYTES_MAX / 2;

/// The byte stream of one connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + 'static> Stream for T {}

/// The function that sends bytes of the send batch. It sends as many bytes as the stream takes without blocking.
pub(crate) type SendNow<T> = fn(&mut T, &mut Context<'_>, &[u8]) -> Poll<io::Result<usize>>;

/// Sends through any stream.
pub(crate) fn send<T: Stream>(
    stream: &mut T,
    context: &mut Context<'_>,
    bytes: &[u8],
) -> Poll<io::Result<usize>> {
    let sent = ready!(Pin::new(&mut *stream).poll_write(context, bytes))?;
    // The stream may have a buffer that cannot be flushed now. The stream then wakes the connection later, and the
    // connection flushes the buffer.
    let _ = Pin::new(stream).poll_flush(context)?;
    Poll::Ready(Ok(sent))
}

/// A TCP socket, or another stream that takes its place.
pub(crate) struct Socket<T> {
    shared: Rc<SharedStream<T>>,
    send_batch: Rc<SendBatch>,
    linger: Option<Linger>,
}

/// The stream of a socket, with two writers: the thread's send batch, and the connection, which sends the bytes that
/// the batch could not send.
struct SharedStream<T> {
    stream: RefCell<T>,
    send: SendNow<T>,
    activity: Rc<Activity>,
    /// The connection's task.
    task: RefCell<Option<Waker>>,
    /// `true` if the send batch has bytes for this stream.
    is_batched: Cell<bool>,
    /// `true` if there are unsent bytes, or an error to report.
    has_unsent: Cell<bool>,
    unsent: RefCell<Unsent>,
}

/// The bytes that the send batch could not send, or the error with which it failed.
#[derive(Default)]
struct Unsent {
    bytes: VecDeque<u8>,
    error: Option<io::Error>,
}

impl<T: Stream> SharedStream<T> {
    fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut *self.stream.borrow_mut()).poll_write(context, bytes);
        self.activity.wrote(&poll);
        poll
    }

    /// Sends the unsent bytes, if there are any.
    fn poll_unsent(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.has_unsent.get() { self.poll_unsent_cold(context) } else { Poll::Ready(Ok(())) }
    }

    #[cold]
    fn poll_unsent_cold(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut unsent = self.unsent.borrow_mut();
        if let Some(error) = unsent.error.take() {
            return Poll::Ready(Err(error));
        }
        while !unsent.bytes.is_empty() {
            let sent = ready!(self.poll_write(context, unsent.bytes.as_slices().0))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            unsent.bytes.drain(..sent);
        }
        *unsent = Unsent::default();
        self.has_unsent.set(false);
        Poll::Ready(Ok(()))
    }

    #[cold]
    fn keep_unsent(&self, bytes: &[u8], error: Option<io::Error>) {
        let mut unsent = self.unsent.borrow_mut();
        unsent.bytes.extend(bytes);
        unsent.error = unsent.error.take().or(error);
        self.has_unsent.set(true);
        // The connection's task is woken, because it sends these bytes under the deadlines of the connection.
        if let Some(task) = &*self.task.borrow() {
            task.wake_by_ref();
        }
    }
}

impl<T: Stream> Recipient for SharedStream<T> {
    fn send(&self, mut bytes: &[u8]) {
        self.is_batched.set(false);
        if self.has_unsent.get() {
            return self.keep_unsent(bytes, None);
        }
        let task = self.task.borrow();
        let mut context = Context::from_waker(task.as_ref().unwrap_or(Waker::noop()));
        while !bytes.is_empty() {
            let poll = (self.send)(&mut self.stream.borrow_mut(), &mut context, bytes);
            self.activity.wrote(&poll);
            match poll {
                Poll::Ready(Ok(0)) => return self.keep_unsent(&[], Some(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(sent)) => bytes = &bytes[sent..],
                Poll::Ready(Err(error)) => return self.keep_unsent(&[], Some(error)),
                Poll::Pending => return self.keep_unsent(bytes, None),
            }
        }
    }
}

/// The lingering close of a connection: the writing side is shut, and input is read and discarded for a while.
struct Linger {
    is_shut: bool,
    left: usize,
    until: Pin<Box<Sleep>>,
}

impl<T: Stream> Socket<T> {
    pub(crate) fn new(
        stream: T,
        send: SendNow<T>,
        activity: Rc<Activity>,
        send_batch: Rc<SendBatch>,
    ) -> Self {
        let shared = SharedStream {
            stream: RefCell::new(stream),
            send,
            activity,
            task: RefCell::default(),
            is_batched: Cell::new(false),
            has_unsent: Cell::new(false),
            unsent: RefCell::default(),
        };
        Self { shared: Rc::new(shared), send_batch, linger: None }
    }

    /// Flushes the send batch and the unsent bytes.
    fn poll_flush_all(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.shared.is_batched.get() {
            self.send_batch.flush();
        }
        self.shared.poll_unsent(context)
    }
}

impl<T: Stream> AsyncRead for Socket<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.shared.stream.borrow_mut()).poll_read(context, buffer)
    }
}

impl<T: Stream> AsyncWrite for Socket<T> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let shared = &self.shared;
        let raw_headers = &shared.activity.raw_headers;
        if bytes.len() > BATCHED_WRITE_MAX && !raw_headers.are_waiting() {
            ready!(self.poll_flush_all(context))?;
            let sent = ready!(shared.poll_write(context, bytes))?;
            if sent == bytes.len() {
                raw_headers.hand_over();
            }
            return Poll::Ready(Ok(sent));
        }
        ready!(shared.poll_unsent(context))?;
        let mut task = shared.task.borrow_mut();
        if !task.as_ref().is_some_and(|task| task.will_wake(context.waker())) {
            *task = Some(context.waker().clone());
        }
        drop(task);
        match raw_headers.hand_over() {
            None => self.send_batch.push(shared, &[bytes]),
            Some(text) => {
                let (status_line, rest) = split_at_insertion(bytes);
                self.send_batch.push(shared, &[status_line, &text, rest]);
                self.send_batch.return_buffer(text);
            }
        }
        // The flag is set after the push, because the push may have flushed a full batch and thereby cleared the flag.
        shared.is_batched.set(true);
        Poll::Ready(Ok(bytes.len()))
    }

    /// Writes several slices. rustls sends the last records of a connection with this method, and calls it only once.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut sent = 0;
        for slice in slices.iter().filter(|slice| !slice.is_empty()) {
            match self.as_mut().poll_write(context, slice)? {
                Poll::Ready(length) => {
                    sent += length;
                    if length < slice.len() {
                        break;
                    }
                }
                Poll::Pending if sent == 0 => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        Poll::Ready(Ok(sent))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Flushes the unsent bytes. Bytes in the send batch count as flushed, and an error in sending them is reported by
    /// a later call.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.shared.poll_unsent(context))?;
        if self.shared.is_batched.get() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut *self.shared.stream.borrow_mut()).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Err(error) = ready!(self.poll_flush_all(context)) {
            self.shared.activity.delivered(false);
            return Poll::Ready(Err(error));
        }
        let this = &mut *self;
        let activity = &this.shared.activity;
        let stream = &mut *this.shared.stream.borrow_mut();
        let linger = this.linger.get_or_insert_with(|| {
            let time = if activity.ends_idle() { IDLE_END_TIME } else { DRAIN_TIME };
            Linger { is_shut: false, left: LINGER_MAX, until: Box::pin(sleep_until(Instant::now() + time)) }
        });
        // An error of the shutdown is not returned. All bytes have been sent, and reporting the error would hide the
        // result of hyper. It means that the client has refused the last bytes with a reset.
        if !linger.is_shut {
            let shut = ready!(Pin::new(&mut *stream).poll_shutdown(context));
            activity.delivered(shut.is_ok());
            if shut.is_err() {
                return Poll::Ready(Ok(()));
            }
            linger.is_shut = true;
        }
        let mut scratch = [0; 8 * 1024];
        loop {
            if linger.left == 0 || linger.until.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = ReadBuf::new(&mut scratch);
            let read = ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            linger.left = linger.left.saturating_sub(buffer.filled().len());
        }
    }
}

#[cfg(test)]
mod tests;
