//! A socket of the kernel, which is asked itself: the C library's `recv` and `send` are points at which a thread may be
//! cancelled, and in a program with threads each of them costs two locked instructions for that, 1.7% of a GET in all.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Bytes that are read at once: a head, mostly. Whoever has room for more is reading a body, where a call costs little.
const READ: usize = 8 * 1024;

/// A TCP connection.
pub(crate) struct Tcp(TcpStream);

impl Tcp {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self(stream)
    }

    /// Sends what the kernel takes at once. If it takes nothing nobody is woken when it would.
    pub(crate) fn send(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.0.try_io(Interest::WRITABLE, || Ok(send(&self.0, bytes, SendFlags::NOSIGNAL)?)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            sent => Poll::Ready(sent),
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
            return Pin::new(&mut self.0).poll_read(context, buffer);
        }
        let mut bytes = [MaybeUninit::uninit(); READ];
        loop {
            ready!(self.0.poll_read_ready(context))?;
            let (stream, place) = (&self.0, &mut bytes[..room]);
            let reading = move || Ok(recv(stream, place, RecvFlags::empty())?.0);
            let read = match stream.try_io(Interest::READABLE, reading) {
                Ok((read, _)) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Poll::Ready(Err(error)),
            };
            if !read.is_empty() && read.len() < room {
                // That was all. The kernel will say when there is more: saying so now spares the call that finds nothing.
                let nothing = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
                let _ = self.0.try_io(Interest::READABLE, nothing);
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
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
