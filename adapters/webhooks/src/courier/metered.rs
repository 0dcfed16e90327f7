//! A stream that gives a bounded number of bytes, and notes the status of the answer in them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

use super::status_scan::StatusScan;

/// The number of bytes that may still be read from a stream, and the status that was among those that were read.
#[derive(Debug, Default)]
pub(super) struct Meter {
    left: AtomicUsize,
    answer: Mutex<AnswerBegun>,
    status_came: Notify,
}

/// The beginning of the answer to the current request.
#[derive(Debug, Default)]
struct AnswerBegun {
    scan: StatusScan,
    status: Option<u16>,
}

impl Meter {
    /// Begins the answer to another request, of which so many bytes may be read.
    pub(super) fn begin(&self, bytes: usize) {
        *self.answer.lock() = AnswerBegun::default();
        self.set(bytes);
    }

    pub(super) fn set(&self, bytes: usize) {
        self.left.store(bytes, Ordering::Relaxed);
    }

    /// Returns whether no more may be read.
    pub(super) fn is_used_up(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Returns the status of the answer, if its line was read.
    pub(super) fn status(&self) -> Option<u16> {
        self.answer.lock().status
    }

    /// Waits for the status of the answer.
    pub(super) async fn await_status(&self) -> u16 {
        loop {
            let came = self.status_came.notified();
            if let Some(status) = self.status() {
                return status;
            }
            came.await;
        }
    }

    fn take(&self, bytes: &[u8]) {
        let left = self.left.load(Ordering::Relaxed);
        self.set(left.saturating_sub(bytes.len()));
        let mut answer = self.answer.lock();
        if let Some(status) = answer.scan.add(bytes) {
            answer.status = Some(status);
            self.status_came.notify_one();
        }
    }
}

/// A stream whose reads fail once its meter is used up. It exceeds the bound by less than one read.
pub(super) struct Metered<S> {
    pub(super) stream: S,
    pub(super) meter: Arc<Meter>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.meter.is_used_up() {
            return Poll::Ready(Err(io::Error::other("more was sent than is read")));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.meter.take(&buffer.filled()[before..]);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
