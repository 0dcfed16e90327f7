//! The bound of unacknowledged bytes, an option of sockets that only Linux has.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

/// Bounds the time for which the system resends bytes that are not acknowledged. A connection over which packets are lost
/// ends after it.
#[cfg(all(target_os = "linux", not(petstore_portable)))]
pub(super) fn bound(stream: &TcpStream, time: Duration) -> io::Result<()> {
    socket2::SockRef::from(stream).set_tcp_user_timeout(Some(time))
}

/// Does nothing. On these systems keepalives end a connection over which packets are lost, and only while nothing is sent.
#[cfg(not(all(target_os = "linux", not(petstore_portable))))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
pub(super) fn bound(_: &TcpStream, _: Duration) -> io::Result<()> {
    Ok(())
}
