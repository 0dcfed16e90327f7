//! The server of the admin socket.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Semaphore;

use super::channel::{AsyncStream, Listener, Stream};
use super::handler::AdminHandler;
use super::transfers::BulkTransfers;
use super::{AdminAnswer, AdminRequest, LINE_MAX, LINE_TIME, NOT_UNDERSTOOD};

/// Number of clients that are served concurrently; further clients wait.
const CLIENTS_MAX: usize = 16;

/// The pause after a failed accept. It mostly fails because the process has no free descriptor.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// The socket for administration. Dropping it removes its file.
pub(crate) struct AdminSocket(Listener);

impl AdminSocket {
    /// Fails if the system would refuse this path.
    pub(crate) fn judge(path: &Path) -> Result<(), String> {
        Listener::judge(path)
    }

    /// Opens the socket, accessible for its owner only.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Listener::open(path).map(Self)
    }

    /// Answers clients until the returned future is dropped.
    pub(crate) async fn serve(self, handler: AdminHandler) {
        let handler = Arc::new(handler);
        let places = Arc::new(Semaphore::new(CLIENTS_MAX));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let Ok(stream) = self.0.accept().await else {
                tokio::time::sleep(ACCEPT_REST).await;
                continue;
            };
            let (handler, gate) = (Arc::clone(&handler), self.0.gate());
            tokio::spawn(async move {
                // A client that is not admitted, disconnects or times out is ignored.
                if let Ok(Ok(stream)) = tokio::time::timeout(LINE_TIME, gate.admit(stream)).await {
                    let _ = converse(stream, &handler).await;
                }
                drop(place);
            });
        }
    }
}

async fn converse(mut stream: AsyncStream, handler: &AdminHandler) -> io::Result<()> {
    let answer = match read_request(&mut stream).await? {
        Ok(AdminRequest::Import { rename_collisions }) => {
            let import = move |bulk: &BulkTransfers, stream: &_| bulk.import(stream, rename_collisions);
            return on_a_thread(stream, handler, import).await;
        }
        Ok(AdminRequest::Export) => return on_a_thread(stream, handler, BulkTransfers::export).await,
        Ok(AdminRequest::Backup) => return on_a_thread(stream, handler, BulkTransfers::backup).await,
        Ok(request) => handler.answer(request).await,
        // The parser's message repeats the input, which may contain a key.
        Err(_) => AdminAnswer::Refused { why: NOT_UNDERSTOOD.to_owned() },
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    tokio::time::timeout(LINE_TIME, stream.write_all(&line)).await?
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<serde_json::Result<AdminRequest>> {
    let mut line = Vec::new();
    let mut bytes = BufReader::new(stream.take(LINE_MAX as u64));
    tokio::time::timeout(LINE_TIME, bytes.read_until(b'\n', &mut line)).await??;
    Ok(serde_json::from_slice(&line))
}

async fn on_a_thread(
    stream: AsyncStream,
    handler: &AdminHandler,
    work: impl FnOnce(&BulkTransfers, &Stream) -> io::Result<()> + Send + 'static,
) -> io::Result<()> {
    let (stream, bulk) = (stream.into_std()?, Arc::clone(&handler.bulk));
    tokio::task::spawn_blocking(move || work(&bulk, &stream)).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_line_has_a_time_limit() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(async {
            for said in ["", "{\"ask\":"] {
                let (mut client, mut stream) = tokio::io::duplex(64);
                client.write_all(said.as_bytes()).await.unwrap();
                let begun = tokio::time::Instant::now();
                // If the limit under test did not exist, the paused clock would advance to this longer limit, and the
                // test would fail instead of waiting forever.
                let patience = tokio::time::timeout(2 * LINE_TIME, read_request(&mut stream));
                let waited = patience.await.expect("it is not waited for").unwrap_err();
                assert!(waited.kind() == io::ErrorKind::TimedOut && begun.elapsed() >= LINE_TIME, "{said}");
            }
        });
    }
}
