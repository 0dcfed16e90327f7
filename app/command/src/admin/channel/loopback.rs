//! The channel on systems whose sockets have no owner: a loopback connection. The admin socket is then a private file with
//! the port and a secret, and both ends must know the secret. Neither sends it: each proves that it knows it. So a
//! process that has taken the port of an ended server learns nothing, and gets no request.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use petstore_platform::{create_private, owner_of};
use petstore_ports::Entropy;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{belongs_to_another, check_user, cut_off};
use crate::admin::ServerAddress;
use crate::environment::SystemEntropy;
use crate::failure::Failure;

/// A connection between a command and the server.
pub(crate) type Stream = std::net::TcpStream;
pub(crate) type AsyncStream = tokio::net::TcpStream;

/// The number of bytes of a secret, of a nonce and of a proof.
const BYTES: usize = 32;

/// The longest file that is read. A server writes less.
const FILE_MAX: u64 = 1024;

/// The time limit of each step of a proof. A process that does not know the secret holds a place for so long.
const PROOF_TIME: Duration = Duration::from_secs(2);

type Bytes = [u8; BYTES];

/// The content of the file: the port of the server, and the secret that both ends know.
#[derive(Serialize, Deserialize)]
struct Place {
    port: u16,
    secret: Bytes,
}

/// The end that proves its knowledge.
#[derive(Clone, Copy)]
enum End {
    Client,
    Server,
}

/// The listening end. Dropping it removes its file.
pub(crate) struct Listener {
    socket: TcpListener,
    path: PathBuf,
    secret: Bytes,
}

impl Listener {
    /// Any path is permitted.
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(crate) fn judge(_: &Path) -> Result<(), String> {
        Ok(())
    }

    /// Listens at a free port, and writes the file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match File::open(path).and_then(|file| read(&file)) {
            Ok(Some(place)) => {
                if reach(&place)?.is_some() {
                    let message = format!("another server answers at {}", path.display());
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
                }
                // The file was left by a killed server.
                fs::remove_file(path)?;
            }
            Ok(None) => {
                let message = "the file exists and is not one of a server's admin socket";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let secret = random()?;
        let text = serde_json::to_vec(&Place { port: listener.local_addr()?.port(), secret })?;
        publish(path, &text)?;
        Ok(Self { socket: TcpListener::from_std(listener)?, path: path.to_owned(), secret })
    }

    /// Accepts a client, which is not admitted yet.
    pub(crate) async fn accept(&self) -> io::Result<AsyncStream> {
        self.socket.accept().await.map(|(stream, _)| stream)
    }

    pub(crate) fn gate(&self) -> Gate {
        Gate { secret: self.secret }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes the file under another name, and renames it, so that a client never finds a part of it.
fn publish(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut staged = path.as_os_str().to_owned();
    staged.push(format!(".{}.new", std::process::id()));
    let staged = PathBuf::from(staged);
    let _ = fs::remove_file(&staged);
    let written = create_private(&staged)
        .and_then(|mut file| file.write_all(text))
        .and_then(|()| fs::rename(&staged, path));
    if written.is_err() {
        let _ = fs::remove_file(&staged);
    }
    written
}

/// The check of a client.
pub(crate) struct Gate {
    secret: Bytes,
}

impl Gate {
    /// Returns the stream after both ends have proven that they know the secret.
    pub(crate) async fn admit(self, stream: AsyncStream) -> io::Result<AsyncStream> {
        tokio::time::timeout(PROOF_TIME, self.prove(stream)).await?
    }

    async fn prove(self, mut stream: AsyncStream) -> io::Result<AsyncStream> {
        stream.set_nodelay(true)?;
        let mut of_client = [0; BYTES];
        stream.read_exact(&mut of_client).await?;
        let own = random()?;
        let proof = prover(&self.secret, End::Server, &of_client, &own).finalize().into_bytes();
        stream.write_all(&[&own[..], &proof[..]].concat()).await?;
        let mut answer = [0; BYTES];
        stream.read_exact(&mut answer).await?;
        let expected = prover(&self.secret, End::Client, &of_client, &own);
        expected.verify_slice(&answer).map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?;
        Ok(stream)
    }
}

/// Connects to the server behind a file; none if no server listens there. Nothing is sent to a process that does not know
/// the secret. Fails if a user that is not trusted has written the file.
pub(crate) fn connect(server: &ServerAddress) -> Result<Option<Stream>, Failure> {
    let path = &server.socket;
    let failed = |error: &io::Error| Failure::because(format!("{} cannot be read: {error}", path.display()));
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => {
                    Ok(None)
                }
                io::ErrorKind::PermissionDenied => Err(belongs_to_another(server)),
                _ => Err(failed(&error)),
            };
        }
    };
    let place = read(&file).map_err(|error| failed(&error))?.ok_or_else(|| {
        Failure::because(format!("{} is not the file of a server's admin socket", path.display()))
    })?;
    if let Some(owner) = owner_of(&file).map_err(|error| failed(&error))? {
        check_user(server, owner)?;
    }
    reach(&place).map_err(|error| cut_off(&error))
}

/// Reads the file of a server; none if it is another file.
fn read(file: &File) -> io::Result<Option<Place>> {
    let mut text = Vec::new();
    file.take(FILE_MAX).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).ok())
}

/// Connects to a server, and exchanges the proofs. None if no server of this secret listens there.
fn reach(place: &Place) -> io::Result<Option<Stream>> {
    let address = (Ipv4Addr::LOCALHOST, place.port).into();
    let Ok(mut stream) = Stream::connect_timeout(&address, PROOF_TIME) else { return Ok(None) };
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PROOF_TIME))?;
    stream.set_write_timeout(Some(PROOF_TIME))?;
    let own = random()?;
    let mut reply = [0; 2 * BYTES];
    // A process of another program that listens there says anything or nothing.
    if stream.write_all(&own).and_then(|()| stream.read_exact(&mut reply)).is_err() {
        return Ok(None);
    }
    let (of_server, proof) = reply.split_at(BYTES);
    let expected = prover(&place.secret, End::Server, &own, of_server);
    if expected.verify_slice(proof).is_err() {
        return Ok(None);
    }
    let proof = prover(&place.secret, End::Client, &own, of_server).finalize().into_bytes();
    stream.write_all(&proof)?;
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    Ok(Some(stream))
}

fn prover(secret: &Bytes, end: End, of_client: &[u8], of_server: &[u8]) -> Hmac<Sha256> {
    let mut prover = Hmac::<Sha256>::new_from_slice(secret).expect("any length is permitted");
    prover.update(match end {
        End::Client => b"petstore client",
        End::Server => b"petstore server",
    });
    prover.update(of_client);
    prover.update(of_server);
    prover
}

fn random() -> io::Result<Bytes> {
    SystemEntropy.bits().map_err(|error| io::Error::other(error.report()))
}

/// Two connected streams.
#[cfg(test)]
pub(crate) fn pair() -> (Stream, Stream) {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let client = Stream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

#[cfg(test)]
mod tests {
    use petstore_platform::mode_at;

    use super::*;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("petstore-channel-{}-{name}", std::process::id()))
    }

    fn at(path: &Path) -> ServerAddress {
        ServerAddress { socket: path.to_owned(), data: None }
    }

    /// Serves one client, and returns whether it was admitted.
    async fn admits(listener: &Listener) -> bool {
        let stream = listener.accept().await.unwrap();
        listener.gate().admit(stream).await.is_ok()
    }

    #[tokio::test]
    async fn a_client_that_knows_the_secret_is_admitted_and_no_other() {
        let path = path("admitted");
        let listener = Listener::open(&path).unwrap();
        assert!(mode_at(&path).is_none_or(|mode| mode == 0o600), "only the owner reads the secret");
        let server = at(&path);
        let client = tokio::task::spawn_blocking(move || connect(&server).unwrap().is_some());
        assert!(admits(&listener).await && client.await.unwrap());
        let port = listener.socket.local_addr().unwrap().port();
        let stranger =
            tokio::task::spawn_blocking(move || reach(&Place { port, secret: [7; BYTES] }).unwrap());
        assert!(!admits(&listener).await && stranger.await.unwrap().is_none());
        drop(listener);
        assert!(!path.exists() && connect(&at(&path)).unwrap().is_none());
    }

    #[tokio::test]
    async fn a_client_that_repeats_the_proof_of_the_server_is_not_admitted() {
        let path = path("mirrored");
        let listener = Listener::open(&path).unwrap();
        let port = listener.socket.local_addr().unwrap().port();
        let mirror = tokio::task::spawn_blocking(move || {
            let mut stream = Stream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.write_all(&[1; BYTES]).unwrap();
            let mut reply = [0; 2 * BYTES];
            stream.read_exact(&mut reply).unwrap();
            stream.write_all(&reply[BYTES..]).unwrap();
            stream.read(&mut [0]).unwrap_or(0)
        });
        assert!(!admits(&listener).await);
        assert_eq!(mirror.await.unwrap(), 0, "it is disconnected without an answer");
    }

    #[tokio::test]
    async fn the_file_of_a_killed_server_is_replaced_and_any_other_file_is_kept() {
        let path = path("left");
        fs::write(&path, serde_json::to_vec(&Place { port: 1, secret: [0; BYTES] }).unwrap()).unwrap();
        assert!(connect(&at(&path)).unwrap().is_none());
        drop(Listener::open(&path).unwrap());
        fs::write(&path, "notes").unwrap();
        assert_eq!(Listener::open(&path).err().unwrap().kind(), io::ErrorKind::AlreadyExists);
        assert!(connect(&at(&path)).err().unwrap().message.contains("is not the file of a server"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "notes");
        fs::remove_file(path).unwrap();
    }

    #[tokio::test]
    async fn two_servers_do_not_share_a_file() {
        let path = path("shared");
        let first = Listener::open(&path).unwrap();
        let second_path = path.clone();
        let second = tokio::task::spawn_blocking(move || Listener::open(&second_path).err().unwrap().kind());
        assert!(admits(&first).await);
        assert_eq!(second.await.unwrap(), io::ErrorKind::AddrInUse);
    }
}
