//! A stream with a filter on its reads. Writes pass through unchanged. A flush fails once the filter has found that
//! the client is gone.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::io::socket::Stream;

/// A filter through which the user of a stream reads from it.
pub(crate) trait ReadFilter: Unpin + 'static {
    fn poll_read<T: Stream>(
        &mut self,
        stream: &mut T,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>;

    /// Observes a write of this many bytes and its result.
    #[inline]
    fn wrote(&mut self, _bytes: usize, _poll: &Poll<io::Result<usize>>) {}

    /// Returns `true` if the filter has found that the client is gone. A filter that does not check for this returns
    /// `false`.
    #[inline]
    fn has_client_left<T: Stream>(&mut self, _stream: &mut T, _context: &mut Context<'_>) -> bool {
        false
    }
}

/// A stream and the filter that reads from it.
pub(crate) struct FilteredStream<R, T> {
    pub(crate) filter: R,
    pub(crate) stream: T,
}

// Inlined: on the hot path of HTTP/1.1 the calls would be measurable.
impl<R: ReadFilter, T: Stream> AsyncRead for FilteredStream<R, T> {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.filter.poll_read(&mut this.stream, context, buffer)
    }
}

impl<R: ReadFilter, T: Stream> AsyncWrite for FilteredStream<R, T> {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.filter.wrote(bytes.len(), &poll);
        poll
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.filter.has_client_left(&mut this.stream, context) {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
