//! The socket under hyper, and under TLS: puts in the lines that went past hyper, sends what it is given with what others
//! send, notes what happens on it, and closes it so that the last answer arrives.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::base::settings::{DRAIN_TIME, LINGER_MAX};
use crate::io::activity::Activity;
use crate::io::raw_headers::around;
use crate::io::send_batch::{BATCH_BYTES_MAX, Recipient, SendBatch};

/// Bytes that are gathered with those of others; more than that are sent as they come, unless lines belong to them.
pub(crate) const BATCHED_WRITE_MAX: usize = BATCH_BYTES_MAX / 2;

/// A stream that carries bytes both ways, as a connection has one to itself.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + 'static> Stream for T {}

/// How bytes are sent from the outbox: as much as goes at once.
pub(crate) type SendNow<T> = fn(&mut T, &mut Context<'_>, &[u8]) -> Poll<io::Result<usize>>;

/// Sends through whatever stream it is.
pub(crate) fn send<T: Stream>(
    stream: &mut T,
    context: &mut Context<'_>,
    bytes: &[u8],
) -> Poll<io::Result<usize>> {
    let sent = ready!(Pin::new(&mut *stream).poll_write(context, bytes))?;
    // If it has a buffer of its own and cannot empty that now, it wakes the connection, which flushes it.
    let _ = Pin::new(stream).poll_flush(context)?;
    Poll::Ready(Ok(sent))
}

/// A socket, or what stands in for one.
pub(crate) struct Socket<T> {
    shared: Rc<SharedStream<T>>,
    send_batch: Rc<SendBatch>,
    linger: Option<Linger>,
}

/// The stream of a socket, which two write to: the outbox of the thread, and the connection what the client did not take
/// from there at once.
struct SharedStream<T> {
    stream: RefCell<T>,
    send: SendNow<T>,
    activity: Rc<Activity>,
    /// The connection's task.
    task: RefCell<Option<Waker>>,
    /// Whether there are bytes in the outbox.
    is_batched: Cell<bool>,
    /// Whether there is a rest.
    has_unsent: Cell<bool>,
    unsent: RefCell<Unsent>,
}

/// What could not be sent from the outbox.
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

    /// Sends the rest, if there is one.
    fn poll_unsent(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.has_unsent.get() { self.poll_kept(context) } else { Poll::Ready(Ok(())) }
    }

    #[cold]
    fn poll_kept(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
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
        // From here on it is the connection's business, with its deadlines.
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

/// The end of a connection: our side is shut, and what the client still sends is read and thrown away for a while.
struct Linger {
    shut: bool,
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

    /// What is in the outbox is sent, and so is what the client did not take of it.
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
                let (before, after) = around(bytes);
                self.send_batch.push(shared, &[before, &text, after]);
                self.send_batch.return_buffer(text);
            }
        }
        // Only now: to make room for these bytes the outbox may have sent what was gathered of this wire before.
        shared.is_batched.set(true);
        Poll::Ready(Ok(bytes.len()))
    }

    /// TLS says its last words in several pieces, and once.
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

    /// What is in the outbox counts as sent: it will be, and what cannot be is then told here.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.shared.poll_unsent(context))?;
        if self.shared.is_batched.get() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut *self.shared.stream.borrow_mut()).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_flush_all(context))?;
        let this = &mut *self;
        let stream = &mut *this.shared.stream.borrow_mut();
        let linger = this.linger.get_or_insert_with(|| Linger {
            shut: false,
            left: LINGER_MAX,
            until: Box::pin(sleep_until(Instant::now() + DRAIN_TIME)),
        });
        // All has been said, and how the client leaves then is no fault: told as one it would hide how hyper has ended.
        if !linger.shut {
            if ready!(Pin::new(&mut *stream).poll_shutdown(context)).is_err() {
                return Poll::Ready(Ok(()));
            }
            linger.shut = true;
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
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    /// A socket whose other end takes so many bytes at a time, and its outbox.
    fn socket(takes: usize) -> (Socket<DuplexStream>, DuplexStream, Rc<SendBatch>, Rc<Activity>) {
        let (near, far) = duplex(takes);
        let (send_batch, activity) = (Rc::new(SendBatch::new()), Rc::new(Activity::new()));
        let socket = Socket::new(near, send, Rc::clone(&activity), Rc::clone(&send_batch));
        (socket, far, send_batch, activity)
    }

    #[tokio::test]
    async fn what_the_client_does_not_take_at_once_holds_the_connection_up_and_then_arrives() {
        let (mut socket, mut far, send_batch, activity) = socket(4);
        socket.write_all(b"first, ").await.unwrap();
        socket.flush().await.unwrap();
        assert!(!activity.stall().0, "it waits for others, not for the client");
        send_batch.flush();
        assert!(activity.stall().0);
        let mut more = Box::pin(async {
            socket.write_all(b"second").await.unwrap();
            socket.flush().await.unwrap();
        });
        let pending = poll_fn(|context| Poll::Ready(more.as_mut().poll(context).is_pending())).await;
        assert!(pending, "no more is taken in while there is a rest");
        let mut read = [0; 7];
        tokio::join!(more, async { far.read_exact(&mut read).await.unwrap() });
        assert_eq!(&read, b"first, ");
        send_batch.flush();
        let mut read = [0; 6];
        let (_, flushed) = tokio::join!(far.read_exact(&mut read), socket.flush());
        flushed.unwrap();
        assert_eq!(&read, b"second");
        assert!(!activity.stall().0);
    }

    #[tokio::test]
    async fn what_was_gathered_keeps_its_order_when_the_outbox_makes_room_for_more_of_it() {
        let (mut socket, mut far, _, _) = socket(8 * BATCHED_WRITE_MAX);
        // The third is too much for the outbox, which then holds it alone.
        let sizes = [
            BATCHED_WRITE_MAX,
            BATCHED_WRITE_MAX,
            100,
            BATCHED_WRITE_MAX + 1,
            BATCHED_WRITE_MAX,
            BATCHED_WRITE_MAX,
            200,
        ];
        let mut expected = Vec::new();
        for (letter, size) in (b'a'..).zip(sizes) {
            let bytes = vec![letter; size];
            socket.write_all(&bytes).await.unwrap();
            expected.extend(bytes);
        }
        let mut read = Vec::new();
        let (ended, ()) = tokio::join!(socket.shutdown(), async {
            far.read_to_end(&mut read).await.unwrap();
            drop(far);
        });
        ended.unwrap();
        assert!(read == expected, "{} bytes of {}", read.len(), expected.len());
    }

    #[tokio::test]
    async fn a_client_that_is_gone_is_told_of_at_the_next_chance() {
        let (mut socket, far, send_batch, _) = socket(64);
        socket.write_all(b"to nobody").await.unwrap();
        drop(far);
        send_batch.flush();
        assert_eq!(socket.flush().await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn lines_come_behind_the_status_line_of_what_is_written_next() {
        const STATUS: &[u8] = b"HTTP/1.1 200 OK\r\n";
        let (mut socket, mut far, send_batch, activity) = socket(64);
        // The second time something is in the way; the third time it is more than is gathered.
        for (before, body) in [(0, 3), (100, 3), (0, BATCHED_WRITE_MAX)] {
            socket.write_all(&vec![b'x'; before]).await.unwrap();
            send_batch.flush();
            activity.raw_headers.wait(b"a: b\r\n".to_vec());
            let head = [STATUS, b"\r\n", &vec![b'y'; body]].concat();
            let expected = [&vec![b'x'; before], STATUS, b"a: b\r\n\r\n", &vec![b'y'; body], STATUS].concat();
            let mut read = vec![0; expected.len()];
            let (_, ()) = tokio::join!(far.read_exact(&mut read), async {
                socket.write_all(&head).await.unwrap();
                assert!(activity.raw_headers.may_wait());
                socket.write_all(STATUS).await.unwrap();
                send_batch.flush();
                socket.flush().await.unwrap();
            });
            assert!(read == expected, "{before} before, {body} behind");
        }
    }

    #[tokio::test]
    async fn all_that_was_written_is_sent_before_the_end_and_before_what_is_sent_directly() {
        let (mut socket, mut far, _, _) = socket(4 * BATCHED_WRITE_MAX);
        socket.write_all(b"small").await.unwrap();
        socket.write_all(&vec![b'x'; BATCHED_WRITE_MAX + 1]).await.unwrap();
        socket.write_all(b"last").await.unwrap();
        let mut read = Vec::new();
        let (ended, ()) = tokio::join!(socket.shutdown(), async {
            far.read_to_end(&mut read).await.unwrap();
            drop(far);
        });
        ended.unwrap();
        assert_eq!(read.len(), 5 + BATCHED_WRITE_MAX + 1 + 4);
        assert!(read.starts_with(b"smallx") && read.ends_with(b"xlast"));
    }

    #[tokio::test]
    async fn at_the_end_no_more_than_a_bound_is_read_over_of_a_client_that_sends_on() {
        let (mut socket, mut far, _, _) = socket(64 * 1024);
        let mut sent = 0;
        let sends = async {
            while sent < 2 * LINGER_MAX {
                sent += far.write(&[b'x'; 16 * 1024]).await.unwrap();
            }
        };
        tokio::select! {
            biased;
            ended = socket.shutdown() => ended.unwrap(),
            () = async { sends.await; std::future::pending().await } => {}
        }
        assert!((LINGER_MAX..LINGER_MAX + 128 * 1024).contains(&sent), "{sent}");
    }
}
