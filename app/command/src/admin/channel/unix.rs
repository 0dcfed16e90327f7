//! The channel on Unix systems: a socket that only its owner and root may use.
//!
//! A socket's path does not prove which process listens: any user may create a socket in a folder that is writable for
//! all. So the client asks the system for the user of the listening process before it sends anything.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

use super::socket_staging::{self, STAGED};
use super::{ROOT, belongs_to_another, check_user, cut_off};
use crate::admin::ServerAddress;
use crate::failure::Failure;

/// A connection between a command and the server.
pub(crate) type Stream = std::os::unix::net::UnixStream;
pub(crate) type AsyncStream = tokio::net::UnixStream;

/// The socket for administration. Dropping it removes its file.
pub(crate) struct Listener {
    socket: UnixListener,
    path: PathBuf,
    owner: u32,
}

impl Listener {
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
        if Stream::connect(path).is_ok() {
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
        let socket = UnixListener::bind(&staged)?;
        fs::set_permissions(&staged, Permissions::from_mode(0o600))?;
        let owner = fs::metadata(&staged)?.uid();
        fs::rename(&staged, path)?;
        Ok(Self { socket, path: path.to_owned(), owner })
    }

    /// Accepts a client, which is not admitted yet.
    pub(crate) async fn accept(&self) -> io::Result<AsyncStream> {
        self.socket.accept().await.map(|(stream, _)| stream)
    }

    pub(crate) fn gate(&self) -> Gate {
        Gate { owner: self.owner }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The check of a client.
pub(crate) struct Gate {
    owner: u32,
}

impl Gate {
    /// Returns the stream if the peer is the socket's owner or root. The mode of the socket's file also permits only these
    /// users, but some file systems ignore the mode.
    #[expect(clippy::unused_async, reason = "as on other systems")]
    pub(crate) async fn admit(self, stream: AsyncStream) -> io::Result<AsyncStream> {
        let peer = stream.peer_cred()?.uid();
        if peer == self.owner || peer == ROOT {
            Ok(stream)
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
}

/// Connects to the server behind a socket; none if no server listens there. Fails if the listening process runs as a
/// user who is not trusted.
pub(crate) fn connect(server: &ServerAddress) -> Result<Option<Stream>, Failure> {
    match Stream::connect(&server.socket) {
        Ok(stream) => {
            let peer = user_of_peer(&stream).map_err(|error| cut_off(&error))?;
            check_user(server, peer).map(|()| Some(stream))
        }
        Err(error) => match error.kind() {
            // The kind `InvalidInput` means that the path is too long for a socket, so no server listens there.
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::InvalidInput => {
                Ok(None)
            }
            io::ErrorKind::PermissionDenied => Err(belongs_to_another(server)),
            _ => Err(Failure::because(format!("{} cannot be opened: {error}", server.socket.display()))),
        },
    }
}

/// The user of the process at the other end. tokio asks the system, because std has no stable function for it.
fn user_of_peer(stream: &Stream) -> io::Result<u32> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _entered = runtime.enter();
    let copy = stream.try_clone()?;
    // The copy and the original share the non-blocking flag, so the flag is cleared again below.
    copy.set_nonblocking(true)?;
    let peer = AsyncStream::from_std(copy)?.peer_cred()?.uid();
    stream.set_nonblocking(false)?;
    Ok(peer)
}

/// Two connected streams.
#[cfg(test)]
pub(crate) fn pair() -> (Stream, Stream) {
    Stream::pair().unwrap()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use petstore_platform::own_user;

    use super::*;

    #[test]
    fn the_user_of_a_peer_is_known_and_the_stream_still_blocks() {
        let (client, mut server) = pair();
        assert_eq!(Some(user_of_peer(&client).unwrap()), own_user());
        // A read waits until the writer has written, so the stream still blocks.
        let writer = std::thread::spawn(move || server.write_all(b"x").unwrap());
        assert_eq!((&client).read(&mut [0]).unwrap(), 1);
        writer.join().unwrap();
    }
}
