//! The end of a listener.
//!
//! Whoever is connected has been promised an answer, but closing a listener resets those that have not been accepted yet. So
//! nobody new may knock, those who already have are let in, and then it is closed.

use std::net::SocketAddr;
use std::time::Duration;

use socket2::{SockFilter, SockRef};
use tokio::net::{TcpListener, TcpStream};

/// How long a handshake that has begun may take to its end when the server stops.
const HANDSHAKE_TIME: Duration = Duration::from_millis(200);

/// Closes a listener and loses nobody: all who have knocked get a seat.
pub(crate) async fn close(listener: TcpListener, register: impl Fn(TcpStream, SocketAddr)) {
    if shut_out(&listener) {
        let late = async {
            while let Ok((stream, peer)) = listener.accept().await {
                register(stream, peer);
            }
        };
        let _ = tokio::time::timeout(HANDSHAKE_TIME, late).await;
    }
    // The runtime knows of what has come only as of its last look: the kernel itself is asked for the rest.
    let Ok(listener) = listener.into_std() else { return };
    while let Ok((stream, peer)) = listener.accept() {
        if stream.set_nonblocking(true).is_ok()
            && let Ok(stream) = TcpStream::from_std(stream)
        {
            register(stream, peer);
        }
    }
}

/// From now on the kernel begins no new connection for this listener: it drops packets with SYN, by a filter of four
/// instructions over the header of TCP. Says whether that can be done here.
fn shut_out(listener: &TcpListener) -> bool {
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io;
    use std::net::TcpStream as Client;

    use super::*;

    /// How long a knock is listened for that the kernel is not to hear.
    const KNOCK: Duration = Duration::from_millis(50);

    #[test]
    fn who_has_knocked_is_let_in_and_nobody_after_them() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let early = [Client::connect(address).unwrap(), Client::connect(address).unwrap()];
            assert!(shut_out(&listener));
            let late = Client::connect_timeout(&address, KNOCK).unwrap_err();
            assert_eq!(late.kind(), io::ErrorKind::TimedOut);

            let let_in = Cell::new(0);
            close(listener, |_, _| let_in.set(let_in.get() + 1)).await;
            assert_eq!(let_in.get(), early.len());
            assert_eq!(Client::connect(address).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        });
    }
}
