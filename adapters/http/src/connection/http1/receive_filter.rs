//! The filter between hyper and the stream of a connection.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;

use crate::base::settings::READ_BUFFER_MAX;
use crate::connection::read_filter::ReadFilter;
use crate::io::activity::Activity;
use crate::io::socket::Stream;

/// Records that bytes of a request have arrived. The filter is above TLS, because TLS messages such as key updates and
/// tickets do not begin a request.
///
/// While an answer takes long, the filter also checks if the client has closed its side. hyper is configured to accept
/// half-closed connections, and therefore does not detect this: it reads from the connection only between two requests.
/// The end of a stream or of a wait for an event then ends the connection. A planned delay continues, because the
/// request is served in any case; the journal is told.
pub(super) struct ReceiveFilter {
    activity: Rc<Activity>,
    /// Bytes of a body or of the next request. They were read either by the check whether the client has closed its side,
    /// or by hyper before a stream began.
    ahead: Vec<u8>,
}

impl ReceiveFilter {
    pub(super) fn new(activity: &Rc<Activity>) -> Self {
        Self { activity: Rc::clone(activity), ahead: Vec::new() }
    }

    /// Reads until `ahead` has this many bytes. Returns `true` if the client has closed its side or the read fails, and
    /// `false` if a byte may still arrive.
    #[cold]
    fn is_at_end<T: Stream>(&mut self, stream: &mut T, context: &mut Context<'_>, ahead_max: usize) -> bool {
        while self.ahead.len() < ahead_max {
            let mut space = [0; 1024];
            let mut buffer = ReadBuf::new(&mut space[..(ahead_max - self.ahead.len()).min(1024)]);
            match Pin::new(&mut *stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => return true,
                Poll::Ready(Ok(())) => self.ahead.extend_from_slice(buffer.filled()),
                Poll::Ready(Err(_)) => return true,
                Poll::Pending => return false,
            }
        }
        false
    }

    /// Returns `true` if the connection must end, because the client has left.
    #[cold]
    fn has_left<T: Stream>(&mut self, stream: &mut T, context: &mut Context<'_>) -> bool {
        if !self.activity.is_only_delayed() {
            // One byte is enough: more are not needed before the end of the wait.
            return self.is_at_end(stream, context, 1);
        }
        if self.is_at_end(stream, context, READ_BUFFER_MAX) {
            self.activity.client_closed();
        }
        false
    }

    /// Takes back bytes that hyper has read and not used.
    pub(super) fn unread(&mut self, bytes: &[u8]) {
        self.ahead.splice(..0, bytes.iter().copied());
    }

    #[cold]
    fn read_ahead(&mut self, buffer: &mut ReadBuf<'_>) {
        let taken = buffer.remaining().min(self.ahead.len());
        buffer.put_slice(&self.ahead[..taken]);
        self.ahead.drain(..taken);
        if self.ahead.is_empty() {
            self.ahead = Vec::new();
        }
    }
}

impl ReadFilter for ReceiveFilter {
    #[inline]
    fn poll_read<T: Stream>(
        &mut self,
        stream: &mut T,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() > 0 && !self.ahead.is_empty() {
            self.read_ahead(buffer);
            self.activity.received();
            return Poll::Ready(Ok(()));
        }
        let poll = Pin::new(stream).poll_read(context, buffer);
        if poll.is_ready() {
            self.activity.received();
        }
        poll
    }

    #[inline]
    fn wrote(&mut self, bytes: usize, poll: &Poll<io::Result<usize>>) {
        // hyper's buffer is flat, so each write of hyper passes the whole content of the buffer.
        self.activity.set_drained(matches!(poll, Poll::Ready(Ok(written)) if *written == bytes));
    }

    #[inline]
    fn has_client_left<T: Stream>(&mut self, stream: &mut T, context: &mut Context<'_>) -> bool {
        self.activity.needs_client() && self.has_left(stream, context)
    }
}
