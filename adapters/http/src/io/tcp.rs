//! A TCP socket that is read and written by direct system calls. The C library's `recv` and `send` are thread
//! cancellation points, which costs two atomic instructions for each call.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// The size up to which a read is a direct system call. Most heads are no longer than this. A caller with a larger
/// buffer is reading a body, and for bodies tokio's own read is cheap enough.
const READ: usize = 8 * 1024;

pub(crate) struct Tcp {
    stream: TcpStream,
    /// `true` if the last write was refused because the kernel's buffer was full.
    is_full: bool,
}

impl Tcp {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, is_full: false }
    }

    /// Sends as many bytes as the kernel takes. If the kernel takes none, no task is woken when the kernel has room
    /// again.
    pub(crate) fn send(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let sending = || Ok(send(&self.stream, bytes, SendFlags::NOSIGNAL)?);
        let sent = match self.stream.try_io(Interest::WRITABLE, sending) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            sent => Poll::Ready(sent),
        };
        self.is_full = sent.is_pending();
        sent
    }
}

impl Drop for Tcp {
    /// Resets a connection that is dropped while the kernel's buffer is full. The client has not read its answers then,
    /// and without the reset the kernel would keep the unread bytes for minutes.
    fn drop(&mut self) {
        if self.is_full {
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for Tcp {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.remaining();
        if room > READ {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let mut bytes = [MaybeUninit::uninit(); READ];
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            let (stream, place) = (&self.stream, &mut bytes[..room]);
            let reading = move || Ok(recv(stream, place, RecvFlags::empty())?.0);
            let read = match stream.try_io(Interest::READABLE, reading) {
                Ok((read, _)) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Poll::Ready(Err(error)),
            };
            if !read.is_empty() && read.len() < room {
                // A read that did not fill the caller's buffer has emptied the kernel's buffer. So the readiness is
                // cleared, which avoids another call that would read nothing.
                let nothing = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
                let _ = self.stream.try_io(Interest::READABLE, nothing);
            }
            buffer.put_slice(read);
            return Poll::Ready(Ok(()));
        }
    }
}

impl AsyncWrite for Tcp {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.is_full = sent.is_pending();
        sent
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Shuts down the writing side. It is a direct call because tokio hides the error of a connection that was reset.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(shutdown(&self.stream, Shutdown::Write)?))
    }
}
