//! The calls on every system: those of std and tokio. All threads share one accept queue, because only Linux divides
//! connections among sockets of one address.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll};

use socket2::{Domain, Protocol, SockRef, Socket as RawSocket, Type};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use super::BACKLOG;

/// Size of the kernel's buffer of unsent bytes for each connection. Without this bound, the kernel would buffer
/// megabytes of answers for a client that does not read.
const UNSENT_MAX: usize = 64 * 1024;

/// Sends as many bytes as the kernel takes, or fails with `WouldBlock`.
pub(crate) fn send(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    stream.try_write(bytes)
}

/// Reads what has arrived.
pub(crate) fn poll_read(
    stream: &mut TcpStream,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    Pin::new(stream).poll_read(context, buffer)
}

/// Shuts down the writing side. It is a call of the socket itself, because tokio hides the error of a connection that was reset.
pub(crate) fn shut_down_writing(stream: &TcpStream) -> io::Result<()> {
    SockRef::from(stream).shutdown(std::net::Shutdown::Write)
}

/// Returns a handle of one socket for each thread. The threads share its accept queue.
pub(crate) fn share(listener: &StdListener, threads: NonZeroUsize) -> io::Result<Vec<StdListener>> {
    listener.set_nonblocking(true)?;
    (0..threads.get()).map(|_| listener.try_clone()).collect()
}

/// One handle of a listening socket for each thread.
pub(crate) fn listen(address: SocketAddr, threads: NonZeroUsize) -> io::Result<Vec<StdListener>> {
    let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // On Unix this option permits only an address whose connections are ending. On Windows it would permit a second
    // process to take the address.
    if cfg!(unix) {
        socket.set_reuse_address(true)?;
    }
    // Accepted connections inherit this option.
    let _ = socket.set_send_buffer_size(UNSENT_MAX);
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    share(&socket.into(), threads)
}

/// Only Linux can block new connections to a listener.
pub(crate) fn block_new(_: &TcpListener) -> bool {
    false
}
