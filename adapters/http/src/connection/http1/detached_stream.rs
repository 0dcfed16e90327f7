//! A streaming response that is sent without hyper. While it is being sent, the connection needs no memory for hyper's
//! buffers and state.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use crate::io::offered_stream::TakenStream;
use crate::io::socket::Stream;

/// The end of a body in the chunked coding.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The maximum number of bytes of a chunk besides its content.
const CHUNK_FRAME: usize = 16;

/// Writes a streaming response in the chunked coding. The writer takes the next chunk of the response once the
/// connection has accepted the previous chunk.
pub(super) struct DetachedStream<T> {
    pub(super) stream: T,
    source: TakenStream,
    /// The chunk that is being written. Between two chunks it is empty and has no allocation.
    chunk: Vec<u8>,
    written: usize,
    is_over: bool,
}

impl<T: Stream> DetachedStream<T> {
    pub(super) const fn new(stream: T, source: TakenStream) -> Self {
        Self { stream, source, chunk: Vec::new(), written: 0, is_over: false }
    }

    /// `true` if the connection ends with the response.
    pub(super) const fn closes(&self) -> bool {
        self.source.closes
    }

    /// Returns the stream of the connection after the response has been written completely.
    pub(super) fn into_stream(self) -> T {
        self.stream
    }

    /// Writes the response to its end. If it is the last response, also shuts down the stream.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, is_last: bool) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_write(context))?;
            if self.is_over {
                let stream = Pin::new(&mut self.stream);
                let is_last = is_last || self.source.closes;
                return if is_last { stream.poll_shutdown(context) } else { stream.poll_flush(context) };
            }
            let next = self.source.chunks.borrow_mut().poll_next_chunk(context);
            match next {
                Poll::Ready(Some(bytes)) => self.chunk = framed(&bytes?)?,
                Poll::Ready(None) => {
                    self.chunk = LAST_CHUNK.to_vec();
                    self.is_over = true;
                }
                Poll::Pending => {
                    ready!(Pin::new(&mut self.stream).poll_flush(context))?;
                    return Poll::Pending;
                }
            }
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.chunk.len() {
            let rest = &self.chunk[self.written..];
            match ready!(Pin::new(&mut self.stream).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.written += written,
            }
        }
        self.chunk = Vec::new();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

/// Returns a chunk in the chunked coding. Returns no bytes if the content is empty, because an empty chunk would end
/// the body.
fn framed(content: &Bytes) -> io::Result<Vec<u8>> {
    if content.is_empty() {
        return Ok(Vec::new());
    }
    let mut chunk = Vec::with_capacity(content.len() + CHUNK_FRAME);
    write!(chunk, "{:x}\r\n", content.len())?;
    chunk.extend_from_slice(content);
    chunk.extend_from_slice(b"\r\n");
    Ok(chunk)
}
