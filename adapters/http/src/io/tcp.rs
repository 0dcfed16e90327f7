//! A TCP socket that is read and written by the calls that are cheapest on this system.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::base::system;

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
        let sent = match system::send(&self.stream, bytes) {
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
        system::poll_read(&mut self.stream, context, buffer)
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

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(system::shut_down_writing(&self.stream))
    }
}
