//! The server of the admin socket.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

use super::handler::AdminHandler;
use super::socket_staging::{self, STAGED};
use super::transfers::BulkTransfers;
use super::{AdminAnswer, AdminRequest, LINE_MAX, LINE_TIME, NOT_UNDERSTOOD};

/// Number of clients that are served concurrently; further clients wait.
const CLIENTS_MAX: usize = 16;

/// The pause after a failed accept. It mostly fails because the process has no free descriptor.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// The socket for administration. Dropping it removes its file.
pub(crate) struct AdminSocket {
    listener: UnixListener,
    path: PathBuf,
    owner: u32,
}

impl AdminSocket {
    /// Fails if the system would refuse this path, or the path of the staging folder.
    pub(crate) fn judge(path: &Path) -> Result<(), String> {
        for place in [path, &socket_staging::of(path).join(STAGED)] {
            SocketAddr::from_pathname(place).map_err(|error| {
                format!(
                    "the admin socket {} cannot be opened: {error}; name a shorter path with --admin-socket",
                    path.display()
                )
            })?;
        }
        Ok(())
    }

    /// Opens the socket, accessible for its owner only.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if StdStream::connect(path).is_ok() {
            let message = format!("another server answers at {}", path.display());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        // A socket without a listener was left by a killed server. Any other file is not replaced.
        if fs::symlink_metadata(path).is_ok_and(|found| !found.file_type().is_socket()) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file exists and is not a socket"));
        }
        // The socket is created in a folder that only its owner may enter, and then moved. So it is never accessible to
        // others, not even before its mode is set.
        let staging = socket_staging::of(path);
        let _ = fs::remove_dir_all(&staging);
        socket_staging::clear(path);
        fs::DirBuilder::new().mode(0o700).create(&staging)?;
        let opened = Self::open_in(&staging, path);
        let _ = fs::remove_dir_all(&staging);
        opened
    }

    fn open_in(staging: &Path, path: &Path) -> io::Result<Self> {
        let staged = staging.join(STAGED);
        let listener = UnixListener::bind(&staged)?;
        fs::set_permissions(&staged, Permissions::from_mode(0o600))?;
        let owner = fs::metadata(&staged)?.uid();
        fs::rename(&staged, path)?;
        Ok(Self { listener, path: path.to_owned(), owner })
    }

    /// Answers clients until the returned future is dropped.
    pub(crate) async fn serve(self, handler: AdminHandler) {
        let handler = Arc::new(handler);
        let places = Arc::new(Semaphore::new(CLIENTS_MAX));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let Ok((stream, _)) = self.listener.accept().await else {
                tokio::time::sleep(ACCEPT_REST).await;
                continue;
            };
            if !self.may_ask(&stream) {
                continue;
            }
            let handler = Arc::clone(&handler);
            tokio::spawn(async move {
                let _ = converse(stream, &handler).await;
                drop(place);
            });
        }
    }

    /// Returns whether the peer is the socket's owner or root. The mode of the socket's file also permits only these
    /// users, but some file systems ignore the mode.
    fn may_ask(&self, stream: &UnixStream) -> bool {
        stream.peer_cred().is_ok_and(|peer| peer.uid() == self.owner || peer.uid() == 0)
    }
}

impl Drop for AdminSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

async fn converse(mut stream: UnixStream, handler: &AdminHandler) -> io::Result<()> {
    // A client that disconnects or times out is ignored.
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

async fn read_request(stream: &mut UnixStream) -> io::Result<serde_json::Result<AdminRequest>> {
    let mut line = Vec::new();
    let mut bytes = BufReader::new(stream.take(LINE_MAX as u64));
    tokio::time::timeout(LINE_TIME, bytes.read_until(b'\n', &mut line)).await??;
    Ok(serde_json::from_slice(&line))
}

async fn on_a_thread(
    stream: UnixStream,
    handler: &AdminHandler,
    work: impl FnOnce(&BulkTransfers, &StdStream) -> io::Result<()> + Send + 'static,
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
                let (mut client, mut stream) = UnixStream::pair().unwrap();
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
