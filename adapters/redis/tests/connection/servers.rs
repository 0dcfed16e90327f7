//! A proxy before a server, which loses bytes on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// A password of the servers.
pub(crate) const PASSWORD: &str = "s3cr3t";

/// The treatment of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ProxyMode {
    Pass,
    /// Bytes of a client are lost; connections stay open.
    LoseCommands,
    /// Bytes of the server are lost; connections stay open.
    LoseReplies,
    /// Connections are closed at once.
    Refuse,
}

/// A running proxy.
pub(crate) struct ServerProxy {
    port: u16,
    state: Arc<ProxyState>,
}

struct ProxyState {
    mode: AtomicU8,
    server: AtomicU16,
    /// `true` if the next connection is closed at its first reply.
    cuts_next: AtomicBool,
}

impl ProxyState {
    fn is(&self, mode: ProxyMode) -> bool {
        self.mode.load(Ordering::SeqCst) == mode as u8
    }
}

impl ServerProxy {
    /// Starts a proxy before the server on this port.
    pub(crate) async fn before(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(ProxyState {
            mode: AtomicU8::new(0),
            server: AtomicU16::new(server),
            cuts_next: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if shared.is(ProxyMode::Refuse) {
                    continue;
                }
                let address = ("127.0.0.1", shared.server.load(Ordering::SeqCst));
                let Ok(server) = TcpStream::connect(address).await else { continue };
                if shared.cuts_next.swap(false, Ordering::SeqCst) {
                    tokio::spawn(cut_at_first_reply(client, server));
                    continue;
                }
                let ((from_client, to_client), (from_server, to_server)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(pass(from_client, to_server, Arc::clone(&shared), ProxyMode::LoseCommands));
                tokio::spawn(pass(from_server, to_client, Arc::clone(&shared), ProxyMode::LoseReplies));
            }
        });
        Self { port, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Closes the next connection when its server replies for the first time.
    pub(crate) fn cut_next(&self) {
        self.state.cuts_next.store(true, Ordering::SeqCst);
    }

    pub(crate) fn set(&self, mode: ProxyMode) {
        self.state.mode.store(mode as u8, Ordering::SeqCst);
    }

    /// Connects new clients to another server. Connections to the former one stay open.
    pub(crate) fn lead_to(&self, server: u16) {
        self.state.server.store(server, Ordering::SeqCst);
    }
}

async fn cut_at_first_reply(mut client: TcpStream, mut server: TcpStream) {
    let mut buffer = vec![0; 16_384];
    if let Ok(count @ 1..) = client.read(&mut buffer).await {
        let _ = server.write_all(&buffer[..count]).await;
        let _ = server.read(&mut buffer).await;
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, state: Arc<ProxyState>, lossy: ProxyMode) {
    let mut buffer = vec![0; 16_384];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if state.is(ProxyMode::Refuse) {
            return;
        }
        if !state.is(lossy) && to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
