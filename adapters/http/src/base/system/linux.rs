//! The calls on Linux. The C library's `recv` and `send` are thread cancellation points, which costs two atomic
//! instructions for each call, so both are direct system calls.

use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendFlags, Shutdown};
use socket2::{Domain, Protocol, SockFilter, SockRef, Socket as RawSocket, Type};
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use super::BACKLOG;

/// The size up to which a read is a direct system call. Most heads are no longer than this. A caller with a larger
/// buffer is reading a body, and for bodies tokio's own read is cheap enough.
const READ: usize = 8 * 1024;

/// Maximum number of unsent bytes that the kernel buffers for each connection (`TCP_NOTSENT_LOWAT`). Without this
/// bound, the kernel would buffer megabytes of answers for a client that does not read.
const UNSENT_MAX: u32 = 64 * 1024;

/// Sends as many bytes as the kernel takes, or fails with `WouldBlock`.
#[inline]
pub(crate) fn send(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    stream.try_io(Interest::WRITABLE, || Ok(rustix::net::send(stream, bytes, SendFlags::NOSIGNAL)?))
}

/// Reads what has arrived.
#[inline]
pub(crate) fn poll_read(
    stream: &mut TcpStream,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let room = buffer.remaining();
    if room > READ {
        return Pin::new(stream).poll_read(context, buffer);
    }
    let mut bytes = [MaybeUninit::uninit(); READ];
    loop {
        ready!(stream.poll_read_ready(context))?;
        let (stream, place) = (&*stream, &mut bytes[..room]);
        let reading = move || Ok(rustix::net::recv(stream, place, RecvFlags::empty())?.0);
        let read = match stream.try_io(Interest::READABLE, reading) {
            Ok((read, _)) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Poll::Ready(Err(error)),
        };
        if !read.is_empty() && read.len() < room {
            // A read that did not fill the caller's buffer has emptied the kernel's buffer. So the readiness is
            // cleared, which avoids another call that would read nothing.
            let nothing = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
            let _ = stream.try_io(Interest::READABLE, nothing);
        }
        buffer.put_slice(read);
        return Poll::Ready(Ok(()));
    }
}

/// Shuts down the writing side. It is a direct call because tokio hides the error of a connection that was reset.
pub(crate) fn shut_down_writing(stream: &TcpStream) -> io::Result<()> {
    Ok(rustix::net::shutdown(stream, Shutdown::Write)?)
}

/// Returns a handle of one inherited socket for each thread. The threads share its accept queue, because a socket that
/// already listens has only one.
pub(crate) fn share(listener: &StdListener, threads: NonZeroUsize) -> io::Result<Vec<StdListener>> {
    listener.set_nonblocking(true)?;
    // Some kinds of sockets that may be inherited do not support this option.
    let _ = SockRef::from(listener).set_tcp_notsent_lowat(UNSENT_MAX);
    (0..threads.get()).map(|_| listener.try_clone()).collect()
}

/// One listening socket for each thread, all on one address.
pub(crate) fn listen(address: SocketAddr, threads: NonZeroUsize) -> io::Result<Vec<StdListener>> {
    if address.port() != 0 {
        // With SO_REUSEPORT alone, a second process of the same user could bind the address and silently take half of
        // the connections. So the address is first bound without SO_REUSEPORT, which fails if another process listens
        // on it. This first socket does not listen, because connections to it would be reset when it is closed.
        let exclusive = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        exclusive.set_reuse_address(true)?;
        exclusive.bind(&address.into())?;
    }
    let first = listen_shared(address)?;
    let address = first.local_addr()?;
    let others = (1..threads.get()).map(|_| listen_shared(address));
    std::iter::once(Ok(first)).chain(others).collect()
}

fn listen_shared(address: SocketAddr) -> io::Result<StdListener> {
    let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    // Accepted connections inherit this option.
    socket.set_tcp_notsent_lowat(UNSENT_MAX)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Blocks new connections to this listener: a socket filter drops TCP packets with the SYN flag. Returns `false` where
/// the system does not support that.
pub(crate) fn block_new(listener: &TcpListener) -> bool {
    const LOAD_BYTE: u16 = 0x30;
    const JUMP_IF_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    const FLAGS: u32 = 13;
    const SYN: u32 = 0x02;
    let no_syn = [
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
        SockFilter::new(JUMP_IF_SET, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ];
    SockRef::from(listener).attach_filter(&no_syn).is_ok()
}
