//! Closing a listener without resetting connections.
//!
//! Closing a listener resets the connections in its accept queue, although their clients are already connected. So new
//! connections are blocked first. Then the connections in the queue are accepted and served. Only then the listener is
//! closed.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use crate::base::system::block_new;

/// Time in which a TCP handshake that has begun may finish when the server stops.
const HANDSHAKE_TIME: Duration = Duration::from_millis(200);

/// Closes a listener, and serves every connection that the kernel has accepted for it.
pub(crate) async fn close(listener: TcpListener, serve: impl Fn(TcpStream, SocketAddr)) {
    if block_new(&listener) {
        let late = async {
            while let Ok((stream, peer)) = listener.accept().await {
                serve(stream, peer);
            }
        };
        let _ = tokio::time::timeout(HANDSHAKE_TIME, late).await;
    }
    // The runtime does not know of connections that have arrived since it last polled the kernel, so the remaining
    // connections are accepted directly from the kernel.
    let Ok(listener) = listener.into_std() else { return };
    while let Ok((stream, peer)) = listener.accept() {
        if stream.set_nonblocking(true).is_ok()
            && let Ok(stream) = TcpStream::from_std(stream)
        {
            serve(stream, peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io;
    use std::net::TcpStream as Client;

    use super::*;

    /// Time after which an attempt to connect counts as blocked.
    const CONNECT_TIMEOUT: Duration = Duration::from_millis(50);

    #[test]
    fn queued_connections_are_served_and_later_ones_are_blocked() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let early = [Client::connect(address).unwrap(), Client::connect(address).unwrap()];
            if block_new(&listener) {
                let late = Client::connect_timeout(&address, CONNECT_TIMEOUT).unwrap_err();
                assert_eq!(late.kind(), io::ErrorKind::TimedOut);
            }

            let served = Cell::new(0);
            close(listener, |_, _| served.set(served.get() + 1)).await;
            assert_eq!(served.get(), early.len());
            assert_eq!(Client::connect(address).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        });
    }
}
